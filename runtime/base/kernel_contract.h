// What generators and runtime must agree on besides the kernels' types and the order of most of
// their arguments. Both include it.
#pragma once

namespace hewn {

// The forms `repeating` take rows of at least kRepeatingLanes elements and read as many parameters,
// which repeat along the row after a divisor of kRepeatingPeriod elements.
constexpr int kRepeatingLanes = 16, kRepeatingPeriod = 8;

// The forms `blocks` take rows of blocks of kLeastBlock << shift elements that share parameters. A
// row has a multiple of kBlocksTogether blocks, and kLongestBlockRow elements at most.
constexpr int kLeastBlock = 16, kBlocksTogether = 8, kLongestBlockRow = 4096;

// A transposition goes by squares with this many bytes in a row, a vector of SSE and NEON. A tile
// has the rows of one square and the columns of one or several (the kernel's `bytes`).
constexpr int kSquareBytes = 16;

// Bytes of the widest tensor that is taken by words in one step of a GPU's forms `dense` and
// `runs`: one access, so that neighbouring threads' accesses meet.
constexpr int kGpuStepBytes = 16;

// Elements of every tensor in such a step.
constexpr int gpu_step_elements(int widest_bytes) { return kGpuStepBytes / widest_bytes; }

// Dimensions that a GPU's form `strided` takes, and those of its specialisation for what real
// layouts merge to. The form `runs` takes as few where rows are whole steps, and kContiguousGpuRank
// where its tensors by words are contiguous. Tensors that vary, the output among them, which is the
// last.
constexpr int kGpuRank = 8, kFewGpuDimensions = 3, kContiguousGpuRank = 2, kGpuOperands = 4;

// The form `ranges` writes so many numbers for each of two sides, how far elements reach below 0
// and above it: those of one block of threads each. `parameters` reads sets of them.
constexpr int kGpuRangeBlocks = 256;

// The scalar arguments of `strided` and `runs`, innermost dimension first: how many elements there
// are, of `runs` steps, what takes an element's index apart (the sizes, and for each a division's
// multiplier and shift) and what puts it together again for each tensor, and how many dimensions
// are in use.
template<class Int32, class UInt32>
struct StridedScalars {
    Int32 count, rank;
    UInt32 size[kGpuRank], multiplier[kGpuRank], shift[kGpuRank], stride[kGpuOperands][kGpuRank];
};

// Calls visit(scalar, name, index...) for those that a kernel of so many varying tensors has, in
// their order. The last dimension has no division: its index is what the others leave.
template<class Scalars, class Visit>
constexpr void for_each_strided_scalar(Scalars &scalars, int operands, const Visit &visit) {
    visit(scalars.count, "count");
    for (int d = 0; d < kGpuRank; d++) {
        if (d < kGpuRank - 1) {
            visit(scalars.size[d], "size", d);
            visit(scalars.multiplier[d], "multiplier", d);
            visit(scalars.shift[d], "shift", d);
        }
        for (int o = 0; o < operands; o++) visit(scalars.stride[o][d], "stride", o, d);
    }
    visit(scalars.rank, "rank");
}

}  // namespace hewn
