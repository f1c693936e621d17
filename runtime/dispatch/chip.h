// Decisions that the runtime makes by the processor, and not by the target: which variants dispatch
// prefers, what is prefetched, and what is streamed. lists/chips.py lists the chips with what was
// measured on each.
#pragma once

#include <cstdint>

namespace hewn {

// The processor of this machine, as far as decisions depend on it.
struct Chip {
    int amd_family;  // 0 if the processor is not AMD's
    // Cache sizes in bytes; 0 if they are not known. Only AMD's are asked for, because their
    // last-level cache is faster than streaming to memory
    // (docs/lab/architecture.md#streaming-and-prefetching).
    int64_t l2_bytes, l3_bytes;
};

Chip this_chip();

// The caches into which a prefetch brings memory.
enum class PrefetchInto : uint8_t {
    All,      // L1 and all caches below it
    L2,       // L2 and all caches below it
    L1Alone,  // only L1, which leaves L2 to other data (prefetchnta)
};

// A row of lists/chips.py, which explains the members.
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
// Returns the first row that fits the chip.
const ChipTraits &traits_of(const Chip &chip);

// Up to which share of the last-level cache a kernel prefetches: not at all, up to the share for
// ADD, or up to the share for other kernels.
enum class PrefetchShare : uint8_t { None, OfAdd, Usual };

// Returns how many bytes ahead a kernel that can prefetch should do so; 0: not at all. `threads`
// threads share `moved_bytes` of operands.
int64_t prefetch_distance_bytes(const Chip &chip, double moved_bytes, int32_t threads,
                                PrefetchShare share);

// Whether the next tile is prefetched while a tile is transposed, and whether the next rows of
// operands in place are prefetched with it. `moved_bytes` are those of all operands.
bool prefetches_next_tile(const Chip &chip, double moved_bytes);
bool prefetches_rows_beside(const Chip &chip, double moved_bytes);

// Tall tiles pay if columns lie a multiple of this many bytes apart. 0: they never pay.
int64_t tall_tile_columns_apart(const Chip &chip, double moved_bytes);

}  // namespace hewn
