"""The list of chips: what the runtime decides by the processor, where no knob of a target can. The
reason for each value and the figures are in docs/lab/architecture.md#streaming-and-prefetching and
docs/lab/performance.md. runtime/dispatch/chip.h reads the list; a chip takes the first row that
fits. What a row leaves out is not done. Numbers are bytes unless they say otherwise. Sizes are
those of all operands together.

    amd: the row is for AMD's chips of these families, the first and the last. "kNewest": for all
        later ones too. A row without it is for every chip.
    avx512_in_halves: AVX-512's vectors run in halves, so that the knob rank_in_halves counts.
    stream_prefetch: (caches, inputs). While an output is streamed, its inputs are prefetched into
        "All" caches, into "L2" and those below it, or into "L1Alone", if at least this many inputs
        come from memory. Transposed inputs do not count, as their transposition prefetches them.
    kernel_prefetch: (ahead, 64ths, 64ths for ADD). Kernels that can prefetch do so, this far ahead,
        if the operands exceed 1.5 times the L2 caches of the threads and fill at most this many
        64ths of the L3. The third number is for ADD of any type but f16.
    tile_prefetch_from: while a tile is transposed, the next one is prefetched, from this size on.
    beside_prefetch_from: from this size on, the next rows of operands in place are prefetched while
        a tile is transposed, if the output is not streamed. "kBeyondL3": from the L3's size on, if
        that is known.
    tall_tile_columns_apart: tall tiles pay if columns lie a multiple of this apart, within half of
        the L3, as others use a part of it.
    kept_below: an output that its caller reads next is not streamed below this size."""

from lists.declarations import Chip

MIB = 1 << 20

CHIPS = [
    # A Zen 4 splits loads of 64 bytes, so prefetching in kernels loses everywhere. Columns 2 KiB
    # apart share one or two of an L1 cache's 64 sets.
    Chip(
        "zen3_and_4",
        amd=(0x19, 0x19),
        avx512_in_halves=True,
        stream_prefetch=("L2", 2),
        tile_prefetch_from=2 * MIB,
        beside_prefetch_from=0,
        tall_tile_columns_apart=2048,
    ),
    # A Zen 5 for laptops may run AVX-512 in halves; none was measured. kernel_prefetch goes a
    # little beyond a quarter of the L3, so that operands of just a quarter and their parameters
    # count. The chip follows ADD's long streams by itself. Columns whole cache lines apart begin
    # alike in their lines.
    Chip(
        "zen5",
        amd=(0x1A, "kNewest"),
        stream_prefetch=("L1Alone", 1),
        kernel_prefetch=(1024, 17, 10),
        tile_prefetch_from=2 * MIB,
        beside_prefetch_from="kBeyondL3",
        tall_tile_columns_apart=64,
    ),
    # Measured on a Zen 1, which follows two streamed inputs by itself.
    Chip("zen1_and_2", amd=(0x01, 0x18), tile_prefetch_from=2 * MIB),
    # All others. A Xeon lost by prefetching tiles. A chain of ADDs that hewn streamed ran there at
    # 0.79 times the speed of ONNX Runtime, which never streams, with 12 MiB of operands, and at 1.29
    # times with 48. The chips above need no limit: they stream only what exceeds their last-level
    # cache.
    Chip("any", stream_prefetch=("All", 1), kept_below=32 * MIB),
]
