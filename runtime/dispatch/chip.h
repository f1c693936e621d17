// What the chip decides about how kernels are called. lists/chips.py lists the chips with
// what was measured on each.
#pragma once

#include <cstdint>

namespace hewn {

struct Chip {
    int amd_family;  // 0: not AMD's
    // Cache sizes in bytes, of AMD's chips alone, whose last-level cache outruns streaming to
    // memory (docs/lab/architecture.md#streaming-and-prefetching); 0: not known.
    int64_t l2_bytes, l3_bytes;
};

Chip this_chip();

// The caches that a prefetch brings memory into.
enum class PrefetchInto : uint8_t {
    All,      // L1 and the caches below
    L2,       // L2 and the caches below
    L1Alone,  // leaves L2 to other data (prefetchnta)
};

// A row of lists/chips.py, which explains the columns.
struct ChipTraits {
    bool avx512_in_halves;
    PrefetchInto stream_prefetch_into;
    int stream_prefetch_inputs;
    int64_t kernel_prefetch_bytes;
    int32_t kernel_prefetch_l3_64ths, add_prefetch_l3_64ths;
    int64_t tile_prefetch_from, beside_prefetch_from;
    int64_t tall_tile_columns_apart, kept_below;
    int first_family, last_family;
};
const ChipTraits &traits_of(const Chip &chip);

// Up to what share of the last-level cache a kernel prefetches.
enum class PrefetchShare : uint8_t { None, OfAdd, Usual };

// How many bytes ahead a kernel that can prefetch should do so; 0: not at all. `threads` share
// `moved_bytes` of operands.
int64_t prefetch_distance_bytes(const Chip &chip, double moved_bytes, int32_t threads,
                                PrefetchShare share);

// Whether the next tile is prefetched while one is transposed, and the next rows of operands in
// place beside it.
bool prefetches_next_tile(const Chip &chip, double moved_bytes);
bool prefetches_rows_beside(const Chip &chip, double moved_bytes);

// Tall tiles pay if columns lie a multiple of this many bytes apart. 0: they do not pay.
int64_t tall_tile_columns_apart(const Chip &chip, double moved_bytes);

}  // namespace hewn
