// What the chip decides about how kernels are called. Each decision here was measured as a property of a kind of chip; the
// figures are in docs/performance.md#what-the-plans-decisions-gain. A new kind of chip may want others, in this file alone.
#ifndef HEWN_RUNTIME_CHIP_H
#define HEWN_RUNTIME_CHIP_H

#include <cstdint>

namespace hewn {

// AMD's families. Zen 4 is of Zen 3's; those before (Zen 1 and 2) are as one, measured on a Zen 1.
constexpr int kFamilyZen3And4 = 0x19, kFamilyZen5 = 0x1a;

struct Chip {
    int amd_family;  // 0 of others' chips
    // Bytes of the caches of a chip whose last one outruns streaming to memory, so that what fits it should stay there:
    // AMD's, one for each complex of cores. 0 where there is none known: to one core a mesh of slices, as in Intel's servers, is
    // little faster than memory.
    int64_t l2_bytes, l3_bytes;
};

// This machine's.
Chip this_chip();

// Whether it runs vectors of AVX-512, if at all, in halves, as a Zen 4 does. (Zen 5 for laptops may as well; none was measured.)
inline bool runs_avx512_in_halves(const Chip &chip) { return chip.amd_family == kFamilyZen3And4; }

// ---- Streaming ----

// The caches that a prefetch brings memory into.
enum class PrefetchInto : uint8_t {
    All,      // L1 and those below
    L2,       // and those below
    L1Alone,  // which leaves L2 to others (prefetchnta)
};

// Into which to prefetch what streamed outputs are computed from. A Zen 4's loads of 64 bytes wait for lines on their way to L1.
inline PrefetchInto streamed_inputs_into(const Chip &chip) {
    return chip.amd_family == 0 ? PrefetchInto::All : chip.amd_family < kFamilyZen5 ? PrefetchInto::L2 : PrefetchInto::L1Alone;
}

// Whether to prefetch them at all, where `inputs` of them come from memory: a Zen 4 follows one by itself (a transposed one,
// which is prefetched where it is transposed, does not count), a Zen 1 two as well.
inline bool prefetches_streamed_inputs(const Chip &chip, int inputs) {
    if (chip.amd_family == 0 || chip.amd_family >= kFamilyZen5) return true;
    return chip.amd_family >= kFamilyZen3And4 && inputs > 1;
}

// ---- Prefetching in kernels ----

// How many bytes ahead a kernel that can prefetch should, where `threads` share `moved_bytes` of operands; 0: not at all. It pays
// where they lie in a near last-level cache, whose latency the processor's own prefetching does not hide, up to `most_l3_64ths`
// of it. From memory a Zen 5 loses by it, and anywhere a Zen 4, whose loads of 64 bytes are two.
inline int64_t prefetch_distance_bytes(const Chip &chip, double moved_bytes, int32_t threads, int32_t most_l3_64ths) {
    if (chip.amd_family < kFamilyZen5) return 0;
    const double least = 1.5 * double(chip.l2_bytes) * threads, most = double(most_l3_64ths) / 64 * double(chip.l3_bytes);
    return least < moved_bytes && moved_bytes <= most ? 1024 : 0;
}

// ---- Transposing ----

// Whether the next tile is prefetched while one is transposed: on AMD's chips, as a Xeon lost by the like, beyond a core's own
// cache.
inline bool prefetches_next_tile(const Chip &chip, double moved_bytes) {
    return chip.amd_family > 0 && moved_bytes >= double(2 << 20);
}

// Whether the next rows of operands in place are prefetched beside the next tile: on a Zen 5 beyond the last cache alone.
inline bool prefetches_rows_beside(const Chip &chip, double moved_bytes) {
    if (!prefetches_next_tile(chip, moved_bytes) || chip.amd_family < kFamilyZen3And4) return false;
    const double last_cache = double(chip.l3_bytes);  // 0: not known
    return chip.amd_family < kFamilyZen5 || (last_cache > 0 && moved_bytes >= last_cache);
}

// Tall tiles pay, within half of the L3, of which others have a part, where columns lie multiples of so many bytes apart: on a
// Zen 5 of a cache line, so that they begin alike in their lines; on a Zen 4 of 2 KiB, so that they share two of an L1 cache's 64
// sets, or one. 0: nowhere.
inline int64_t tall_tile_columns_apart(const Chip &chip, double moved_bytes) {
    if (chip.amd_family < kFamilyZen3And4 || moved_bytes >= double(chip.l3_bytes) / 2) return 0;
    return chip.amd_family >= kFamilyZen5 ? 64 : 2 << 10;
}

}  // namespace hewn

#endif  // HEWN_RUNTIME_CHIP_H
