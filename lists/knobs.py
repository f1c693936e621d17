"""The list of knobs: the parameters that tuning/<target>.json sets and tools/tune searches.
./tune.sh export-space writes tuning spaces from this list.

A knob has
    values: all that it may have, the default first.
    meaning: one or more sentences for those who tune.
    kind: "kernel", a GeneratorParam of hewn::Elementwise (generators/elementwise.h) or of the
        operator's generator; "gpu", one of the GPUs' generators (generators/gpu.h), which the tuner
        does not search yet; "plan", a member of hewn::PlanKnobs (runtime/dispatch/knobs.h). In
        tuning files a plan is one more form of an operator.
    kernels: a regular expression. Only kernels whose <operator>_<signature>__<target>__<form>
        matches have the knob.
    by_hand: the tuner does not change it.

A constraint is a condition, a Python expression of knobs. Kernels that match its regular expression
and have all of its knobs must fulfil it. The generators refuse whatever does not
(tests/tuner/space_test.py compares). Every combination of a plan's knobs is allowed."""

from lists.declarations import Constraint, Knob

KNOBS = [
    Knob(
        "width",
        [0, 4, 8, 16, 32, 64],
        "Lanes of a vector. 0: as many as a register of the target holds of the widest type computed with.",
    ),
    Knob(
        "vector",
        [1, 2, 4, 8, 16],
        "Vectors in a step of the loop. With tail=narrowed, batches of four vectors.",
    ),
    Knob(
        "tail",
        ["masked", "shifted", "stepped", "narrowed"],
        "How to compute a row that is no multiple of a step.",
    ),
    Knob(
        "unrolled",
        [0, 1],
        "Whether a step of several vectors is that many unrolled ones, instead of one wide one that LLVM divides.",
        kernels="__(general|divide|reciprocal|columns|repeating|folded|bounded)$",
    ),
    Knob(
        "order",
        ["functions", "batches"],
        "Whether a step of several batches is computed function by function for all of them, or batch by batch.",
        kernels="__(reciprocal|columns|repeating|folded|bounded)$",
    ),
    Knob(
        "loads",
        [0, 1, 2],
        "How often an input is loaded for its two products: once, or twice, as operands of the multiplications. "
        "0: twice, but only with AVX2.",
        kernels="^quantize_linear_f32_.*__(reciprocal|repeating)$",
    ),
    Knob(
        "threads",
        [256, 32, 64, 128],
        "Threads of a block. An OpenCL device is asked for 256.",
        kind="gpu",
    ),
    Knob(
        "box_bytes",
        [262144, 65536, 131072, 524288, 1048576],
        "The most bytes, of all operands, in one call of a kernel whose operands are used in place and whose "
        "work may be sliced for threads: enough to make a call's 25 ns vanish, little enough to slice.",
        kind="plan",
    ),
    Knob(
        "stream_bytes",
        [67108864, 8388608, 16777216, 33554432, 134217728, 268435456, 1073741824],
        "The output is streamed past the caches from this many bytes of all operands on. On AMD's chips they "
        "must also exceed the last-level cache (runtime/cpu/kernel.cpp). The largest value is as good as never.",
        kind="plan",
    ),
    Knob(
        "stream_piece_bytes",
        [2048, 1024, 4096, 8192],
        "Bytes of the widest operand in a piece of a streamed output, half of them where several inputs come "
        "from memory. Long enough for the copy, short enough to be in L1 still when it is copied. Pieces of "
        "transposed operands are their tiles instead.",
        kind="plan",
    ),
    Knob(
        "parallel_bytes",
        [1048576, 262144, 524288, 2097152, 4194304],
        "Work of fewer bytes of all operands stays on the caller's thread: waking another takes some ten "
        "microseconds.",
        kind="plan",
    ),
    Knob(
        "slices_per_cpu",
        [4, 1, 2, 8],
        "Slices a CPU where the caller sets no limit on threads. With several, a thread of the pool that wakes "
        "late still finds work.",
        kind="plan",
    ),
    Knob(
        "reciprocal_elements",
        [256, 64, 128, 512, 1024],
        "Operators that may replace a division, or leave a clamp to narrowing, do not with fewer elements: "
        "preparing the replacement, and reading the flag that tells whether it was right, takes longer, as do "
        "short rows in batches. By hand, because the tuner times no such sizes.",
        kind="plan",
        by_hand=True,
    ),
    Knob(
        "rank_in_halves",
        [0, 15],
        "The rank of the target's kernel on a chip that runs its vectors in halves (lists/chips.py), if the "
        "kernel is slower there than the next lower target's. 0: the target's own rank. By hand, because the "
        "tuner does not compare targets.",
        kind="plan",
        by_hand=True,
    ),
]

CONSTRAINTS = [
    Constraint("", "unrolled == 0 or (vector > 1 and tail != 'narrowed')", "A step has no several vectors."),
    Constraint("", "order == 'functions' or (vector > 1 and tail == 'narrowed')", "A step has no several batches."),
    Constraint(
        "^add_.*__general$",
        "tail != 'shifted'",
        "It computes elements twice, and the sum may stand in place of an input.",
    ),
    Constraint(
        "^(add|dequantize_linear|quantized_linear_mul)_.*__general$|__divide$",
        "tail != 'narrowed'",
        "The form does not narrow int32 to 8 bits.",
    ),
    Constraint(
        "__arm64_.*__(reciprocal|folded)$", "tail != 'narrowed'", "ARM narrows by instructions of its own."
    ),
    Constraint(
        "^quantize_.*__repeating$",
        "tail in ('shifted', 'narrowed')",
        "The last step of a row of repetitions overlaps the one before.",
    ),
    Constraint(
        "^dequantize_.*__repeating$",
        "tail == 'shifted'",
        "The last step of a row of repetitions overlaps the one before.",
    ),
    Constraint(
        "__repeating$",
        "width in (0, 8, 16)",
        "A vector holds whole repetitions, and no more elements than the shortest row.",
    ),
    Constraint("__blocks$", "width == 0 and tail in ('masked', 'narrowed')", "Its rows are whole steps."),
    Constraint("^dequantize_.*__blocks$", "tail != 'narrowed'", "The form does not narrow int32 to 8 bits."),
    Constraint("__blocks$", "vector <= 2", "The shortest row is 128 elements, and a step is 64 times vector."),
]
