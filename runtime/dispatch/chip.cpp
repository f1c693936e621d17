#include "chip.h"

#include <atomic>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace hewn {

#if defined(__x86_64__)

namespace {

// The extended family counts if the base family is 15, as it now is on all of AMD's chips.
int amd_family() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    const bool known = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (eax >> 8 & 15) == 15;
    return known ? int(15 + (eax >> 20 & 255)) : 0;
}

int64_t amd_cache_bytes(unsigned level) {
    constexpr unsigned kCacheProperties = 0x8000001d;
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    for (unsigned i = 0; i < 8 && __get_cpuid_count(kCacheProperties, i, &eax, &ebx, &ecx, &edx); i++) {
        const unsigned type = eax & 31;
        if (type == 0) break;
        // Line size, partitions, ways and sets, each less one.
        if ((eax >> 5 & 7) == level)
            return int64_t((ebx & 0xfff) + 1) * ((ebx >> 12 & 0x3ff) + 1) * ((ebx >> 22) + 1) * (int64_t(ecx) + 1);
    }
    return 0;
}

}  // namespace

// Kept, as CPUID takes microseconds in a virtual machine. Threads that ask at the same time find the same values.
__attribute__((cold)) Chip this_chip() {
    static std::atomic<int> family{-1};
    static std::atomic<int64_t> l2{0}, l3{0};
    if (family.load(std::memory_order_acquire) < 0) {
        __builtin_cpu_init();
        const bool amd = __builtin_cpu_is("amd");
        l2.store(amd ? amd_cache_bytes(2) : 0, std::memory_order_relaxed);
        l3.store(amd ? amd_cache_bytes(3) : 0, std::memory_order_relaxed);
        family.store(amd ? amd_family() : 0, std::memory_order_release);
    }
    return {family.load(std::memory_order_relaxed), l2.load(std::memory_order_relaxed), l3.load(std::memory_order_relaxed)};
}

#else

Chip this_chip() { return {}; }

#endif

}  // namespace hewn
