// The operators: which descriptions are valid. (How their kernels run on the CPU: cpu/kernel.h.)
#ifndef HEWN_RUNTIME_PROBLEM_OPERATORS_H
#define HEWN_RUNTIME_PROBLEM_OPERATORS_H

#include <HalideRuntime.h>
#include <hewn/hewn.h>

#include "shape.h"

namespace hewn {

struct CpuKernel;
struct OperatorInfo;
struct Plan;
struct Variant;

constexpr int kMaxInputs = 8;
constexpr int kMaxTensors = kMaxInputs + 1;  // of an operator, the output among them

// Indices of QUANTIZE_LINEAR's and DEQUANTIZE_LINEAR's inputs, and of their kernels' operands.
constexpr int kInput = 0, kScale = 1, kZeroPoint = 2;

// Indices of QUANTIZED_LINEAR_ADD's inputs; then those of the scales and zero points of A, B and the output.
enum { kA, kAScale, kAZeroPoint, kB, kBScale, kBZeroPoint, kOutputScale, kOutputZeroPoint };
constexpr int kQuantizedAddScales[] = {kAScale, kBScale, kOutputScale};
constexpr int kQuantizedAddZeroPoints[] = {kAZeroPoint, kBZeroPoint, kOutputZeroPoint};

// A checked description, ready for a device: an operator, its tensors, and the signature of the kernel that computes it.
struct Problem {
    const OperatorInfo *info;
    Tensor inputs[kMaxInputs];
    Tensor output;
    char signature[16];
};

struct OperatorInfo {
    hewn_operator_type type;
    const char *name;      // "quantize_linear"
    const char *dml_name;  // "QUANTIZE_LINEAR", for messages
    int input_count;
    // The inputs that vary with the element, in the order of the kernels' buffers.
    int operand_count;
    int operands[kMaxOperands - 1];
    // True if the output may be bound in place of an input of equal strides.
    bool in_place;
    // True if the kernels of signed types also serve the unsigned types of their width (a wrapping sum).
    bool unsigned_as_signed;
    // Reads the operator's own description into `problem`, whose info is set, and checks it.
    hewn_status (*read)(const void *desc, hewn_feature_level level, Problem &problem, hewn_error *error);
    // Chooses the forms for the merged space, before it is planned. Null if this build has no kernel of the operator.
    void (*choose_forms)(const Space &space, const Variant &variant, CpuKernel &kernel);
    // Drops forms that do not pay if the plan runs in `slices` slices, and tells the plan what the others read. False: plan
    // again, for the forms that are left. Null: nothing to do.
    bool (*fit)(Plan &plan, int32_t slices, const Variant &variant, CpuKernel &kernel);
};

// The type that the operator's kernel has for a tensor of `type`.
hewn_data_type kernel_type(const OperatorInfo &info, hewn_data_type type);

halide_type_t halide_type(hewn_data_type type);

// Tensor t of the problem: the inputs in order, then the output.
inline const Tensor &tensor(const Problem &problem, int t) {
    return t == problem.info->input_count ? problem.output : problem.inputs[t];
}

// Which tensor operand o is. Operands have the order of the kernel's buffers, the output last.
int tensor_of_operand(const Problem &problem, int o);

// Lists the problem's operands. Returns their number.
int list_operands(const Problem &problem, const Tensor **operands);

// Reads a whole description and checks it at a feature level.
hewn_status read_operator(const hewn_operator_desc *desc, hewn_feature_level level, Problem &problem, hewn_error *error);

}  // namespace hewn

#endif  // HEWN_RUNTIME_PROBLEM_OPERATORS_H
