// What the chip decides about how kernels are called. Each decision was measured on a kind of chip; the figures are in
// docs/performance.md#what-the-plans-decisions-gain. A new kind of chip may need others, in this file alone.
#ifndef HEWN_RUNTIME_DISPATCH_CHIP_H
#define HEWN_RUNTIME_DISPATCH_CHIP_H

#include <cstdint>

namespace hewn {

// AMD's families. Zen 3 and Zen 4 are one. Those before (Zen 1 and 2) are treated as one, measured on a Zen 1.
constexpr int kFamilyZen3And4 = 0x19, kFamilyZen5 = 0x1a;

struct Chip {
    int amd_family;  // 0: not AMD's
    // Cache sizes in bytes, of AMD's chips; 0: not known. Their last-level cache, one for each complex of cores, outruns
    // streaming to memory, so what fits it should stay there. To one core a mesh of slices, as in Intel's servers, is little
    // faster than memory.
    int64_t l2_bytes, l3_bytes;
};

// This machine's chip.
Chip this_chip();

// Whether it runs AVX-512's vectors, if any, in halves, as a Zen 4 does. A Zen 5 for laptops may as well; none was measured.
inline bool runs_avx512_in_halves(const Chip &chip) { return chip.amd_family == kFamilyZen3And4; }

// ---- Streaming ----

// The caches that a prefetch brings memory into.
enum class PrefetchInto : uint8_t {
    All,      // L1 and the caches below
    L2,       // L2 and the caches below
    L1Alone,  // leaves L2 to other data (prefetchnta)
};

// The caches to prefetch a streamed output's inputs into. A Zen 4's loads of 64 bytes wait for lines on their way to L1.
inline PrefetchInto streamed_inputs_into(const Chip &chip) {
    return chip.amd_family == 0 ? PrefetchInto::All : chip.amd_family < kFamilyZen5 ? PrefetchInto::L2 : PrefetchInto::L1Alone;
}

// Whether to prefetch a streamed output's inputs, `inputs` of which come from memory. A Zen 4 follows one by itself, a Zen 1 two.
// Transposed inputs do not count: their transposition prefetches them.
inline bool prefetches_streamed_inputs(const Chip &chip, int inputs) {
    if (chip.amd_family == 0 || chip.amd_family >= kFamilyZen5) return true;
    return chip.amd_family >= kFamilyZen3And4 && inputs > 1;
}

// ---- Prefetching in kernels ----

// How many bytes ahead a kernel that can prefetch should do so; 0: not at all. `threads` share `moved_bytes` of operands. It pays
// if they lie in a near last-level cache, whose latency the processor's own prefetching does not hide, and fill at most
// `most_l3_64ths` / 64 of it. A Zen 5 loses by it from memory; a Zen 4, which splits loads of 64 bytes in two, everywhere.
inline int64_t prefetch_distance_bytes(const Chip &chip, double moved_bytes, int32_t threads, int32_t most_l3_64ths) {
    if (chip.amd_family < kFamilyZen5) return 0;
    const double least = 1.5 * double(chip.l2_bytes) * threads, most = double(most_l3_64ths) / 64 * double(chip.l3_bytes);
    return least < moved_bytes && moved_bytes <= most ? 1024 : 0;
}

// ---- Transposing ----

// Whether the next tile is prefetched while one is transposed: beyond a core's own cache, on AMD's chips. A Xeon lost by a
// similar prefetch (docs/performance.md#transposing).
inline bool prefetches_next_tile(const Chip &chip, double moved_bytes) {
    return chip.amd_family > 0 && moved_bytes >= double(2 << 20);
}

// Whether the next rows of operands in place are prefetched beside the next tile: on a Zen 5 only beyond the last-level cache,
// before Zen 3 never.
inline bool prefetches_rows_beside(const Chip &chip, double moved_bytes) {
    if (chip.amd_family < kFamilyZen3And4) return false;
    const double last_cache = double(chip.l3_bytes);  // 0: not known
    return chip.amd_family < kFamilyZen5 || (last_cache > 0 && moved_bytes >= last_cache);
}

// Tall tiles pay if columns lie a multiple of this many bytes apart (0: they do not pay), within half of the L3, as others use a
// part of it. On a Zen 5 it is a cache line, so that columns begin alike in their lines. On a Zen 4 it is 2 KiB, so that they
// share one or two of an L1 cache's 64 sets.
inline int64_t tall_tile_columns_apart(const Chip &chip, double moved_bytes) {
    if (chip.amd_family < kFamilyZen3And4 || moved_bytes >= double(chip.l3_bytes) / 2) return 0;
    return chip.amd_family >= kFamilyZen5 ? 64 : 2 << 10;
}

}  // namespace hewn

#endif  // HEWN_RUNTIME_DISPATCH_CHIP_H
