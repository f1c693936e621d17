# THE list of knobs: schedule parameters that tuning/<target>.json sets and tools/tune searches; the
# spaces that ./tune.sh export-space writes are made of it.
#
# hewn_knob(<name> [GPU|PLAN] [BY_HAND] [KERNELS <regular expression>] VALUES <value>...
#           MEANING <text>...), with all values that the knob may have, the default first.
#   MEANING: one text, in pieces. KERNELS: only these have it, as in hewn_constraint.
#   Neither GPU nor PLAN: a GeneratorParam of hewn::Elementwise (generators/elementwise.h).
#   GPU: a GeneratorParam of the GPUs' generators (generators/gpu.h), which the tuner does not
#   search yet.
#   PLAN: a member of hewn::PlanKnobs (runtime/dispatch/knobs.h, made from this list); tuning files
#   have them as a form `plan`.
#   BY_HAND: the tuner leaves it as it is.
# hewn_constraint(<regular expression> <condition> WHY <text>...)
#   In kernels whose <operator>_<signature>__<target>__<form> matches and that have the knobs of
#   the condition, a Python expression, they must fulfil it. Generators refuse others with a reason
#   (tests/build/space_test.py compares). Those of plans all fit together.

hewn_knob(width VALUES 0 4 8 16 32 64
    MEANING "Lanes of a vector. 0: as many as a register of the target holds of the widest type"
    "computed with.")
hewn_knob(vector VALUES 1 2 4 8 16
    MEANING "Vectors in a step of the loop. With tail=packed blocks, each of four vectors.")
hewn_knob(tail VALUES masked shifted stepped packed
    MEANING "How to compute a row that is no multiple of a step.")
hewn_knob(unrolled KERNELS "__(general|divide|reciprocal|columns|repeating|folded|bounded)$"
    VALUES 0 1
    MEANING "Whether a step of several vectors is that many unrolled ones, instead of one wide one"
    "that LLVM divides.")
hewn_knob(order KERNELS "__(reciprocal|columns|repeating|folded|bounded)$" VALUES functions blocks
    MEANING "Whether a step of several packed blocks is computed function by function for all of"
    "them, or block by block.")
hewn_knob(loads KERNELS "^quantize_linear_f32_.*__(reciprocal|repeating)$" VALUES 0 1 2
    MEANING "How often an input is loaded for its two products: once, or twice, as operands of the"
    "multiplications. 0: twice with AVX2 alone.")
hewn_knob(threads GPU VALUES 256 32 64 128
    MEANING "Threads of a block. An OpenCL device is asked for 256.")
hewn_knob(box_bytes PLAN VALUES 262144 65536 131072 524288 1048576
    MEANING "The most bytes, of all operands, in one call of a kernel whose operands are used in"
    "place and whose work may be sliced for threads: enough to make a call's 25 ns vanish, little"
    "enough to slice.")
hewn_knob(stream_bytes PLAN VALUES 67108864 8388608 16777216 33554432 134217728 268435456 1073741824
    MEANING "The output is streamed past the caches from this many bytes of all operands on. On"
    "AMD's chips they must also exceed the last-level cache (runtime/dispatch/chip.h). The largest"
    "value is as good as never.")
hewn_knob(stream_block_bytes PLAN VALUES 2048 1024 4096 8192
    MEANING "Bytes of the widest operand in a block of a streamed output, half of them where"
    "several inputs come from memory. Long enough for the copy, short enough to be in L1 still"
    "when it is copied. Blocks of transposed operands are their tiles instead.")
hewn_knob(parallel_bytes PLAN VALUES 1048576 262144 524288 2097152 4194304
    MEANING "Work of fewer bytes of all operands stays on the caller's thread: waking another takes"
    "some ten microseconds.")
hewn_knob(slices_per_cpu PLAN VALUES 4 1 2 8
    MEANING "Slices a CPU where the caller sets no limit on threads. With several, a thread of the"
    "pool that wakes late still finds work.")
hewn_knob(reciprocal_elements PLAN BY_HAND VALUES 256 64 128 512 1024
    MEANING "Operators that may replace a division, or leave a clamp to narrowing, do not with"
    "fewer elements: preparing the replacement, and reading the flag that tells whether it was"
    "right, takes longer, as do short rows in packed blocks. By hand, because the tuner times no"
    "such sizes.")
hewn_knob(rank_in_halves PLAN BY_HAND VALUES 0 15
    MEANING "The rank of the target's kernel on a chip that runs its vectors in halves"
    "(generators/chips.cmake), if the kernel is slower there than the next lower target's. 0: the"
    "target's own rank. By hand, because the tuner does not compare targets.")

hewn_constraint("" "unrolled == 0 or (vector > 1 and tail != 'packed')"
    WHY "A step has no several vectors.")
hewn_constraint("" "order == 'functions' or (vector > 1 and tail == 'packed')"
    WHY "A step has no several packed blocks.")
hewn_constraint("^add_.*__general$" "tail != 'shifted'"
    WHY "It computes elements twice, and the sum may stand in place of an input.")
hewn_constraint("^(add|dequantize_linear|quantized_linear_mul)_.*__general$|__divide$"
    "tail != 'packed'" WHY "The form does not narrow int32 to 8 bits.")
hewn_constraint("__arm64_.*__(reciprocal|folded)$" "tail != 'packed'"
    WHY "ARM narrows by instructions of its own.")
hewn_constraint("^quantize_.*__repeating$" "tail in ('shifted', 'packed')"
    WHY "The last step of a row of repetitions overlaps the one before.")
hewn_constraint("^dequantize_.*__repeating$" "tail == 'shifted'"
    WHY "The last step of a row of repetitions overlaps the one before.")
hewn_constraint("__repeating$" "width in (0, 8, 16)"
    WHY "A vector holds whole repetitions, and no more elements than the shortest row.")
hewn_constraint("__blocks$" "vector <= 2" WHY "The shortest row is 128 elements, a step 64.")
