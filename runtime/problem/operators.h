// The operator table (lists/operators.py) and the reader of descriptions: which are valid.
#pragma once

#include <HalideRuntime.h>
#include <hewn/hewn.h>

#include <string_view>

#include "shape.h"

namespace hewn {

// ---- The table ----

// The tensors of the operator that has the most, the output among them.
#define HEWN_TENSOR(...) +1
#define HEWN_COUNT(...) (0 __VA_ARGS__)
#define HEWN_OPERATOR(name, kernels, type, dml_name, command, formula, onnx, in_place, wraps, \
                      one_width, signature, tensors, levels) \
    HEWN_COUNT tensors,
constexpr int kTensorCounts[] = {
#include "operators.inc"
};
#undef HEWN_COUNT
constexpr int max_tensor_count() {
    int most = 0;
    for (const int count : kTensorCounts) most = count > most ? count : most;
    return most;
}
constexpr int kMaxTensors = max_tensor_count(), kMaxInputs = kMaxTensors - 1, kMaxOutputs = 3;

// The values of a description's attributes; 0: the default.
struct Attributes {
#define HEWN_ATTRIBUTE(op, type, attribute, level, values) int32_t op##_##attribute;
#include "attributes.inc"
};

// A choice among numbers from 0 on.
struct AttributeRule {
    hewn_operator_type type;  // the operator's
    const char *name;
    hewn_feature_level from;  // the level from which on it may be other than 0
    int32_t Attributes::*member;
    const char *const *words, *const *names;  // of the values: "f16", "FLOAT16"
    int32_t value_count;
};

struct TensorRule {
    const char *name;  // DirectML's: "ScaleTensor"
    hewn_tensor_role role;
    int like;                 // the tensor whose type this one has; -1: the level says which types
    hewn_data_type integers;  // the type instead, beside integers of `like`; UNKNOWN: none
    hewn_feature_level optional_from;  // the level from which on it may be left out; 0: never
    bool one_element;  // whatever the others' sizes; else it has those of the first tensor
    bool blocks;       // or sizes that divide those; whole blocks at every level
    bool middle;       // absent, it is the middle of an unsigned type
    bool mixed;        // of floats, it may be another one from hewn's own level on
};

// What DirectML allows from a level on.
struct LevelRule {
    hewn_feature_level level;
    int min_rank, max_rank;
    uint32_t types[kMaxTensors];  // a bit for each type of a tensor that is like no other
};

struct OperatorInfo {
    hewn_operator_type type;
    const char *name;      // "quantize_linear"
    const char *kernels;   // the operator whose kernels compute it
    const char *dml_name;  // "QUANTIZE_LINEAR", for messages
    const char *command, *formula, *onnx_name;
    bool in_place;            // the output may be bound in place of an input of equal strides
    bool unsigned_as_signed;  // the kernels of signed types also serve the unsigned types of their
                              // width (a wrapping sum)
    bool one_width;           // the types of a signature have one width
    int input_count, output_count;
    int level_count, signature_count;
    const TensorRule *tensors;  // in DirectML's order, the outputs last
    const LevelRule *levels;    // newest first
    const int *signature;       // the tensors whose types are its words
    // The inputs that vary with the element, in the order of the kernels' buffers.
    int operand_count;
    int operands[kMaxOperands - 1];
};

constexpr int kOperatorCount = sizeof kTensorCounts / sizeof kTensorCounts[0];
extern const OperatorInfo kOperators[kOperatorCount];

// Whether this build has kernels of the operator, for the CPU or for GPUs.
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

// ---- Problems ----

// A checked description, ready for a device: an operator, its tensors, and the signature of the
// kernel that computes it.
struct Problem {
    const OperatorInfo *info;
    Tensor inputs[kMaxInputs];
    Tensor output;  // of several the first
    Tensor other_outputs[kMaxOutputs - 1];
    Attributes attributes;
    char signature[20];
    // Where the values of inputs lie that are known at compile; null of the others.
    const void *constants[kMaxInputs];
};

// QUANTIZE_LINEAR's attribute, 0 of other operators.
inline int32_t precision_of(const Problem &problem) {
    return problem.attributes.quantize_linear_precision;
}

// The type that the operator's kernel has for a tensor.
hewn_data_type kernel_type(const OperatorInfo &info, const Tensor &tensor);

halide_type_t halide_type(hewn_data_type type);

// Tensor t of the problem: the inputs in order, then the outputs.
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

// Which tensor operand o is. Operands have the order of the kernel's buffers, the output last.
int tensor_of_operand(const Problem &problem, int o);

// Lists the problem's operands. Returns their number.
int list_operands(const Problem &problem, const Tensor **operands);

// Reads a whole description and checks it at a feature level.
hewn_status read_operator(const hewn_operator_desc *desc, hewn_feature_level level,
                          Problem &problem, hewn_error *error);

}  // namespace hewn
