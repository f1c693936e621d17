// A part of hewn.hpp: each operator's description, which owns the descriptions of its tensors, and
// its compile(). hewn.h documents the operators. Written by lists/headers.py: to change it, change
// the lists.
// clang-format off
#ifndef HEWN_HEWN_HPP
#error "include hewn/hewn.hpp"
#endif

// ADD: A + B; integers wrap.
// In C it is hewn_add_desc.
struct AddDesc {
    TensorDesc a_tensor;  // ATensor
    TensorDesc b_tensor;  // BTensor
    TensorDesc output_tensor;  // OutputTensor
};
// hewn_compile of it.
inline Operator compile(const AddDesc &desc, const CompileOptions &options = {},
                        const Device *device = nullptr) {
    return compile(HEWN_OPERATOR_ADD,
                   {detail::pointer(desc.a_tensor),
                    detail::pointer(desc.b_tensor),
                    detail::pointer(desc.output_tensor)},
                   options, device);
}

// ADD1: activation(A + B).
// In C it is hewn_add1_desc.
struct Add1Desc {
    TensorDesc a_tensor;  // ATensor
    TensorDesc b_tensor;  // BTensor
    TensorDesc output_tensor;  // OutputTensor
    Activation activation = Activation::IDENTITY;  // hewn_activation
    float alpha = 0;  // of LINEAR LEAKY_RELU THRESHOLDED_RELU HARD_SIGMOID
    float beta = 0;  // of LINEAR HARD_SIGMOID
    float bias = 0;  // of SHRINK
    float threshold = 0;  // of SHRINK
    float min = 0;  // of CLIP
    float max = 0;  // of CLIP
};
// hewn_compile of it.
inline Operator compile(const Add1Desc &desc, const CompileOptions &options = {},
                        const Device *device = nullptr) {
    return compile(HEWN_OPERATOR_ADD1,
                   {detail::pointer(desc.a_tensor),
                    detail::pointer(desc.b_tensor),
                    detail::pointer(desc.output_tensor)},
                   options, device, {detail::word(desc.activation),
                    detail::word(desc.alpha),
                    detail::word(desc.beta),
                    detail::word(desc.bias),
                    detail::word(desc.threshold),
                    detail::word(desc.min),
                    detail::word(desc.max)});
}

// QUANTIZE_LINEAR: clamp(round(IN / scale) + zero point), ties to even.
// In C it is hewn_quantize_linear_desc.
struct QuantizeLinearDesc {
    TensorDesc input_tensor;  // InputTensor
    TensorDesc scale_tensor;  // ScaleTensor
    OptionalTensorDesc zero_point_tensor;  // ZeroPointTensor
    TensorDesc output_tensor;  // OutputTensor
    Precision precision = Precision::FLOAT32;  // ONNX's attribute
    Saturate saturate = Saturate::ON;  // ONNX's attribute
};
// hewn_compile of it.
inline Operator compile(const QuantizeLinearDesc &desc, const CompileOptions &options = {},
                        const Device *device = nullptr) {
    return compile(HEWN_OPERATOR_QUANTIZE_LINEAR,
                   {detail::pointer(desc.input_tensor),
                    detail::pointer(desc.scale_tensor),
                    detail::pointer(desc.zero_point_tensor),
                    detail::pointer(desc.output_tensor)},
                   options, device, {detail::word(desc.precision),
                    detail::word(desc.saturate)});
}

// DEQUANTIZE_LINEAR: (IN - zero point) * scale.
// In C it is hewn_dequantize_linear_desc.
struct DequantizeLinearDesc {
    TensorDesc input_tensor;  // InputTensor
    TensorDesc scale_tensor;  // ScaleTensor
    OptionalTensorDesc zero_point_tensor;  // ZeroPointTensor
    TensorDesc output_tensor;  // OutputTensor
};
// hewn_compile of it.
inline Operator compile(const DequantizeLinearDesc &desc, const CompileOptions &options = {},
                        const Device *device = nullptr) {
    return compile(HEWN_OPERATOR_DEQUANTIZE_LINEAR,
                   {detail::pointer(desc.input_tensor),
                    detail::pointer(desc.scale_tensor),
                    detail::pointer(desc.zero_point_tensor),
                    detail::pointer(desc.output_tensor)},
                   options, device);
}

