// Tests hewn.hpp in a file without exceptions and without RTTI. The program's other file,
// throwing.cpp, has both. The argument says how the failing call at the end must end: "replaced" in
// the program's own failure_handler, "abort" by the default one, which writes the message and
// aborts.
#include <hewn/hewn.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#if defined(__cpp_exceptions) || defined(__GXX_RTTI)
#error "to be compiled with -fno-exceptions -fno-rtti"
#endif

bool throws_and_catches();  // throwing.cpp

namespace {

[[noreturn]] void end(bool passed, const char *what) {
    std::printf("%s: %s\n", passed ? "passed" : "FAILED", what);
    std::fflush(stdout);
    std::_Exit(passed ? 0 : 1);
}

[[noreturn]] void on_failure(const hewn::Error &error) {
    end(error.status() == HEWN_STATUS_INVALID_BINDING && std::strstr(error.what(), "BTensor"),
        error.what());
}

}  // namespace

int main(int, char **argv) {
    const hewn::TensorDesc f32 = {hewn::DataType::FLOAT32, {4}};
    const hewn::Operator add = hewn::compile(hewn::AddDesc{f32, f32, f32});
    std::vector<float> a = {1, 2, 3, 4}, three = {1, 2, 3}, sum(4);
    add.execute({a, a}, {sum});
    if (sum != std::vector<float>{2, 4, 6, 8}) end(false, "the sum");
    if (!throws_and_catches()) end(false, "the file with exceptions did not throw");

    if (std::strcmp(argv[1], "replaced") == 0) hewn::failure_handler = on_failure;
    else std::signal(SIGABRT, [](int) { end(true, "aborted"); });
    add.execute({a, three}, {sum});
    end(false, "a refused call returned");
}
