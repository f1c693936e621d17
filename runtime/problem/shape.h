// Tensors as the runtime sees them, and what concerns several tensors at once: overlap in memory,
// and the iteration space that they share. Descriptions are read and checked here.
#pragma once

#include <hewn/hewn.h>

#include <cstdint>

#include "conversion.h"

namespace hewn {

constexpr int kMaxRank = HEWN_DIMENSION_COUNT_MAX;
// A dimension with blocks counts as two: one goes through the blocks, the other through the
// elements of a block.
constexpr int kMaxDimensions = 2 * kMaxRank;
// The most operands of an element-wise computation: its varying inputs, and its output.
constexpr int kMaxOperands = 4;

// A checked copy of a hewn_tensor_desc. Sizes and strides are in elements, outermost dimension
// first.
struct Tensor {
    const char *name;  // DirectML's name: "InputTensor"
    bool present;
    bool constant;  // its values are given at compile
    bool blocked;   // its description has block sizes above 1
    hewn_data_type type;
    // Bytes of an element in memory; 1 for sub-byte types.
    int32_t element_bytes;
    // Null if kernels take the elements as they are stored.
    const Conversion *conversion;
    int32_t rank;
    uint64_t bytes;  // as hewn_tensor_size returns them
    int64_t sizes[kMaxRank];
    int64_t strides[kMaxRank];
    // Also 1 in a dimension that one block covers; the stride is then 0.
    int64_t block_sizes[kMaxRank];

    bool empty() const { return bytes == 0; }
    // Bytes of an element as the kernel takes it.
    int32_t kernel_bytes() const;
};

// The newest feature level of this build. Code that only newer levels need is not linked.
constexpr hewn_feature_level kBuiltLevel =
#define HEWN_BUILT_LEVEL(number) number
#include "types.inc"
    ;
// Whether this build has hewn's own level, which is above DirectML's.
constexpr bool kHasOwnLevel = kBuiltLevel >= HEWN_FEATURE_LEVEL_HEWN;

// The end of messages for callers who expect the broadcasting of other libraries, or who forgot the
// strides.
constexpr char kRepeatsHint[] =
    "; an input that repeats, as one scale for many elements, has strides of 0, for example {0, 0, "
    "1}";

// Returns a type's name, such as "FLOAT32"; "an unknown type" if the number is not a type.
const char *type_name(hewn_data_type type);
// Returns the word for a valid type in signatures, such as "f32".
const char *type_word(hewn_data_type type);
// Returns the bytes of an element, 1 for sub-byte types; 0 if the number is not a type.
int type_bytes(hewn_data_type type);

// Reads a tensor's description into `tensor` and checks it: the type, the number of dimensions,
// sizes, strides, and that sums stay within 63 bits. Error messages begin with `context` and
// `name`.
hewn_status read_tensor(const hewn_tensor_desc *desc, const char *context, const char *name,
                        Tensor &tensor, hewn_error *error);

// Returns a tensor of the given type with the name, sizes, strides and block sizes of `like`. Its
// elements are whole bytes and have no conversion. Nothing else that is known about `like` is
// copied. If elements of `like` share bytes, `bytes` is too small: the caller must set it.
Tensor lying_as(const Tensor &like, hewn_data_type type);
// Returns a tensor of one element that is repeated to the sizes of `over`.
Tensor repeated(const Tensor &over, hewn_data_type type);

// Returns how many elements the tensor has in memory along dimension d: one for each block, and one
// if the stride is 0.
int64_t stored(const Tensor &tensor, int d);
// Returns a tensor of the elements that a tensor has in memory, each of them once, without blocks.
Tensor each_stored(const Tensor &tensor);
// Makes the tensor contiguous: its elements follow one another in their present order.
void pack_strides(Tensor &tensor);

// Whether the tensors have equal numbers of dimensions and equal sizes.
bool same_sizes(const Tensor &a, const Tensor &b);

// Whether several elements lie at the same address.
bool repeats(const Tensor &tensor);

// Whether every element certainly has its own address: if dimensions are sorted by stride, each
// stride exceeds the span of all smaller dimensions.
bool strides_never_overlap(const Tensor &tensor);

// Whether the strides of both tensors are the same number of bytes in each dimension that has more
// than one element. False if their sizes differ, or if one has blocks or a conversion.
bool same_byte_strides(const Tensor &a, const Tensor &b);

// Whether it is proved that no element of `output`, which begins at `output_base`, shares a byte
// with an element of `other`, which begins at `other_base`. That is so if their ranges do not
// overlap, or if their strides in bytes are equal and their elements interleave.
bool provably_disjoint(const Tensor &output, uintptr_t output_base, const Tensor &other,
                       uintptr_t other_base);

// One dimension of a computation. A stride is in elements of its operand.
struct Dimension {
    int64_t size;
    int64_t stride[kMaxOperands];
};

// The iteration space of an element-wise computation. Its dimensions are sorted by the output's
// stride, innermost first. Dimensions of size 1 are dropped, and neighbours are joined if every
// operand goes through them as through one.
struct Space {
    // How many operands there are: the inputs in order, then the output.
    int operands;
    // Bytes of an element as the kernel takes it.
    int32_t element_bytes[kMaxOperands];
    const Conversion *conversion[kMaxOperands];
    int rank;  // at least 1: a single element is one dimension of size 1
    Dimension dims[kMaxDimensions];
};

// A part of a computation that is one iteration space: all whole blocks, or the blocks that are
// short in the same dimensions.
struct Part {
    Space space;
    // The distance from each operand's first element to the part's first, in elements.
    int64_t first[kMaxOperands];
};
// The most dimensions that may have a short last block, and the parts that they make.
constexpr int kMaxShortDimensions = 3, kMaxParts = 1 << kMaxShortDimensions;

// Returns the number of elements in the space.
int64_t element_count(const Space &space);

// Divides a computation into parts and returns how many there are. The last operand is the output.
// The operands are not empty and have equal sizes. In each dimension, block sizes above 1 are
// equal. At most kMaxShortDimensions dimensions have a short last block.
int split_blocks(const Tensor *const *operands, int count, Part (&parts)[kMaxParts]);

// Returns the space for the search of a tensor's range. It goes through the elements in the order
// of memory, and through repeated elements once. A space needs an output, so its second operand is
// one of bytes, which the search neither reads nor writes.
Space range_space(const Tensor &input);

}  // namespace hewn
