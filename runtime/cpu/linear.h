// What QUANTIZE_LINEAR and DEQUANTIZE_LINEAR share on the CPU: rows of scales and zero points.
#pragma once

#include "../base/kernel_contract.h"
#include "../problem/passes.h"
#include "kernel.h"

namespace hewn {

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

constexpr int64_t kLongestBlock = 128;

// Whether blocks of so many elements have a form of their own.
inline bool is_block(int64_t size) {
    return size >= kLeastBlock && size <= kLongestBlock && (size & (size - 1)) == 0;
}

// Whether boxes may be blocks, by the innermost dimension.
inline bool may_be_blocks(const Space &space) {
    return space.rank > 1 && is_block(space.dims[0].size);
}

// Whether the boxes of a plan are blocks that the form `blocks` takes: beside each other, of
// kLeastBlock elements and more. Beyond kLongestBlock other forms are as fast.
bool fit_blocks(const Plan &plan);

// Goes through a box of blocks in rows as the form `blocks` takes them.
class BlockRows {
public:
    halide_buffer_t operands[4];
    const int32_t shift;  // a block has kLeastBlock << shift elements

    BlockRows(const Problem &problem, const halide_buffer_t *box);
    BlockRows(const BlockRows &) = delete;
    BlockRows &operator=(const BlockRows &) = delete;

    // Points the operands to the next rows. False: to the blocks that are left, for other forms.
    bool next();
    bool has_left() const { return left_ > 0; }

private:
    const Problem &problem_;
    const halide_buffer_t *const box_;
    halide_dimension_t dims_[4][2];
    int32_t done_ = 0, left_;  // blocks
};

// Brings only those elements of a row into scratch that `repeating` reads.
void read_a_vector(Plan &plan);

}  // namespace hewn
