// Numbers and structs on which the generators and the runtime must agree. They must also agree on
// the types and the order of a kernel's arguments, most of which are not here. Both include this
// file; generators include no other file of the runtime.
#pragma once

namespace hewn {

// The forms `repeating` take rows of at least kRepeatingLanes elements. They read kRepeatingLanes
// scales and zero points and reuse them for the whole row. So the parameters must repeat along the
// row, with a period that divides kRepeatingPeriod elements.
constexpr int kRepeatingLanes = 16, kRepeatingPeriod = 8;

// The forms `blocks` take rows of blocks. A block has kLeastBlock << shift elements, which share
// one scale and zero point. The number of blocks in a row is a multiple of kBlocksTogether, and a
// row has at most kLongestBlockRow elements.
constexpr int kLeastBlock = 16, kBlocksTogether = 8, kLongestBlockRow = 4096;

// The forms `packed4` and `packed2` take rows of elements of 4 and 2 bits that fill whole words of
// 32 bits. A row has at least kLeastPackedRow elements. It begins at any byte.
constexpr int kLeastPackedRow = 256;

// Kernels of small floats (floats of at most 8 bits) serve all formats. They get the format as a
// word of 32 bits, which is never 0, in the place of a zero point, which small floats do not have.
// The word has these fields, at the given bits:
//   - Mantissa: the bits of the mantissa.
//   - Sign: the position of the sign bit in a code.
//   - Bias: that of the exponent.
//   - Largest: the code of the largest number. If NaN is not the next code, the next code is
//     infinity.
//   - Nan: the code of NaN, or 0 if there is none. If it is the sign alone, there is no -0.
//   - Saturates: whether numbers beyond the largest one, and infinity, become the largest one.
struct FormatField {
    int at, bits;
};
constexpr FormatField kFormatMantissa = {0, 2}, kFormatSign = {2, 3}, kFormatBias = {5, 5},
                      kFormatLargest = {10, 7}, kFormatNan = {17, 8}, kFormatSaturates = {25, 1};
constexpr unsigned field_of(unsigned format, FormatField field) {
    return format >> field.at & ((1u << field.bits) - 1);
}
// Formats with a greater bias than f16's (f8e5m2fnuz) have exponents that f16 does not have. The
// form `blocks` of DEQUANTIZE_LINEAR does not take them.
constexpr int kMostBiasAsF16 = 15;

// A transposition works on squares whose rows have this many bytes: one vector of SSE or NEON. A
// tile has the rows of one square, and the columns of one or several squares (the kernel's
// `bytes`).
constexpr int kSquareBytes = 16;

// In one step of the GPUs' forms `dense` and `runs`, a thread accesses this many bytes of the
// widest tensor that it takes by words. It does so in one access, so that the accesses of
// neighbouring threads join.
constexpr int kGpuStepBytes = 16;

// The number of elements in such a step, which is the same for every tensor.
constexpr int gpu_step_elements(int widest_bytes) { return kGpuStepBytes / widest_bytes; }

// The limits of the GPUs' forms:
//   - kGpuRank: the dimensions that the form `strided` takes.
//   - kFewGpuDimensions: the dimensions that a specialisation of `strided` takes. Most real layouts
//     merge to so few. The form `runs` takes as many if its rows are whole steps.
//   - kContiguousGpuRank: the dimensions that `runs` takes if its tensors by words are contiguous.
//   - kGpuOperands: the tensors that vary with the element, the output included, which is the last.
constexpr int kGpuRank = 8, kFewGpuDimensions = 3, kContiguousGpuRank = 2, kGpuOperands = 4;

// The form `ranges` finds how far the elements reach below 0 and above it. For each of the two
// sides it writes kGpuRangeBlocks numbers, one for each block of threads. Each launch writes such a
// set, and the form `parameters` reads all sets.
constexpr int kGpuRangeBlocks = 256;

// The scalar arguments of the forms `strided`, `runs` and `ranges`, the innermost dimension first:
//   - count: the number of elements; for `runs` the number of steps.
//   - rank: the number of dimensions in use.
//   - size, multiplier, shift: what splits an element's index into one index for each dimension.
//     Multiplier and shift replace the division by the size (gpu/division.h).
//   - stride: what turns these indices into the element's offset in each tensor.
template<class Int32, class UInt32>
struct StridedScalars {
    Int32 count, rank;
    UInt32 size[kGpuRank], multiplier[kGpuRank], shift[kGpuRank], stride[kGpuOperands][kGpuRank];
};

// Calls visit(scalar, name, index...) for each scalar of a kernel with `operands` varying tensors,
// in the order of the kernel's arguments. The last dimension needs no division: its index is what
// remains after the others.
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

// An activation of ADD1, other than SOFTSIGN, as numbers. With
//
//     v = min(max(x * slope + offset, low), high)
//
// the result is v where x < below, else x - shift where x > above, and elsewhere, for a NaN too, it
// is v if `elsewhere` has all bits set, and 0 if it has none. Each operation is rounded, and v is
// NaN where x * slope + offset is. A slope of 1, an offset of -0, infinite bounds and a shift of 0
// change no bit.
template<class Float, class UInt32>
struct Pieces {
    Float slope, offset, low, high, below, above, shift;
    UInt32 elsewhere;
};

// Calls visit(number, name) for each number, in the order of a kernel's arguments.
template<class Numbers, class Visit>
constexpr void for_each_piece(Numbers &pieces, const Visit &visit) {
    visit(pieces.slope, "slope");
    visit(pieces.offset, "offset");
    visit(pieces.low, "low");
    visit(pieces.high, "high");
    visit(pieces.below, "below");
    visit(pieces.above, "above");
    visit(pieces.shift, "shift");
    visit(pieces.elsewhere, "elsewhere");
}

}  // namespace hewn
