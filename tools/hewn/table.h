// The library's table of operators at its newest feature level, as the commands use it.
#pragma once

#include <hewn/hewn.hpp>
#include <string>
#include <vector>

namespace hewn::cli {

using TensorInfo = hewn_operator_tensor_info;
using AttributeInfo = hewn_operator_attribute_info;
// An operator's, in order; those that are not there are 0.
using Attributes = std::vector<int32_t>;

const std::vector<OperatorInfo> &operator_table();

inline bool is_parameter(const TensorInfo &tensor) {
    return tensor.role == HEWN_TENSOR_ROLE_SCALE || tensor.role == HEWN_TENSOR_ROLE_ZERO_POINT;
}
inline bool allows(const TensorInfo &tensor, DataType type) {
    return tensor.types >> int(type) & 1;
}
// In the order of DirectML's numbers.
std::vector<DataType> types_of(const TensorInfo &tensor);

// The type that is due for a tensor beside one of type `other`, which it is like.
DataType type_like(const TensorInfo &tensor, DataType other);

// How many inputs there are; the first output's index.
size_t input_count(const OperatorInfo &op);
// The output, of several the first.
inline const TensorInfo &output_of(const OperatorInfo &op) { return op.tensors[input_count(op)]; }

// Whether there is a scale and a zero point for all elements, each element or anything between:
// whether axes and blocks mean something. Else each is one element, or there are none.
bool has_axis(const OperatorInfo &op);

// The scale whose type the output has, as products with it have (DEQUANTIZE_LINEAR); null: there is
// none.
const TensorInfo *scale_of_output(const OperatorInfo &op);

// Whether DirectML says by a quantization type which parameters there are: an absent zero point is
// then the middle of an unsigned type.
bool has_quantization_type(const OperatorInfo &op);

// Whether floats that have one type by the table may be of two.
bool mixes_floats(const OperatorInfo &op);

// The words of an attribute's values, from number 0 on.
std::vector<std::string> words_of(const AttributeInfo &attribute);

// Whether one is not the default.
bool asks_for_any(const Attributes &attributes);

// The operator whose kernels compute it: "quantize_linear" for QUANTIZE.
std::string kernels_name(const OperatorInfo &op);

// The name, without its target, of the kernel for tensors of these types: "quantize_linear_f32_u8".
std::string kernel_name(const OperatorInfo &op, const std::vector<DataType> &types,
                        const Attributes &attributes = {});

}  // namespace hewn::cli
