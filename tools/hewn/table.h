// The library's table of operators at its newest feature level, and questions that the commands ask
// of it.
#pragma once

#include <hewn/hewn.hpp>
#include <string>
#include <vector>

namespace hewn::cli {

using TensorInfo = hewn_operator_tensor_info;
using AttributeInfo = hewn_operator_attribute_info;
// The numbers of an operator's attributes, in order, a parameter as the bits of its f32. Attributes
// after the last one have the value 0, the default.
using Attributes = std::vector<int32_t>;

const std::vector<OperatorInfo> &operator_table();

inline bool is_parameter(const TensorInfo &tensor) {
    return tensor.role == HEWN_TENSOR_ROLE_SCALE || tensor.role == HEWN_TENSOR_ROLE_ZERO_POINT;
}
inline bool allows(const TensorInfo &tensor, DataType type) {
    return tensor.types >> int(type) & 1;
}
// The types that the tensor may have, in the order of DirectML's numbers.
std::vector<DataType> types_of(const TensorInfo &tensor);

// The type of `tensor` if the tensor that it is like (TensorInfo::like) has type `other`.
DataType type_like(const TensorInfo &tensor, DataType other);

// The number of inputs, which is also the index of the first output.
size_t input_count(const OperatorInfo &op);
// The output, or the first of several outputs.
inline const TensorInfo &output_of(const OperatorInfo &op) { return op.tensors[input_count(op)]; }

// Whether the operator chooses scales for blocks of its input, and writes them as outputs.
bool chooses_blocks(const OperatorInfo &op);
// The number of elements of the last dimension that have a scale in the operator's format. 0: it is
// of no format.
int block_size_of(const OperatorInfo &op);
// Whether the operator writes output number `t`, which is one of its tensors. An optional output
// belongs to the default of the first attribute or, if there is none, to the absence of the
// optional input.
inline bool writes(const OperatorInfo &op, size_t t, const Attributes &attributes,
                   bool has_optional_input) {
    return !op.tensors[t].optional ||
           (op.attributes.empty() ? !has_optional_input : attributes.empty() || attributes[0] == 0);
}

// Whether the scale and the zero point can have more than one element, such as one per channel or
// per block, so that an axis and a block size have a meaning.
bool has_axis(const OperatorInfo &op);

// The scale whose type the output has, as in DEQUANTIZE_LINEAR. Null if there is none.
const TensorInfo *scale_of_output(const OperatorInfo &op);

// Whether the operator has DirectML's attribute quantization_type, which says whether there is a
// zero point. An absent zero point of an unsigned type then means the middle of its range.
bool has_quantization_type(const OperatorInfo &op);

// Whether float tensors that have one type by the table may also have two different types.
bool mixes_floats(const OperatorInfo &op);

// Whether the attribute is a parameter of the choice before it, an f32.
inline bool belongs_to_choice(const AttributeInfo &attribute) { return attribute.of != 0; }
// Whether this value of the choice has the parameter.
inline bool has(int32_t choice, const AttributeInfo &parameter) {
    return parameter.of >> choice & 1;
}
// Whether 0 is a sensible default of a parameter. It is one if the choice's default has it.
inline bool is_optional(const AttributeInfo &parameter) { return has(0, parameter); }
// The words for a choice's values, beginning with the value 0. Those that the library refuses are
// the last.
std::vector<std::string> words_of(const AttributeInfo &attribute);

// Whether an attribute is not the default.
bool asks_for_any(const Attributes &attributes);

// The operator whose kernels compute this one: "quantize_linear" for QUANTIZE.
std::string kernels_name(const OperatorInfo &op);

// The name of the kernel for tensors of these types, without a target: "quantize_linear_f32_u8".
std::string kernel_name(const OperatorInfo &op, const std::vector<DataType> &types,
                        const Attributes &attributes = {});

}  // namespace hewn::cli
