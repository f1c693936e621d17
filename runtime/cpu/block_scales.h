// DYNAMIC_QUANTIZE, MX_QUANTIZE and NVFP4_QUANTIZE on the CPU. If a block lies in one row of a box,
// the pass Blocks finds the ranges of some blocks, chooses their parameters and quantizes them
// while they are in the caches. Otherwise one pass chooses the parameters of all blocks, and
// another one quantizes the elements by them.
#pragma once

#include "kernel.h"

namespace hewn {

// The modes of the pass Blocks, by the forms of QUANTIZE_LINEAR that take a scale for each row, and
// the form `rows` or `largest`, which finds the range of each row. The last mode, kSeparate, says
// that the pass does not serve the problem.
constexpr uint8_t kAtOnce = 0, kSeparate = 1;
// The form `rows` or `largest` as a pass of its own: PassProblem::Ranges of the whole input,
// BlockParameters or BlockMaxima.
extern const CpuForms forms_of_ranges;
// The pass PassProblem::Elements.
extern const CpuForms forms_of_elements;

// Computes the pass PassProblem::TensorScale. `tensors` points to the maximum and to the scale.
void write_tensor_scale(void *const *tensors);

// The blocks of one part of an input, for PassProblem::BlockParameters and BlockMaxima.
struct BlockWalk {
    int rank;
    int64_t count[kMaxRank], total;
    // From block to block: bytes of the input, and elements of the parameters.
    int64_t input_step[kMaxRank], scale_step[kMaxRank], zero_point_step[kMaxRank];
    // The elements of the first block's parameters.
    int64_t first_scale, first_zero_point;
    int64_t box_count;  // the boxes of one block
};

// Describes the blocks of part number `part` (split_blocks) of the pass's input. Returns the first
// of them as a tensor of its own. `first` is its distance from the input's first element.
Tensor walk_blocks(const Problem &pass, int part, BlockWalk &walk, int64_t &first);

}  // namespace hewn
