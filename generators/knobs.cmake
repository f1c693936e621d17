# THE list of knobs: schedule parameters that tuning/<target>.json sets and tools/tune searches.
#
# hewn_knob(<name> [GPU] VALUES <value>...): a GeneratorParam of hewn::Elementwise (generators/elementwise.h), GPU: of the GPUs' generators
# (generators/gpu.h), which the tuner does not search yet; and all values that it may have.
# Which of them fit together is the generators' own business: they refuse the others with a reason, and the tuner passes on.

# Lanes of a vector; 0: what a register of the target holds of the widest type computed with.
hewn_knob(width VALUES 0 4 8 16 32 64)
# Vectors a step of the loop.
hewn_knob(vector VALUES 1 2 4 8 16)
# How a row that is no multiple of a step is computed.
hewn_knob(tail VALUES masked shifted stepped packed)
# Threads of a block.
hewn_knob(threads GPU VALUES 32 64 128 256 512 1024)
