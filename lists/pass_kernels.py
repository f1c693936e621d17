"""The list of pass kernels: kernels of passes on a GPU that belong to no operator. They convert
tensors that the operators' kernels do not take as they are. Each is made by the generator
pass_<name>, for the lowest chosen target of each kind of GPU.

    operators: the function is built if one of these operators is built. <operator>=<level>: only if
        the build also has that feature level.
    layouts: as a form's: 1 for a conversion of contiguous elements; empty for any layout."""

from lists.declarations import PassKernel

MIXED_FLOATS = ["quantize_linear=hewn", "dequantize_linear=hewn", "dynamic_quantize_linear"]
BELOW_8_BITS = ["quantize_linear=6.3", "dequantize_linear=6.3"]
# For QUANTIZE_LINEAR's attribute `precision`: rounded quotients, which its kernel then quantizes.
PRECISION = ["quantize_linear=hewn"]

PASS_KERNELS = [
    PassKernel("widen_dense", MIXED_FLOATS, layouts="1"),
    PassKernel("narrow_dense", MIXED_FLOATS, layouts="1"),
    PassKernel("widen_strided", MIXED_FLOATS),
    PassKernel("narrow_strided", MIXED_FLOATS),
    PassKernel("unpack", BELOW_8_BITS),
    PassKernel("pack", BELOW_8_BITS),
    PassKernel("converted_i32", PRECISION),
    PassKernel("quotient_f16", PRECISION),
    PassKernel("quotient_bf16", PRECISION),
]
