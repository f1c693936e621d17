# THE list of knobs: schedule parameters that tuning/<target>.json sets and tools/tune searches.
#
# hewn_knob(<name> [GPU|PLAN] [BY_HAND] VALUES <value>...), with all values that the knob may have,
# the default first.
#   Neither GPU nor PLAN: a GeneratorParam of hewn::Elementwise (generators/elementwise.h).
#   GPU: a GeneratorParam of the GPUs' generators (generators/gpu.h), which the tuner does not
#   search yet.
#   PLAN: a member of hewn::PlanKnobs (runtime/dispatch/knobs.h, made from this list); tuning files
#   have them as a form `plan`.
#   BY_HAND: the tuner leaves it as it is.
# Generators refuse GeneratorParams that do not fit together, with a reason, and the tuner passes
# on. Those of plans all fit together.

# Lanes of a vector. 0: as many as a register of the target holds of the widest type computed with.
hewn_knob(width VALUES 0 4 8 16 32 64)
# Vectors in a step of the loop. With tail=packed blocks, each of four vectors.
hewn_knob(vector VALUES 1 2 4 8 16)
# How to compute a row that is no multiple of a step.
hewn_knob(tail VALUES masked shifted stepped packed)
# Threads of a block; an OpenCL device is asked for 256.
hewn_knob(threads GPU VALUES 256 32 64 128)
# The most bytes, of all operands, in one call of a kernel whose operands are used in place and
# whose work may be sliced for threads: enough to make a call's 25 ns vanish, little enough to
# slice.
hewn_knob(box_bytes PLAN VALUES 262144 65536 131072 524288 1048576)
# The output is streamed past the caches from this many bytes of all operands on. On AMD's chips
# they must also exceed the last-level cache (runtime/dispatch/chip.h). The largest value is as good
# as never.
hewn_knob(stream_bytes PLAN VALUES 67108864 8388608 16777216 33554432 134217728 268435456
    1073741824)
# Bytes of the widest operand in a block of a streamed output; half of them where several inputs
# come from memory. Long enough for the copy, short enough to be in L1 still when it is copied.
# Blocks of transposed operands are their tiles instead.
hewn_knob(stream_block_bytes PLAN VALUES 2048 1024 4096 8192)
# Work of fewer bytes of all operands stays on the caller's thread: waking another takes some ten
# microseconds.
hewn_knob(parallel_bytes PLAN VALUES 1048576 262144 524288 2097152 4194304)
# Slices a CPU where the caller sets no limit on threads. With several, a thread of the pool that
# wakes late still finds work.
hewn_knob(slices_per_cpu PLAN VALUES 4 1 2 8)
# Operators that may replace a division divide fewer elements: preparing the replacement, and
# reading the flag that tells whether it was right, takes longer. By hand, because the tuner times
# no such sizes.
hewn_knob(reciprocal_elements PLAN BY_HAND VALUES 256 128 512 1024)
# The rank of the target's kernel on a chip that runs its vectors in halves
# (generators/chips.cmake), if the kernel is slower there than the next lower target's. 0: the
# target's own rank. By hand, because the tuner does not compare targets.
hewn_knob(rank_in_halves PLAN BY_HAND VALUES 0 15)
