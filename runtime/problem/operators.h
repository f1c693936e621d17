// The operator table, which is made from lists/operators.py; the problem, which is a description
// that was checked; and the reader, which decides whether a description is valid.
#pragma once

#include <HalideRuntime.h>
#include <hewn/hewn.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "shape.h"

namespace hewn {

// ---- The table ----

// The numbers of tensors of the operators, inputs and outputs together.
#define HEWN_TENSOR(...) +1
#define HEWN_COUNT(...) (0 __VA_ARGS__)
#define HEWN_OPERATOR(name, kernels, type, dml_name, command, formula, onnx, in_place, wraps, \
                      one_width, as_f32, signature, tensors, levels) \
    HEWN_COUNT tensors,
constexpr int kTensorCounts[] = {
#include "operators.inc"
};
#undef HEWN_COUNT
// The number of tensors of the operator that has the most.
constexpr int max_tensor_count() {
    int most = 0;
    for (const int count : kTensorCounts) most = count > most ? count : most;
    return most;
}
constexpr int kMaxTensors = max_tensor_count(), kMaxInputs = kMaxTensors - 1, kMaxOutputs = 3;

// The values of a description's attributes. 0 is the default.
struct Attributes {
#define HEWN_ATTRIBUTE(op, number, attribute, type, ...) type op##_##attribute;
#include "attributes.inc"
};

// A value of a choice: its name, such as "FLOAT16", and the level from which on it exists.
struct ValueRule {
    char name[sizeof "PARAMETRIC_SOFTPLUS"];  // the longest
    hewn_feature_level from;
};

// An attribute of an operator: a choice among the numbers from 0 on, or a parameter, an f32.
struct AttributeRule {
    hewn_operator_type type;  // the operator that has it
    const char *name;
    size_t offset;  // in Attributes
    // For a parameter: a bit for each value of the choice before it that has the parameter.
    uint32_t of;
    // For a choice: the values, and their words, such as "f16". The first `computed` values are
    // computed, and the others are refused, because of `why`.
    const char *const *words;
    const ValueRule *values;
    int32_t value_count, computed;
    const char *why;
};

// The rules for a tensor of an operator.
struct TensorRule {
    const char *name;  // DirectML's name: "ScaleTensor"
    hewn_tensor_role role;
    // The tensor whose type this one must have; -1 if the level says which types it may have.
    int like;
    // The type that this tensor has instead if the tensor `like` is of integers; UNKNOWN: none.
    hewn_data_type integers;
    // The level from which on it may be left out; 0: never.
    hewn_feature_level optional_from;
    // It has one element, whatever the sizes of the others. Otherwise it has the sizes of the first
    // tensor.
    bool one_element;
    // Its sizes may also divide those of the first tensor. It may then have blocks at every level,
    // but only whole ones. An output with this rule has one element for each block, which may be
    // short.
    bool blocks;
    // If it is absent, it is not 0 but, for an unsigned type, the middle of the type's range.
    bool middle;
    // From hewn's own level on, it may have another float type than the tensor `like`, of those
    // that this one may have.
    bool mixed;
    // Other types that it may have from that level on, a bit for each.
    uint32_t others;
};

// The ranks and types that an operator allows from a feature level on.
struct LevelRule {
    hewn_feature_level level;
    int min_rank, max_rank;
    // For each tensor that is like no other, the allowed types: a bit for each.
    uint32_t types[kMaxTensors];
};

// A row of the operator table.
struct OperatorInfo {
    hewn_operator_type type;
    const char *kernels;   // the operator whose kernels compute it: itself, or another
    const char *dml_name;  // "QUANTIZE_LINEAR", as in messages
    // The output may be bound to the memory of an input that has equal strides.
    bool in_place;
    // The kernels of signed types also serve the unsigned types of the same width, because a sum
    // that wraps has the same bits.
    bool unsigned_as_signed;
    bool one_width;  // all types of a signature have one width
    // The floats that have no kernels of their own, a bit for each: they are converted to f32.
    uint32_t as_f32;
    int input_count, output_count;
    int level_count, signature_count;
    const TensorRule *tensors;  // in DirectML's order: the inputs, then the outputs
    const LevelRule *levels;    // the newest first
    const int *signature;       // the tensors whose types are the signature's words
    // The inputs that vary with the element, in the order of the kernels' buffers.
    int operand_count;
    int operands[kMaxOperands - 1];
};

// Whether this build has kernels of that operator, for the CPU or for GPUs.
constexpr bool is_built(std::string_view operator_name) {
    constexpr std::string_view kBuilt[] = {
#define HEWN_VARIANT(operator_name, ...) #operator_name,
#include "variants.inc"
    };
    for (const std::string_view built : kBuilt) {
        if (built == operator_name) return true;
    }
    return false;
}

// Whether this build has operators that choose scales for blocks. If not, compilers drop code that
// only these operators need, and a program does not link it.
constexpr bool kHasDynamicQuantize = is_built("dynamic_quantize"), kHasMx = is_built("mx_quantize"),
               kHasNvfp4 = is_built("nvfp4_quantize"),
               kChoosesBlocks = kHasDynamicQuantize || kHasMx || kHasNvfp4;

