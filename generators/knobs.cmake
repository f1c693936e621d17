# THE list of knobs: schedule parameters that tuning/<target>.json sets and tools/tune searches.
#
# hewn_knob(<name> <value>...): a GeneratorParam of hewn::Elementwise (generators/elementwise.h) and all values that it may have.
# Which of them fit together is the generators' own business: they refuse the others with a reason, and the tuner passes on.

# Lanes of a vector; 0: what a register of the target holds of the widest type computed with.
hewn_knob(width 0 4 8 16 32 64)
# Vectors a step of the loop.
hewn_knob(vector 1 2 4 8 16)
# How a row that is no multiple of a step is computed.
hewn_knob(tail masked shifted stepped packed)
