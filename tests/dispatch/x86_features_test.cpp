// Compares what the runtime itself reads of CPUID with what the compiler reads. If something
// differs, the program names it and exits with 1. It runs on this machine's CPU, and qemu_test.sh
// runs it on those that QEMU emulates.
#include <cstdio>
#include <iterator>

#include "../../runtime/base/x86_features.h"

int main() {
    int features = 0, differing = 0;
    const auto compare = [&](const char *name, bool own, bool compilers) {
        features++;
        if (own == compilers) return;
        std::printf("%s: %d, the compiler says %d\n", name, own, compilers);
        differing++;
    };
    __builtin_cpu_init();
    // GCC 12 reads nothing on Hygon's CPUs.
    if (!__builtin_cpu_supports("sse2")) {
        std::printf("the compiler does not know this CPU\n");
        return 0;
    }
#define COMPARE(name) \
    compare(name, hewn::x86_has<hewn::x86_bit(name)>(), __builtin_cpu_supports(name) != 0)
    COMPARE("sse4.1");
    COMPARE("avx");
    COMPARE("fma");
    COMPARE("f16c");
    COMPARE("bmi");
    COMPARE("bmi2");
    COMPARE("avx2");
    COMPARE("avx512f");
    COMPARE("avx512dq");
    COMPARE("avx512cd");
    COMPARE("avx512bw");
    COMPARE("avx512vl");
    COMPARE("avx512vnni");
#if !defined(__clang__) && __GNUC__ >= 12
    COMPARE("avx512fp16");
#else
    features++;  // the compiler does not know it
#endif
    if (features != int(std::size(hewn::kX86Features))) {
        std::printf("%d of %zu features compared\n", features, std::size(hewn::kX86Features));
        return 1;
    }
    compare("AMD's", hewn::x86_is_amd(), __builtin_cpu_is("amd") != 0);
    if (differing == 0) std::printf("as the compiler says\n");
    return differing != 0;
}
