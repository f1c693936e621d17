// What QUANTIZE_LINEAR and DEQUANTIZE_LINEAR on the CPU have in common: rows of scales and zero points.
#ifndef HEWN_RUNTIME_CPU_LINEAR_H
#define HEWN_RUNTIME_CPU_LINEAR_H

#include "cpu_kernel.h"
#include "kernel_contract.h"

namespace hewn {

// Boxes that cut a row of parameters come in its order, each with the next part. Of the row the `kept` elements from `from` on
// are known. Returns the index in it of a box's first element where all `count` of the box's are known, `kept` where they come
// next, else -1.
inline int64_t index_among(const void *from, int64_t kept, const halide_buffer_t &row, int64_t count, int64_t bytes) {
    if (kept == 0) return -1;
    // Huge for what lies before.
    const uintptr_t first = (uintptr_t(row.host) - uintptr_t(from)) / uintptr_t(bytes), end = uintptr_t(kept);
    return first == end || (first < end && uintptr_t(count) <= end - first) ? int64_t(first) : -1;
}

// Has rows of equal zero points joined where rows enough read the same one.
void join_zero_points(const Plan &plan, CpuKernel &kernel);

// Whether parameters may repeat so: after a multiple of what the innermost dimension has.
inline bool may_repeat(const Space &space) { return kRepeatingPeriod % space.dims[0].size == 0; }

// Whether to take the form `repeating` for a box, where the plan allows it.
inline bool takes_repeating(const CpuKernel &kernel, const halide_buffer_t &operand) {
    return kernel.repeating && operand.dim[0].extent >= kRepeatingLanes;
}

// Whether zero points that are constant along the run were gathered, which nothing but `repeating` needs beside other scales.
inline bool gathers_one_zero_point(const Plan &plan) {
    return plan.access[kZeroPoint] == Access::Table && plan.period[kZeroPoint] == 1;
}

// Keeps the form `repeating` where scales and zero points repeat as it needs them. False: plan again, without it.
bool fit_repeating(const Plan &plan, CpuKernel &kernel);

// Has only the elements of a row brought into scratch that `repeating` reads.
void read_a_vector(Plan &plan);

}  // namespace hewn

#endif  // HEWN_RUNTIME_CPU_LINEAR_H
