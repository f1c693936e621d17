// Asks the processor what chip it is, and answers from the list of chips.
#include "chip.h"

#include <atomic>
#include <climits>

#if defined(__x86_64__)
#include <cpuid.h>

#include "../base/x86_features.h"
#endif

namespace hewn {

#if defined(__x86_64__)

namespace {

// Returns the family of an AMD processor: the base family 15 plus the extended family. All of AMD's
// present chips have the base family 15. For any other the result is 0.
int amd_family() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    const bool known = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (eax >> 8 & 15) == 15;
    return known ? int(15 + (eax >> 20 & 255)) : 0;
}

// Returns the size of an AMD processor's cache of that level; 0 if it is not known.
int64_t amd_cache_bytes(unsigned level) {
    constexpr unsigned kCacheProperties = 0x8000001d;
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    for (unsigned i = 0; i < 8 && __get_cpuid_count(kCacheProperties, i, &eax, &ebx, &ecx, &edx);
         i++) {
        const unsigned type = eax & 31;
        if (type == 0) break;
        // EBX and ECX have the line size, partitions, ways and sets, each less one.
        if ((eax >> 5 & 7) == level)
            return int64_t((ebx & 0xfff) + 1) * ((ebx >> 12 & 0x3ff) + 1) * ((ebx >> 22) + 1) *
                   (int64_t(ecx) + 1);
    }
    return 0;
}

}  // namespace

// The results are kept, because CPUID takes microseconds in a virtual machine. Threads that ask at
// the same time find the same values, so they need no lock.
__attribute__((cold)) Chip this_chip() {
    static std::atomic<int> family{-1};
    static std::atomic<int64_t> l2{0}, l3{0};
    if (family.load(std::memory_order_acquire) < 0) {
        const bool amd = x86_is_amd();
        l2.store(amd ? amd_cache_bytes(2) : 0, std::memory_order_relaxed);
        l3.store(amd ? amd_cache_bytes(3) : 0, std::memory_order_relaxed);
        family.store(amd ? amd_family() : 0, std::memory_order_release);
    }
    return {family.load(std::memory_order_relaxed), l2.load(std::memory_order_relaxed),
            l3.load(std::memory_order_relaxed)};
}

#else

Chip this_chip() { return {}; }

#endif

namespace {

// The words of the list for numbers.
constexpr int64_t kNever = INT64_MAX, kBeyondL3 = -1;
constexpr int kNoInputs = INT_MAX, kNewest = INT_MAX;

constexpr ChipTraits kChips[] = {
#define HEWN_CHIP(name, halves, into, ...) {halves, PrefetchInto::into, __VA_ARGS__},
#include "chips.inc"
};

}  // namespace

const ChipTraits &traits_of(const Chip &chip) {
    const ChipTraits *row = kChips;  // the last row fits every chip
    while (chip.amd_family < row->first_family || chip.amd_family > row->last_family) row++;
    return *row;
}

int64_t prefetch_distance_bytes(const Chip &chip, double moved_bytes, int32_t threads,
                                PrefetchShare share) {
    const ChipTraits &traits = traits_of(chip);
    const int32_t shares[] = {0, traits.add_prefetch_l3_64ths, traits.kernel_prefetch_l3_64ths};
    const double least = 1.5 * double(chip.l2_bytes) * threads,
                 most = shares[int(share)] / 64.0 * double(chip.l3_bytes);
    return least < moved_bytes && moved_bytes <= most ? traits.kernel_prefetch_bytes : 0;
}

bool prefetches_next_tile(const Chip &chip, double moved_bytes) {
    return moved_bytes >= double(traits_of(chip).tile_prefetch_from);
}

bool prefetches_rows_beside(const Chip &chip, double moved_bytes) {
    const int64_t from = traits_of(chip).beside_prefetch_from;
    if (from == kBeyondL3) return chip.l3_bytes > 0 && moved_bytes >= double(chip.l3_bytes);
    return moved_bytes >= double(from);
}

int64_t tall_tile_columns_apart(const Chip &chip, double moved_bytes) {
    return moved_bytes < double(chip.l3_bytes) / 2 ? traits_of(chip).tall_tile_columns_apart : 0;
}

}  // namespace hewn
