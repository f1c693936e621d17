// Linked into each test program for WebAssembly. main() is here, because the linker does not take
// it from an archive such as GoogleTest's. Nothing can be thrown on WebAssembly: these functions
// end a program that tries.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <typeinfo>

extern "C" {
void *__cxa_allocate_exception(size_t) {
    std::fputs("an exception was thrown\n", stderr);
    std::abort();
}
void __cxa_free_exception(void *) {}
void __cxa_throw(void *, std::type_info *, void *(*)(void *)) { std::abort(); }
}

int main(int count, char **arguments) {
    testing::InitGoogleTest(&count, arguments);
    return RUN_ALL_TESTS();
}