// Which operators of the list are in this build's table: those whose kernels and whose first level
// it has. QUANTIZE_LINEAR is in it too where the last pass of another operator has its forms. The
// others would take kilobytes of a program.
constexpr bool is_in_table(std::string_view kernels, hewn_feature_level first_level) {
    const bool lends_forms =
        kernels == "quantize_linear" && (is_built("dynamic_quantize_linear") || kChoosesBlocks);
    return (is_built(kernels) || lends_forms) && first_level <= kBuiltLevel;
}
constexpr bool kIsInTable[] = {
#define HEWN_LEVEL(level, ...) level,
#define HEWN_UNPACK(...) __VA_ARGS__
#define HEWN_OPERATOR(name, kernels, type, dml_name, command, formula, onnx, in_place, wraps, \
                      one_width, as_f32, signature, tensors, levels) \
    is_in_table(#kernels, std::min({HEWN_UNPACK levels})),
#include "operators.inc"
#undef HEWN_UNPACK
};
constexpr size_t kOperatorCount = [] {
    size_t count = 0;
    for (const bool is_in : kIsInTable) count += is_in;
    return count;
}();
// Of a list with a row for each operator, the rows of those in the table.
template<class Row, size_t N>
constexpr std::array<Row, kOperatorCount> rows_in_table(const Row (&all)[N]) {
    static_assert(N == std::size(kIsInTable));
    std::array<Row, kOperatorCount> rows = {};
    size_t count = 0;
    for (size_t i = 0; i < N; i++) {
        if (kIsInTable[i]) rows[count++] = all[i];
    }
    return rows;
}
extern const std::array<OperatorInfo, kOperatorCount> kOperators;

// The operators that choose scales for blocks.
enum class BlockFamily : uint8_t { None, Dynamic, Mx, Nvfp4 };
constexpr BlockFamily family_of(hewn_operator_type type) {
    switch (type) {
    case HEWN_OPERATOR_DYNAMIC_QUANTIZE: return BlockFamily::Dynamic;
    case HEWN_OPERATOR_MX_QUANTIZE: return BlockFamily::Mx;
    case HEWN_OPERATOR_NVFP4_QUANTIZE: return BlockFamily::Nvfp4;
    default: return BlockFamily::None;
    }
}

// ---- Problems ----

// A description that was checked: an operator, its tensors, and the signature of the kernel that
// computes it.
struct Problem {
    const OperatorInfo *info;
    Tensor inputs[kMaxInputs];
    Tensor output;  // the first of several
    Tensor other_outputs[kMaxOutputs - 1];
    Attributes attributes;
    // The format of the small floats among the tensors, as kernels get it (kernel_contract.h). 0:
    // there are none.
    uint32_t format;
    char signature[20];
    // The values of constant inputs; null for all other inputs.
    const void *constants[kMaxInputs];
};

// Attributes that need hewn's own level. Each is 0 for other operators. In a build without that
// level they are constants, so that the code for their values is not linked.
inline hewn_precision precision_of(const Problem &problem) {
    return kHasOwnLevel ? problem.attributes.quantize_linear_precision : 0;
}
inline hewn_saturate saturate_of(const Problem &problem) {
    return kHasOwnLevel ? problem.attributes.quantize_linear_saturate : 0;
}
inline hewn_quantized_activation quantized_activation_of(const Problem &problem) {
    return kHasOwnLevel ? problem.attributes.quantized_linear_add_activation : 0;
}

// The type as which the operator's kernel takes a tensor.
hewn_data_type kernel_type(const OperatorInfo &info, const Tensor &tensor);

// The type of a kernel's buffer for elements of a type.
halide_type_t halide_type(hewn_data_type type);

// Returns tensor t of the problem. Tensors have numbers: the inputs in order, then the outputs.
inline const Tensor &tensor(const Problem &problem, int t) {
    const int output = t - problem.info->input_count;
    return output < 0    ? problem.inputs[t]
           : output == 0 ? problem.output
                         : problem.other_outputs[output - 1];
}
inline Tensor &tensor(Problem &problem, int t) {
    return const_cast<Tensor &>(tensor(static_cast<const Problem &>(problem), t));
}
inline int tensor_count(const OperatorInfo &info) { return info.input_count + info.output_count; }

// Returns which tensor operand o is. Operands have the order of the kernel's buffers; the output is
// the last.
int tensor_of_operand(const Problem &problem, int o);

// Lists the problem's operands and returns their number.
int list_operands(const Problem &problem, const Tensor **operands);

// Reads an operator's description into `problem`, which need not be initialised, and checks it at a
// feature level. Returns the first error. The problem has no references to the description.
hewn_status read_operator(const hewn_operator_desc *desc, hewn_feature_level level,
                          Problem &problem, hewn_error *error);

}  // namespace hewn
