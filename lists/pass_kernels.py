"""The list of pass kernels: kernels of passes on a GPU that belong to no operator. Most convert
tensors that the operators' kernels do not take as they are. Each is made by the generator
pass_<name>, for the lowest chosen target of each kind of GPU.

    operators: the function is built if one of these operators is built. <operator>=<level>: only if
        the build also has that feature level.
    layouts: as a form's: 1 for a conversion of contiguous elements; empty for any layout."""

from lists.declarations import PassKernel

# Floats that the kernels of f32 compute.
F16 = ["quantize_linear=hewn", "dequantize_linear=hewn", "dynamic_quantize_linear"]
BF16 = ["quantize_linear=hewn", "dequantize_linear=hewn", "dynamic_quantize_linear=hewn"]
F8E8M0 = ["quantize_linear=hewn", "dequantize_linear=hewn"]
BELOW_8_BITS = ["quantize_linear=6.3", "dequantize_linear=6.3"]
# For QUANTIZE_LINEAR's attribute `precision`: rounded quotients, which its kernel then quantizes.
PRECISION = ["quantize_linear=hewn"]

# For QUANTIZED_LINEAR_ADD's activations: they clamp the result.
ACTIVATION = ["quantized_linear_add=hewn"]

PASS_KERNELS = [
    PassKernel("widen_dense", F16, layouts="1"),
    PassKernel("narrow_dense", F16, layouts="1"),
    PassKernel("widen_strided", F16),
    PassKernel("narrow_strided", F16),
    PassKernel("widen_bf16_dense", BF16, layouts="1"),
    PassKernel("narrow_bf16_dense", BF16, layouts="1"),
    PassKernel("widen_bf16_strided", BF16),
    PassKernel("narrow_bf16_strided", BF16),
    PassKernel("widen_f8e8m0", F8E8M0),
    PassKernel("unpack", BELOW_8_BITS),
    PassKernel("pack", BELOW_8_BITS),
    PassKernel("converted_i32", PRECISION),
    PassKernel("quotient_f16", PRECISION),
    PassKernel("quotient_bf16", PRECISION),
    *(PassKernel(f"clamped_{word}_dense", ACTIVATION, layouts="1") for word in ("i8", "u8", "i16", "u16")),
    *(PassKernel(f"clamped_{word}_strided", ACTIVATION) for word in ("i8", "u8", "i16", "u16")),
]
