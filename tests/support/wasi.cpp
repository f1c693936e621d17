// What programs of tests have on WebAssembly: main(), which the linker takes from no archive, and
// that nothing can be thrown. Who throws ends.
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
