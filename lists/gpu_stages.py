"""The list of functions that convert elements on a GPU, for kernels that do not take them as they
are. Each is made by the generator stage_<name>, for the lowest chosen target of each kind of GPU.

    operators: the function is built if one of these operators is. For <operator>=<level>, only if
        the build also has that feature level.
    steps: as those of a form."""

from lists.declarations import Stage

MIXED_FLOATS = ["quantize_linear=hewn", "dequantize_linear=hewn", "dynamic_quantize_linear"]
BELOW_8_BITS = ["quantize_linear=6.3", "dequantize_linear=6.3"]
# QUANTIZE_LINEAR's attribute `precision`: quotients, which take the place of the input.
PRECISION = ["quantize_linear=hewn"]

STAGES = [
    Stage("widen_dense", MIXED_FLOATS, steps="1"),
    Stage("narrow_dense", MIXED_FLOATS, steps="1"),
    Stage("widen_strided", MIXED_FLOATS),
    Stage("narrow_strided", MIXED_FLOATS),
    Stage("unpack", BELOW_8_BITS),
    Stage("pack", BELOW_8_BITS),
    Stage("converted_i32", PRECISION),
    Stage("quotient_f16", PRECISION),
    Stage("quotient_bf16", PRECISION),
]
