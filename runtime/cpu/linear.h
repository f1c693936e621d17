// What QUANTIZE_LINEAR and DEQUANTIZE_LINEAR share on the CPU: rows of scales and zero points.
#pragma once

#include "../base/kernel_contract.h"
#include "../problem/lowering.h"
#include "kernel.h"

namespace hewn {

// Their modes, by the scales and zero points. `form` serves them all: `divide` or `general`.
enum LinearMode : uint8_t {
    kAnyParameters,
    kUniform,    // one of each a row
    kColumns,    // a scale a column, of constants or of enough rows
    kRepeating,  // they repeat within a vector
    kBlocks,     // one of each a block
    kRounded     // any, by division in the attribute's `precision`
};

// What a plan has to know where a form reads rows of both parameters, `repeating`: one zero point
// beside a scale a column, which has a layout of its own (see Form), is gathered into a row for it.
inline KernelTraits reading_rows(uint32_t layouts) {
    constexpr uint32_t kOneZeroPoint = 1u << 0b110;
    return {layouts & ~kOneZeroPoint, 0, false};
}

// Whether parameters may repeat as `repeating` needs it: after a multiple of the innermost
// dimension's size.
inline bool may_repeat(const Space &space) { return kRepeatingPeriod % space.dims[0].size == 0; }

// Whether a plan's scales and zero points do.
bool has_repeating_rows(const Plan &plan);

// Whether to take the form `repeating` for a box.
inline bool takes_repeating(const CpuKernel &kernel, const halide_buffer_t &operand) {
    return kernel.mode == kRepeating && operand.dim[0].extent >= kRepeatingLanes;
}

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
bool has_blocks(const Plan &plan);

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
