// Code that QUANTIZE_LINEAR and DEQUANTIZE_LINEAR share on the CPU: modes for rows of scales and
// zero points that repeat within a vector, and modes for blocks.
#pragma once

#include "../base/kernel_contract.h"
#include "../problem/lowering.h"
#include "kernel.h"

namespace hewn {

// The modes of both operators, by how scales and zero points lie. The form `divide` of
// QUANTIZE_LINEAR, or `general` of DEQUANTIZE_LINEAR, serves all of them.
enum LinearMode : uint8_t {
    kAnyParameters,
    kUniform,    // one scale and one zero point for each row
    kColumns,    // a scale for each column, of constants or of enough rows
    kRepeating,  // scales and zero points that repeat within a vector
    kBlocks,     // one scale and one zero point for each block
    kRounded     // any, by division in the attribute's `precision`
};

// Returns the traits of `repeating`, which reads rows of both parameters. The layout for one zero
// point with a scale for each column (see Form) is left out. Such a zero point is then gathered
// into a row.
inline KernelTraits reading_rows(uint32_t layouts) {
    constexpr uint32_t kOneZeroPoint = 1u << 0b110;
    return {layouts & ~kOneZeroPoint, 0, false};
}

// Whether parameters may repeat as `repeating` needs it: the innermost dimension's size divides
// kRepeatingPeriod.
inline bool may_repeat(const Space &space) { return kRepeatingPeriod % space.dims[0].size == 0; }

// Whether the scales and zero points of a plan repeat so.
bool has_repeating_rows(const Plan &plan);

// Whether a box takes the form `repeating`: its rows must be long enough.
inline bool takes_repeating(const CpuKernel &kernel, const halide_buffer_t &operand) {
    return kernel.mode == kRepeating && operand.dim[0].extent >= kRepeatingLanes;
}

// Longer blocks need no form of their own, as other forms are as fast.
constexpr int64_t kLongestBlock = 128;

// Whether blocks of this size have the form `blocks`.
inline bool is_block(int64_t size) {
    return size >= kLeastBlock && size <= kLongestBlock && (size & (size - 1)) == 0;
}

// Whether boxes may be blocks, judging by the innermost dimension.
inline bool may_be_blocks(const Space &space) {
    return space.rank > 1 && is_block(space.dims[0].size);
}

// Whether the boxes of a plan are blocks that the form `blocks` takes: of a size that is_block()
// accepts, and next to one another in memory.
bool has_blocks(const Plan &plan);

// Goes through a box of blocks in rows of blocks, as the form `blocks` takes them.
class BlockRows {
public:
    halide_buffer_t operands[4];
    const int32_t shift;  // a block has kLeastBlock << shift elements

    BlockRows(const Problem &problem, const halide_buffer_t *box);
    BlockRows(const BlockRows &) = delete;
    BlockRows &operator=(const BlockRows &) = delete;

    // Points the operands to the next rows and returns true. If no such rows are left, points them
    // to the remaining blocks, which are for other forms, and returns false.
    bool next();
    // Whether blocks remain that next() could not make rows of.
    bool has_left() const { return left_ > 0; }

private:
    const Problem &problem_;
    const halide_buffer_t *const box_;
    halide_dimension_t dims_[4][2];
    int32_t done_ = 0, left_;  // in blocks
};

// A slice's record of boxes that had to be computed again by division, so that it divides some of
// the next ones at once. Values that need division occur rarely or in most boxes. So after the
// first such box the next one is still tried by reciprocals, after the second one box is divided at
// once, then 3, 7 and so on.
class InvalidBoxes {
public:
    // Call this after a box had to be computed again.
    void met() {
        left_out_ = (1 << met_) - 1;
        if (met_ < 30) met_++;
    }
    // Whether to divide this box at once. Ask once for each box.
    bool leave_out() { return left_out_ > 0 && left_out_-- > 0; }

private:
    int32_t met_ = 0, left_out_ = 0;
};

// Forms of QUANTIZE_LINEAR for rows with a scale each. Null: there is none.
struct RowForms {
    const Form *reciprocal, *blocks;
};
// Quantizes a box with a scale, in contiguous f32 memory, and a zero point for each row. `r0` and
// `r1` are memory for a number for each row.
int quantize_rows(CpuCall &call, const RowForms &forms, halide_buffer_t *operands,
                  InvalidBoxes &invalid, float *r0, float *r1);

// Has the plan bring only those elements of parameters' rows into scratch memory that `repeating`
// reads.
void read_a_vector(Plan &plan);

}  // namespace hewn
