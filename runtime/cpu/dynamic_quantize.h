// DYNAMIC_QUANTIZE on the CPU. If a block lies in one row of a box, the pass Blocks finds the
// ranges of some blocks, chooses their parameters and quantizes them while they are in the caches.
// Otherwise one pass chooses the parameters of all blocks, and QUANTIZE_LINEAR follows.
#pragma once

#include "kernel.h"

namespace hewn {

// The forms of the pass Blocks: those of QUANTIZE_LINEAR that take a scale for each row, and
// `rows`, which finds the range of each row. The last mode, kSeparate, says that the pass does not
// serve the problem.
extern const CpuForms forms_of_dynamic_quantize;
constexpr uint8_t kAtOnce = 0, kSeparate = 1;
// The form `rows` as a pass of its own: PassProblem::Ranges of the whole input, or BlockParameters.
extern const CpuForms forms_of_ranges;

// The blocks of one part of an input, for PassProblem::BlockParameters.
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
