// The features of this x86 CPU, found by the instructions CPUID and XGETBV.
//
// The compiler's __builtin_cpu_supports would also do. But it needs a variable of libgcc or
// compiler-rt, which zig's and musl's toolchains and macOS on x86-64 lack.
#pragma once

#if defined(__x86_64__) || defined(__i386__)

#include <cstdint>
#include <string_view>

namespace hewn {

// A feature, and where CPUID and XGETBV report it.
struct X86Feature {
    std::string_view name;  // in GCC's spelling
    // `leaf` is CPUID's leaf. `register_` is 0 to 3 for EAX, EBX, ECX and EDX, and `bit` is a bit
    // of that register.
    uint8_t leaf, register_, bit;
    // Bits of XCR0: the registers that the operating system must save.
    uint8_t saved;
};

// Vectors of 32 bytes, and the smaller registers that they contain.
constexpr uint8_t kYmm = 0x06;
#if defined(__APPLE__)
// macOS begins to save AVX-512's registers when a thread first uses them, and reports them only
// then.
constexpr uint8_t kZmm = kYmm;
#else
constexpr uint8_t kZmm = 0xe6;
#endif

// From Intel's Software Developer's Manual, volume 2, CPUID: leaf 1, and leaf 7 with subleaf 0.
constexpr X86Feature kX86Features[] = {
    {"sse4.1", 1, 2, 19, 0},
    {"avx", 1, 2, 28, kYmm},
    {"fma", 1, 2, 12, kYmm},
    {"f16c", 1, 2, 29, kYmm},
    {"bmi", 7, 1, 3, 0},
    {"bmi2", 7, 1, 8, 0},
    {"avx2", 7, 1, 5, kYmm},
    {"avx512f", 7, 1, 16, kZmm},
    {"avx512dq", 7, 1, 17, kZmm},
    {"avx512cd", 7, 1, 28, kZmm},
    {"avx512bw", 7, 1, 30, kZmm},
    {"avx512vl", 7, 1, 31, kZmm},
    {"avx512vnni", 7, 2, 11, kZmm},
    {"avx512fp16", 7, 3, 23, kZmm},
};

// Returns the feature's bit in x86_features(); 0 if the name is unknown, which x86_has refuses.
constexpr uint32_t x86_bit(std::string_view name) {
    uint32_t bit = 1;
    for (const X86Feature &feature : kX86Features) {
        if (feature.name == name) return bit;
        bit <<= 1;
    }
    return 0;
}

// Returns the features of this CPU whose registers the operating system saves: one bit for each, in
// the order of kX86Features.
uint32_t x86_features();

// Whether this CPU has the feature.
template<uint32_t bit>
bool x86_has() {
    static_assert(bit != 0, "a feature that kX86Features does not list");
    return (x86_features() & bit) != 0;
}

// Whether AMD made this CPU.
bool x86_is_amd();

}  // namespace hewn

#endif
