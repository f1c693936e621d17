// Code that QUANTIZE_LINEAR and DEQUANTIZE_LINEAR share on the CPU: modes for rows of scales and
// zero points that repeat within a vector, and modes for blocks.
#pragma once

#include "../base/kernel_contract.h"
#include "../problem/lowering.h"
#include "convert.h"
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
    kPacked,     // one scale for each row and one zero point, of elements of 4 or 2 bits
    kRounded     // any, by division in the attribute's `precision`
};

// The index of the output among the operands of both operators.
constexpr int kOutput = 3;

// A bit for each parameter, for KernelTraits::uniform.
constexpr uint32_t kParameters = 1u << kScale | 1u << kZeroPoint;

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

// ---- Elements of 4 or 2 bits ----

// The operand whose elements are f32, if `packed` is the other one.
constexpr int floats_beside(int packed) { return kInput + kOutput - packed; }

// How the forms `packed4` and `packed2` are used: words of 32 bits are elements of the plan, so
// that its operands need no scratch memory.
struct PackedForm {
    const Form *form = nullptr;  // null: there is none, or the space does not suit it
    int32_t together = 1;        // elements of a word
};
// Returns the form that packs or unpacks operand `packed`, which is the input or the output, if the
// space suits it: both are contiguous along the innermost dimension, their sizes and strides are
// whole words, there is one zero point, and the scale is the same along the innermost dimension.
PackedForm find_packed_form(const Space &space, const Problem &problem, const Variant &variant,
                            int packed);
// Whether the boxes of a plan of words are as the forms take them.
bool has_packed_rows(const Plan &plan, const Problem &problem, int packed);

// The same two. A build without sub-byte types does not link them, nor what follows from them.
inline PackedForm packed_form(const Space &space, const Problem &problem, const Variant &variant,
                              int packed) {
    return converted_words::kTaken ? find_packed_form(space, problem, variant, packed)
                                   : PackedForm{};
}
inline bool packed_rows_fit(const Plan &plan, const Problem &problem, int packed) {
    return converted_words::kTaken && has_packed_rows(plan, problem, packed);
}

// A box of words as the forms take it, of which operand `packed` is packed. A packed input has
// words, and a packed output bytes. The constructor is inline because every small call pays for it.
class PackedRows {
public:
    // Without a zero point. The unions prevent that buffers and dimensions are cleared first.
    union {
        halide_buffer_t operands[4];
    };
    const Conversion &conversion;
    int32_t zero_point;

    PackedRows(const CpuCall &call, const halide_buffer_t *box, int packed)
        : conversion(*tensor(*call.kernel.problem, packed).conversion),
          packed_(packed),
          floats_(floats_beside(packed)),
          pitch_(4 * box[packed].dim[1].stride) {
        const int bits = conversion.bits, together = 32 / bits;
        const uint32_t first = uint32_t(box[kZeroPoint].host[0]) << (32 - bits);
        zero_point =
            conversion.is_signed ? int32_t(first) >> (32 - bits) : int32_t(first >> (32 - bits));
        const auto set = [&](int o, int of_word) {
            const halide_dimension_t *const dim = box[o].dim;
            if (kKernelAssertions) operands[o] = box[o];
            operands[o].host = box[o].host;
            operands[o].dim = dims_[o];
            dims_[o][0] = {0, dim[0].extent * of_word, dim[0].stride, 0};
            dims_[o][1] = {0, dim[1].extent, dim[1].stride * of_word, 0};
        };
        set(floats_beside(packed), together);
        set(packed, packed == kOutput ? 4 : 1);
        set(kScale, 1);
        dims_[kScale][0].extent *= together;
        if (kKernelAssertions && packed == kInput)
            operands[packed].type = halide_type_t(halide_type_uint, 32);
    }
    PackedRows(const PackedRows &) = delete;
    PackedRows &operator=(const PackedRows &) = delete;

    // Whether the rows are long enough for the forms. The last box of a row may be a short one.
    bool fit() const { return elements() >= kLeastPackedRow; }
    // Has `call` compute the rows with the kernels of bytes, piece by piece through memory on the
    // stack. Returns 0 or the first error code.
    int compute_bytes(BoxCall &context, CallBox call);

private:
    const int packed_, floats_;  // operands
    const int32_t pitch_;        // bytes from row to row of the packed operand
    union {
        halide_dimension_t dims_[4][2];
    };

    int32_t elements() const { return operands[floats_].dim[0].extent; }
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
