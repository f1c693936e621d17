"""The list of knobs: the parameters that tuning/<target>.json sets and tools/tune searches.
./tune.sh export-space writes tuning spaces from this list.

A knob has
    values: all values that it may have, the default first.
    meaning: one or more sentences, which the tuner shows to people.
    kind: "kernel", a GeneratorParam of hewn::Elementwise (generators/elementwise.h) or of the
        operator's generator; "gpu", a GeneratorParam of the GPUs' generators (generators/gpu.h),
        which the tuner does not search yet; "plan", a member of hewn::PlanKnobs
        (runtime/dispatch/knobs.h). In tuning files a plan is one more form of an operator.
    kernels: a regular expression. Only kernels whose <operator>_<signature>__<target>__<form>
        matches have the knob.
    by_hand: the tuner does not change the knob.

A constraint is a condition on knobs, written as a Python expression. It applies to the kernels that
match its regular expression and have all of its knobs. The generators refuse combinations of knobs
that do not fulfil it (tests/tuner/space_test.py compares). Plans have no constraints."""

from lists.declarations import Constraint, Knob

KNOBS = [
    Knob(
        "width",
        [0, 4, 8, 16, 32, 64],
        "Elements of a vector. 0: as many as a register of the target holds of the widest type that the kernel "
        "computes with.",
    ),
    Knob(
        "vector",
        [1, 2, 4, 8, 16],
        "How many vectors a step of the loop has. With tail=narrowed: how many batches of four vectors.",
    ),
    Knob(
        "tail",
        ["masked", "shifted", "stepped", "narrowed"],
        "How a row is computed whose length is no multiple of a step. masked: the rest is a masked vector. shifted: "
        "the last step overlaps the one before. stepped: the rest is computed in smaller steps. narrowed: as shifted, "
        "for results of 8 bits that are packed in batches.",
    ),
    Knob(
        "unrolled",
        [0, 1],
        "How a step of several vectors is written. 1: as that many vectors, unrolled. 0: as one wide vector, which "
        "LLVM divides.",
        kernels="__(general|divide|reciprocal|columns|repeating|folded|bounded)$",
    ),
    Knob(
        "order",
        ["functions", "batches"],
        "The order in which a step of several batches is computed. functions: each function for all batches before "
        "the next function. batches: one batch after the other.",
        kernels="__(reciprocal|columns|repeating|folded|bounded)$",
    ),
    Knob(
        "loads",
        [0, 1, 2],
        "How often an input is loaded for its two products. 1: once. 2: twice, each time as the operand of a "
        "multiplication. 0: twice with AVX2, and once otherwise.",
        kernels="^quantize_linear_f32_.*__(reciprocal|repeating)$",
    ),
    Knob(
        "threads",
        [256, 32, 64, 128],
        "Threads of a block. hewn refuses OpenCL devices that cannot run 256.",
        kind="gpu",
    ),
    Knob(
        "box_bytes",
        [262144, 65536, 131072, 524288, 1048576],
        "The most bytes of all operands in one call of a kernel, if the operands are used in place and the work "
        "may be shared among threads. It should be large enough to hide the 25 ns that a call takes, and small "
        "enough to share the work evenly.",
        kind="plan",
    ),
    Knob(
        "stream_bytes",
        [67108864, 8388608, 16777216, 33554432, 134217728, 268435456, 1073741824],
        "From this many bytes of all operands on, the output is streamed: stored past the caches. On AMD's chips "
        "the operands must also exceed the last-level cache (runtime/cpu/kernel.cpp). The largest value means "
        "practically never.",
        kind="plan",
    ),
    Knob(
        "stream_piece_bytes",
        [2048, 1024, 4096, 8192],
        "The size of the pieces in which a streamed output is computed, as bytes of the widest operand. If several "
        "inputs come from memory, pieces have half of it. A piece should be long enough for an efficient copy, and "
        "short enough to be in L1 still when it is copied. If an operand is transposed, the pieces are its tiles "
        "instead.",
        kind="plan",
    ),
    Knob(
        "parallel_bytes",
        [1048576, 262144, 524288, 2097152, 4194304],
        "Work of fewer bytes of all operands stays on the caller's thread, because waking another thread takes "
        "some ten microseconds.",
        kind="plan",
    ),
    Knob(
        "slices_per_cpu",
        [4, 1, 2, 8],
        "How many slices there are for each CPU, if the caller sets no limit on threads. With several slices, a "
        "thread of the pool that wakes late still finds work.",
        kind="plan",
    ),
    Knob(
        "reciprocal_elements",
        [256, 64, 128, 512, 1024],
        "With fewer elements, operators do not replace a division and do not leave a clamp to narrowing: preparing "
        "the replacement and reading the flag that tells whether it was right takes longer than it saves, and short "
        "rows take longer in batches. Set by hand, because the tuner does not time such sizes.",
        kind="plan",
        by_hand=True,
    ),
    Knob(
        "priority_in_halves",
        [0, 15],
        "The priority of the target's kernel on a chip that runs its vectors in halves (lists/chips.py), for kernels "
        "that are slower there than the next lower target's. 0: the target's own priority. Set by hand, because the "
        "tuner does not compare targets.",
        kind="plan",
        by_hand=True,
    ),
]

CONSTRAINTS = [
    Constraint("", "unrolled == 0 or (vector > 1 and tail != 'narrowed')", "A step has only one vector."),
    Constraint("", "order == 'functions' or (vector > 1 and tail == 'narrowed')", "A step has only one batch."),
    Constraint(
        "^(add|add1)_.*__(general|clamped|pieces|softsign)$",
        "tail != 'shifted'",
        "It computes elements twice, and the sum may stand in place of an input.",
    ),
    Constraint(
        "^(add|add1|dequantize_linear|quantized_linear_mul)_.*__general$|__(divide|clamped|pieces|softsign)$",
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
    Constraint(
        "__packed[24]$", "width == 0 and tail == 'masked'", "Its rows are whole words, and at least a step."
    ),
    Constraint(
        "^quantize_.*__packed4$", "vector <= 2", "The shortest row is 256 elements, and a step up to 128 times vector."
    ),
    Constraint("^quantize_.*__packed2$", "vector == 1", "The shortest row is 256 elements, as a step may be."),
    Constraint("^dequantize_.*_avx2__packed2$", "vector >= 2", "A step is at least a word, of 16 elements."),
]
