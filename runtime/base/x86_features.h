// What this x86 CPU has, asked by CPUID and XGETBV.
//
// The compiler's __builtin_cpu_supports would do, but it needs a variable of libgcc or
// compiler-rt, which zig's and musl's toolchains and macOS on x86-64 lack.
#pragma once

#if defined(__x86_64__) || defined(__i386__)

#include <cstdint>
#include <string_view>

namespace hewn {

struct X86Feature {
    std::string_view name;         // as GCC spells it
    uint8_t leaf, register_, bit;  // CPUID's leaf; EAX, EBX, ECX, EDX; the bit in that register
    uint8_t saved;                 // what the operating system must save: bits of XCR0
};

constexpr uint8_t kYmm = 0x06;  // with what is below it
#if defined(__APPLE__)
constexpr uint8_t kZmm = kYmm;  // macOS saves the rest from its first use on, and says so only then
#else
constexpr uint8_t kZmm = 0xe6;
#endif

// Intel's Software Developer's Manual, volume 2, CPUID: leaf 1, and leaf 7 with subleaf 0.
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

// The bit of a feature in x86_features(); 0, which no program may ask for, of an unknown name.
constexpr uint32_t x86_bit(std::string_view name) {
    uint32_t bit = 1;
    for (const X86Feature &feature : kX86Features) {
        if (feature.name == name) return bit;
        bit <<= 1;
    }
    return 0;
}

// The features of this CPU whose registers the operating system saves, a bit for each.
uint32_t x86_features();

template<uint32_t bit>
bool x86_has() {
    static_assert(bit != 0, "a feature that kX86Features does not list");
    return (x86_features() & bit) != 0;
}

// Whether the CPU is AMD's.
bool x86_is_amd();

}  // namespace hewn

#endif
