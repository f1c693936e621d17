"""The lists of compiled functions that the runtime calls around kernels.

STAGES convert elements on a GPU for kernels that do not take them as they are. Each is made by the
generator stage_<name>, for the lowest chosen target of each kind of GPU.
    operators: it is built if one of these is. <operator>=<level>: if the build also has that
        feature level.
    steps: as those of a form.

TRANSPOSITIONS transpose elements of these sizes on a CPU, in tiles of `bytes` bytes of columns by
16 of rows. They are for the lowest target, or for `target` and those above it. In ascending rank."""

from lists.declarations import Stage, Transposition

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

TRANSPOSITIONS = [
    Transposition("u8", 16),
    Transposition("u16", 16),
    Transposition("u32", 16),
    Transposition("u64", 16),
    Transposition("u8", 16, "x86_64_avx2"),
    Transposition("u16", 16, "x86_64_avx2"),
    Transposition("u32", 32, "x86_64_avx2"),
    Transposition("u64", 32, "x86_64_avx2"),
]
