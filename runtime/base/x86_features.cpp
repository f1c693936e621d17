// Asks the CPU for its features.
#include "x86_features.h"

#if defined(__x86_64__) || defined(__i386__)

#include <cpuid.h>

#include <atomic>

namespace hewn {

namespace {

constexpr uint32_t kKnown = 1u << 31;  // the CPU was asked

// The registers EAX, EBX, ECX and EDX that CPUID returns for a leaf; all 0 if the CPU does not have
// the leaf.
struct Leaf {
    uint32_t registers[4] = {};

    explicit Leaf(uint32_t leaf) {
        __get_cpuid_count(leaf, 0, &registers[0], &registers[1], &registers[2], &registers[3]);
    }
    bool has(int which, int bit) const { return (registers[which] >> bit & 1) != 0; }
};

// Returns XCR0, which says which registers the operating system saves; 0 if it has not enabled
// XGETBV (OSXSAVE).
uint32_t saved_registers(const Leaf &leaf1) {
    if (!leaf1.has(2, 27)) return 0;
    uint32_t low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

__attribute__((cold)) uint32_t ask() {
    const Leaf leaf1(1), leaf7(7);
    const uint32_t saved = saved_registers(leaf1);
    uint32_t features = kKnown, bit = 1;
    for (const X86Feature &feature : kX86Features) {
        const Leaf &leaf = feature.leaf == 1 ? leaf1 : leaf7;
        if (leaf.has(feature.register_, feature.bit) && (saved & feature.saved) == feature.saved)
            features |= bit;
        bit <<= 1;
    }
    return features;
}

}  // namespace

// The result is kept, because CPUID takes microseconds in a virtual machine. Threads that ask at
// the same time find the same result, so they need no lock.
uint32_t x86_features() {
    static std::atomic<uint32_t> features{0};
    uint32_t known = features.load(std::memory_order_relaxed);
    if (known == 0) features.store(known = ask(), std::memory_order_relaxed);
    return known;
}

bool x86_is_amd() {
    const Leaf vendor(0);
    return vendor.registers[1] == 0x68747541 && vendor.registers[3] == 0x69746e65 &&
           vendor.registers[2] == 0x444d4163;  // "Auth" "enti" "cAMD"
}

}  // namespace hewn

#endif