// QUANTIZE: clamp(round(IN / scale) + zero point), ties to even.
// In C it is hewn_quantize_desc.
struct QuantizeDesc {
    TensorDesc input_tensor;  // InputTensor
    TensorDesc scale_tensor;  // ScaleTensor
    OptionalTensorDesc zero_point_tensor;  // ZeroPointTensor
    TensorDesc output_tensor;  // OutputTensor
};
// hewn_compile of it.
inline Operator compile(const QuantizeDesc &desc, const CompileOptions &options = {},
                        const Device *device = nullptr) {
    return compile(HEWN_OPERATOR_QUANTIZE,
                   {detail::pointer(desc.input_tensor),
                    detail::pointer(desc.scale_tensor),
                    detail::pointer(desc.zero_point_tensor),
                    detail::pointer(desc.output_tensor)},
                   options, device);
}

// DEQUANTIZE: (IN - zero point) * scale.
// In C it is hewn_dequantize_desc.
struct DequantizeDesc {
    TensorDesc input_tensor;  // InputTensor
    TensorDesc scale_tensor;  // ScaleTensor
    OptionalTensorDesc zero_point_tensor;  // ZeroPointTensor
    TensorDesc output_tensor;  // OutputTensor
};
// hewn_compile of it.
inline Operator compile(const DequantizeDesc &desc, const CompileOptions &options = {},
                        const Device *device = nullptr) {
    return compile(HEWN_OPERATOR_DEQUANTIZE,
                   {detail::pointer(desc.input_tensor),
                    detail::pointer(desc.scale_tensor),
                    detail::pointer(desc.zero_point_tensor),
                    detail::pointer(desc.output_tensor)},
                   options, device);
}

// QUANTIZED_LINEAR_ADD: A + B of quantized tensors, quantized; ties to even.
// In C it is hewn_quantized_linear_add_desc.
struct QuantizedLinearAddDesc {
    TensorDesc a_tensor;  // ATensor
    TensorDesc a_scale_tensor;  // AScaleTensor
    OptionalTensorDesc a_zero_point_tensor;  // AZeroPointTensor
    TensorDesc b_tensor;  // BTensor
    TensorDesc b_scale_tensor;  // BScaleTensor
    OptionalTensorDesc b_zero_point_tensor;  // BZeroPointTensor
    TensorDesc output_scale_tensor;  // OutputScaleTensor
    OptionalTensorDesc output_zero_point_tensor;  // OutputZeroPointTensor
    TensorDesc output_tensor;  // OutputTensor
    QuantizedActivation activation = QuantizedActivation::NONE;  // hewn_quantized_activation
};
// hewn_compile of it.
inline Operator compile(const QuantizedLinearAddDesc &desc, const CompileOptions &options = {},
                        const Device *device = nullptr) {
    return compile(HEWN_OPERATOR_QUANTIZED_LINEAR_ADD,
                   {detail::pointer(desc.a_tensor),
                    detail::pointer(desc.a_scale_tensor),
                    detail::pointer(desc.a_zero_point_tensor),
                    detail::pointer(desc.b_tensor),
                    detail::pointer(desc.b_scale_tensor),
                    detail::pointer(desc.b_zero_point_tensor),
                    detail::pointer(desc.output_scale_tensor),
                    detail::pointer(desc.output_zero_point_tensor),
                    detail::pointer(desc.output_tensor)},
                   options, device, {detail::word(desc.activation)});
}

