# THE list of chips: what the runtime decides by the chip, where no knob of a target can. The
# reasons for each value and the figures are in docs/lab/architecture.md#streaming-and-prefetching
# and docs/lab/performance.md. runtime/dispatch/chip.h reads the list; a chip takes the first row
# that fits.
#
# hewn_chip(<name> [AMD <first family> <last family>] [<column> <value>...])
#   AMD: the chips of AMD's with these families. kNewest: also all later ones. Without AMD the row
#     is for every chip.
# What a row leaves out is not done. Numbers are bytes unless they say otherwise; sizes are those of
# all operands together.
#   AVX512_IN_HALVES: AVX-512's vectors run in halves, so that the knob rank_in_halves counts.
#   STREAM_PREFETCH <All|L2|L1Alone> <inputs>: while an output is streamed, its inputs are
#   prefetched into these caches (all; L2 and those
#     below; L1 alone), if at least so many come from memory. Transposed inputs do not count: their
#     transposition prefetches them.
#   KERNEL_PREFETCH <ahead> <64ths> <64ths for ADD>: kernels that can prefetch do so, so far ahead,
#   if the operands exceed 1.5 times the L2
#     caches of the threads and fill at most so many 64ths of the L3. 64ths for ADD: ADD's of any
#     type but f16.
#   TILE_PREFETCH_FROM <size>: while a tile is transposed, the next one is prefetched, from this
#     size on.
#   BESIDE_PREFETCH_FROM <size|kBeyondL3>: so are the next rows of operands in place, where the next
#     tile is and nothing is streamed. kBeyondL3: from the L3's size on, if that is known.
#   TALL_TILE_COLUMNS_APART <bytes>: tall tiles pay if columns lie a multiple of this apart, within
#     half of the L3, as others use a part of it.
#   KEPT_BELOW <size>: an output that its caller reads next is not streamed below this size.

# A Zen 4 splits loads of 64 bytes, so prefetching in kernels loses everywhere. Columns 2 KiB apart
# share one or two of an L1 cache's 64 sets.
hewn_chip(zen3_and_4 AMD 0x19 0x19
    AVX512_IN_HALVES
    STREAM_PREFETCH L2 2
    TILE_PREFETCH_FROM 2097152
    BESIDE_PREFETCH_FROM 0
    TALL_TILE_COLUMNS_APART 2048)
# One for laptops may run AVX-512 in halves; none was measured. A little more than a quarter of the
# L3, so that operands of just a quarter and their parameters count. It follows ADD's long streams
# by itself. Columns whole cache lines apart begin alike in their lines.
hewn_chip(zen5 AMD 0x1a kNewest
    STREAM_PREFETCH L1Alone 1
    KERNEL_PREFETCH 1024 17 10
    TILE_PREFETCH_FROM 2097152
    BESIDE_PREFETCH_FROM kBeyondL3
    TALL_TILE_COLUMNS_APART 64)
# Measured on a Zen 1, which follows two streamed inputs by itself.
hewn_chip(zen1_and_2 AMD 0x01 0x18
    TILE_PREFETCH_FROM 2097152)
# All others. A Xeon lost by prefetching tiles. Beside ONNX Runtime's sum, which is never streamed,
# its chain of ADDs, streamed, ran at 0.79x with 12 MiB of operands, and at 1.29x with 48. (What
# AMD's chips above stream, their last-level cache does not hold.)
hewn_chip(any
    STREAM_PREFETCH All 1
    KEPT_BELOW 33554432)
