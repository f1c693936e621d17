// What QUANTIZE_LINEAR and DEQUANTIZE_LINEAR share on the CPU: rows of scales and zero points.
#pragma once

#include "../base/kernel_contract.h"
#include "kernel.h"

namespace hewn {

// Indices of their inputs, and of their kernels' operands.
constexpr int kInput = 0, kScale = 1, kZeroPoint = 2;

// Whether parameters may repeat as `repeating` needs it: after a multiple of the innermost
// dimension's size.
inline bool may_repeat(const Space &space) { return kRepeatingPeriod % space.dims[0].size == 0; }

// Whether to take the form `repeating` for a box, if the plan allows it.
inline bool takes_repeating(const CpuKernel &kernel, const halide_buffer_t &operand) {
    return kernel.repeating && operand.dim[0].extent >= kRepeatingLanes;
}

// Whether zero points that are constant along the run were gathered. With other scales only
// `repeating` needs that.
inline bool gathers_one_zero_point(const Plan &plan) {
    return plan.access[kZeroPoint] == Access::Table && plan.period[kZeroPoint] == 1;
}

// Keeps the form `repeating` if scales and zero points repeat as it needs it. False: plan again,
// without it.
bool fit_repeating(const Plan &plan, CpuKernel &kernel);

// Brings only those elements of a row into scratch that `repeating` reads.
void read_a_vector(Plan &plan);

}  // namespace hewn
