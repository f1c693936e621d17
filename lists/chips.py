"""The list of chips: decisions of the runtime that depend on the processor, and that a knob of a
target therefore cannot make. The reasons and figures are in
docs/lab/architecture.md#streaming-and-prefetching and docs/lab/performance.md. runtime/dispatch/chip.h
reads the list. A processor takes the first row that fits it. A member that a row leaves out means
that the thing is not done. Numbers are bytes unless they say otherwise, and sizes are those of all
operands together.

    amd: (first, last). The row is for AMD's chips of these families; "kNewest" as the last means all
        later families too. A row without this member is for every chip.
    avx512_in_halves: AVX-512's vectors run in halves, so that the knob priority_in_halves counts.
    stream_prefetch: (caches, inputs). While an output is streamed, its inputs are prefetched into
        "All" caches, into "L2" and those below it, or into "L1Alone", if at least this many inputs
        come from memory. Transposed inputs do not count, because their transposition prefetches them.
    kernel_prefetch: (ahead, 64ths, 64ths for ADD). Kernels that can prefetch do so, this far ahead,
        if the operands exceed 1.5 times the L2 caches of the threads and fill at most this many
        64ths of the L3. For ADD of any type but f16 the third number counts instead of the second.
    tile_prefetch_from: from this size on, the next tile is prefetched while a tile is transposed.
    beside_prefetch_from: from this size on, the next rows of operands in place are prefetched too
        while a tile is transposed, unless the output is streamed. "kBeyondL3": from the L3's size
        on, if that is known.
    tall_tile_columns_apart: tall tiles are used if columns lie a multiple of this apart and the
        operands are smaller than half of the L3, because other programs use a part of it.
    kept_below: below this size, an output that its caller reads next is not streamed."""

from lists.declarations import Chip

MIB = 1 << 20

CHIPS = [
    # A Zen 4 splits loads of 64 bytes, so prefetching in kernels makes it slower at every size.
    # Columns that lie 2 KiB apart share one or two of the 64 sets of an L1 cache.
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
    # little beyond a quarter of the L3, so that it includes operands of exactly a quarter with
    # their parameters. The chip prefetches ADD's long streams by itself. Columns that lie whole
    # cache lines apart all begin at the same place in a line.
    Chip(
        "zen5",
        amd=(0x1A, "kNewest"),
        stream_prefetch=("L1Alone", 1),
        kernel_prefetch=(1024, 17, 10),
        tile_prefetch_from=2 * MIB,
        beside_prefetch_from="kBeyondL3",
        tall_tile_columns_apart=64,
    ),
    # Measured on a Zen 1, which prefetches two streamed inputs by itself.
    Chip("zen1_and_2", amd=(0x01, 0x18), tile_prefetch_from=2 * MIB),
    # All other chips. On a Xeon, prefetching tiles made transpositions slower. A chain of ADDs that
    # hewn streamed ran there at 0.79 times the speed of ONNX Runtime, which never streams, with 12
    # MiB of operands, and at 1.29 times that speed with 48 MiB. The chips above need no such limit:
    # they stream only outputs of operands that exceed their last-level cache.
    Chip("any", stream_prefetch=("All", 1), kept_below=32 * MIB),
]