// QUANTIZED_LINEAR_MUL: A * B of quantized tensors, quantized; ties to even.
// In C it is hewn_quantized_linear_mul_desc.
struct QuantizedLinearMulDesc {
    TensorDesc a_tensor;  // ATensor
    TensorDesc a_scale_tensor;  // AScaleTensor
    OptionalTensorDesc a_zero_point_tensor;  // AZeroPointTensor
    TensorDesc b_tensor;  // BTensor
    TensorDesc b_scale_tensor;  // BScaleTensor
    OptionalTensorDesc b_zero_point_tensor;  // BZeroPointTensor
    TensorDesc output_scale_tensor;  // OutputScaleTensor
    OptionalTensorDesc output_zero_point_tensor;  // OutputZeroPointTensor
    TensorDesc output_tensor;  // OutputTensor
};
// hewn_compile of it.
inline Operator compile(const QuantizedLinearMulDesc &desc, const CompileOptions &options = {},
                        const Device *device = nullptr) {
    return compile(HEWN_OPERATOR_QUANTIZED_LINEAR_MUL,
                   {detail::pointer(desc.a_tensor),
                    detail::pointer(desc.a_scale_tensor),
                    detail::pointer(desc.a_zero_point_tensor),
                    detail::pointer(desc.b_tensor),
                    detail::pointer(desc.b_scale_tensor),
                    detail::pointer(desc.b_zero_point_tensor),
                    detail::pointer(desc.output_scale_tensor),
                    detail::pointer(desc.output_zero_point_tensor),
                    detail::pointer(desc.output_tensor)},
                   options, device);
}

// REQUANTIZE: clamp(round((IN - zero point) * scale / output scale) + output zero point), ties to
// even.
// In C it is hewn_requantize_desc.
struct RequantizeDesc {
    TensorDesc input_tensor;  // InputTensor
    TensorDesc input_scale_tensor;  // InputScaleTensor
    OptionalTensorDesc input_zero_point_tensor;  // InputZeroPointTensor
    TensorDesc output_scale_tensor;  // OutputScaleTensor
    OptionalTensorDesc output_zero_point_tensor;  // OutputZeroPointTensor
    TensorDesc output_tensor;  // OutputTensor
};
// hewn_compile of it.
inline Operator compile(const RequantizeDesc &desc, const CompileOptions &options = {},
                        const Device *device = nullptr) {
    return compile(HEWN_OPERATOR_REQUANTIZE,
                   {detail::pointer(desc.input_tensor),
                    detail::pointer(desc.input_scale_tensor),
                    detail::pointer(desc.input_zero_point_tensor),
                    detail::pointer(desc.output_scale_tensor),
                    detail::pointer(desc.output_zero_point_tensor),
                    detail::pointer(desc.output_tensor)},
                   options, device);
}

// DYNAMIC_QUANTIZE_LINEAR: quantize IN with the scale and zero point of its range.
// In C it is hewn_dynamic_quantize_linear_desc.
struct DynamicQuantizeLinearDesc {
    TensorDesc input_tensor;  // InputTensor
    TensorDesc output_tensor;  // OutputTensor
    TensorDesc output_scale_tensor;  // OutputScaleTensor
    TensorDesc output_zero_point_tensor;  // OutputZeroPointTensor
};
// hewn_compile of it.
inline Operator compile(const DynamicQuantizeLinearDesc &desc, const CompileOptions &options = {},
                        const Device *device = nullptr) {
    return compile(HEWN_OPERATOR_DYNAMIC_QUANTIZE_LINEAR,
                   {detail::pointer(desc.input_tensor),
                    detail::pointer(desc.output_tensor),
                    detail::pointer(desc.output_scale_tensor),
                    detail::pointer(desc.output_zero_point_tensor)},
                   options, device);
}

// DYNAMIC_QUANTIZE: quantize each block of IN with the scale and zero point of its range.
// In C it is hewn_dynamic_quantize_desc.
struct DynamicQuantizeDesc {
    TensorDesc input_tensor;  // InputTensor
    TensorDesc output_tensor;  // OutputTensor
    TensorDesc output_scale_tensor;  // OutputScaleTensor
    OptionalTensorDesc output_zero_point_tensor;  // OutputZeroPointTensor
    QuantizationMode mode = QuantizationMode::ASYMMETRIC;  // hewn_quantization_mode
    float min_scale = 0;  // of ASYMMETRIC SYMMETRIC
};
// hewn_compile of it.
inline Operator compile(const DynamicQuantizeDesc &desc, const CompileOptions &options = {},
                        const Device *device = nullptr) {
    return compile(HEWN_OPERATOR_DYNAMIC_QUANTIZE,
                   {detail::pointer(desc.input_tensor),
                    detail::pointer(desc.output_tensor),
                    detail::pointer(desc.output_scale_tensor),
                    detail::pointer(desc.output_zero_point_tensor)},
                   options, device, {detail::word(desc.mode),
                    detail::word(desc.min_scale)});
}

