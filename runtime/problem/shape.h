// Tensors as the runtime sees them, and what concerns several at once: overlap, merged dimensions.
#pragma once

#include <hewn/hewn.h>

#include <cstdint>

#include "conversion.h"

namespace hewn {

constexpr int kMaxRank = HEWN_DIMENSION_COUNT_MAX;
// A dimension in blocks is two: the blocks, and the elements of one.
constexpr int kMaxDimensions = 2 * kMaxRank;
// The inputs of one element-wise computation, and its output.
constexpr int kMaxOperands = 4;

// A checked copy of a hewn_tensor_desc. Sizes and strides in elements, outermost first.
struct Tensor {
    const char *name;  // DirectML's: "InputTensor"
    bool present;
    bool constant;  // its values are known at compile
    bool blocked;   // its description has block sizes above 1
    hewn_data_type type;
    int32_t element_bytes;         // of one in memory: 1 where several share a byte
    const Conversion *conversion;  // null: kernels take elements as they are stored
    int32_t rank;
    uint64_t bytes;  // hewn_tensor_size
    int64_t sizes[kMaxRank];
    int64_t strides[kMaxRank];
    int64_t block_sizes[kMaxRank];  // 1 as well where one block is all, of stride 0 then

    bool empty() const { return bytes == 0; }
    int32_t kernel_bytes() const;  // of an element as its kernel takes it
};

// The newest feature level of this build. What needs a newer one need not be linked.
constexpr hewn_feature_level kBuiltLevel =
#define HEWN_BUILT_LEVEL(number) number
#include "types.inc"
    ;

// The end of messages to those used to other libraries' broadcasting, or who have forgotten the
// strides.
constexpr char kRepeatsHint[] =
    "; an input that repeats, as one scale for many elements, has strides of 0, for example {0, 0, "
    "1}";

// "FLOAT32"; "an unknown type" for a number that is none.
const char *type_name(hewn_data_type type);
// A valid type's word in a signature: "f32".
const char *type_word(hewn_data_type type);
// Bytes of an element as a kernel sees it; 0 for a number that is no type.
int type_bytes(hewn_data_type type);

// Reads and checks one description: type, rank, sizes, strides, sums within 63 bits. Messages begin
// with `context` and `name`.
hewn_status read_tensor(const hewn_tensor_desc *desc, const char *context, const char *name,
                        Tensor &tensor, hewn_error *error);

// A tensor of another type with the sizes, strides and blocks of `like`, whose elements are whole
// bytes. Nothing else that is known of `like` holds for it.
Tensor lying_as(const Tensor &like, hewn_data_type type);
// One element for all of another tensor's.
Tensor repeated(const Tensor &over, hewn_data_type type);

// Elements in memory along a dimension: one for a block, and one for all that repeat.
int64_t stored(const Tensor &tensor, int d);
// Makes elements lie one behind the other, in the order that they have.
void pack_strides(Tensor &tensor);

bool same_sizes(const Tensor &a, const Tensor &b);

// True if elements lie at the same address.
bool repeats(const Tensor &tensor);

// True if every element certainly has its own address: sorted, each stride exceeds the span of all
// smaller dimensions.
bool strides_never_overlap(const Tensor &tensor);

// True if the tensors' strides are the same number of bytes in every dimension of more than one
// element.
bool same_byte_strides(const Tensor &a, const Tensor &b);

// True if it is proved that no element of `output` (at `output_base`) shares a byte with one of
// `other`: their ranges are apart, or their strides in bytes are equal and the elements interleave.
bool provably_disjoint(const Tensor &output, uintptr_t output_base, const Tensor &other,
                       uintptr_t other_base);

// One dimension of all operands at once. Strides are in elements of each operand.
struct Dimension {
    int64_t size;
    int64_t stride[kMaxOperands];
};

// The iteration space of an element-wise computation: innermost dimension first, sorted by the
// output's stride, without dimensions of size 1. Neighbours are joined where every operand goes
// through them as through one.
struct Space {
    int operands;  // the inputs, then the output
    int32_t element_bytes[kMaxOperands];
    const Conversion *conversion[kMaxOperands];
    int rank;  // >= 1; a single element is one dimension of size 1
    Dimension dims[kMaxDimensions];
};

// What of a computation is one space: all whole blocks, or the short ones at a dimension's end.
struct Part {
    Space space;
    int64_t first[kMaxOperands];  // from each operand's first element to the part's, in elements
};
constexpr int kMaxParts = 2;

int64_t element_count(const Space &space);

// The parts of a computation. The operands are non-empty and of equal sizes, block sizes above 1 in
// a dimension are equal, and at most one has a short last block; the last operand is the output.
// Returns how many parts there are.
int split_blocks(const Tensor *const *operands, int count, Part (&parts)[kMaxParts]);

// What the search for a tensor's range goes through: its elements in the order of their memory, and
// an operand of bytes that it neither reads nor writes, as spaces have an output. Elements that
// repeat come once.
Space range_space(const Tensor &input);

}  // namespace hewn