// MX_QUANTIZE: quantize each block of IN with the power of two of its largest magnitude.
// In C it is hewn_mx_quantize_desc.
struct MxQuantizeDesc {
    TensorDesc input_tensor;  // InputTensor
    TensorDesc output_tensor;  // OutputTensor
    TensorDesc output_scale_tensor;  // OutputScaleTensor
    MxScaleMode scale_mode = MxScaleMode::FLOOR;  // hewn_mx_scale_mode
};
// hewn_compile of it.
inline Operator compile(const MxQuantizeDesc &desc, const CompileOptions &options = {},
                        const Device *device = nullptr) {
    return compile(HEWN_OPERATOR_MX_QUANTIZE,
                   {detail::pointer(desc.input_tensor),
                    detail::pointer(desc.output_tensor),
                    detail::pointer(desc.output_scale_tensor)},
                   options, device, {detail::word(desc.scale_mode)});
}

// MX_DEQUANTIZE: IN * scale; an int8 element i means i / 64.
// In C it is hewn_mx_dequantize_desc.
struct MxDequantizeDesc {
    TensorDesc input_tensor;  // InputTensor
    TensorDesc scale_tensor;  // ScaleTensor
    TensorDesc output_tensor;  // OutputTensor
};
// hewn_compile of it.
inline Operator compile(const MxDequantizeDesc &desc, const CompileOptions &options = {},
                        const Device *device = nullptr) {
    return compile(HEWN_OPERATOR_MX_DEQUANTIZE,
                   {detail::pointer(desc.input_tensor),
                    detail::pointer(desc.scale_tensor),
                    detail::pointer(desc.output_tensor)},
                   options, device);
}

// NVFP4_QUANTIZE: quantize each block of IN with the scale of its largest magnitude.
// In C it is hewn_nvfp4_quantize_desc.
struct Nvfp4QuantizeDesc {
    TensorDesc input_tensor;  // InputTensor
    OptionalTensorDesc tensor_scale_tensor;  // TensorScaleTensor
    TensorDesc output_tensor;  // OutputTensor
    TensorDesc output_scale_tensor;  // OutputScaleTensor
    OptionalTensorDesc output_tensor_scale_tensor;  // OutputTensorScaleTensor
};
// hewn_compile of it.
inline Operator compile(const Nvfp4QuantizeDesc &desc, const CompileOptions &options = {},
                        const Device *device = nullptr) {
    return compile(HEWN_OPERATOR_NVFP4_QUANTIZE,
                   {detail::pointer(desc.input_tensor),
                    detail::pointer(desc.tensor_scale_tensor),
                    detail::pointer(desc.output_tensor),
                    detail::pointer(desc.output_scale_tensor),
                    detail::pointer(desc.output_tensor_scale_tensor)},
                   options, device);
}

// NVFP4_DEQUANTIZE: IN * (scale * tensor scale).
// In C it is hewn_nvfp4_dequantize_desc.
struct Nvfp4DequantizeDesc {
    TensorDesc input_tensor;  // InputTensor
    TensorDesc scale_tensor;  // ScaleTensor
    TensorDesc tensor_scale_tensor;  // TensorScaleTensor
    TensorDesc output_tensor;  // OutputTensor
};
// hewn_compile of it.
inline Operator compile(const Nvfp4DequantizeDesc &desc, const CompileOptions &options = {},
                        const Device *device = nullptr) {
    return compile(HEWN_OPERATOR_NVFP4_DEQUANTIZE,
                   {detail::pointer(desc.input_tensor),
                    detail::pointer(desc.scale_tensor),
                    detail::pointer(desc.tensor_scale_tensor),
                    detail::pointer(desc.output_tensor)},
                   options, device);
}

