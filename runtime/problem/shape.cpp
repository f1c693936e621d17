// Reads the descriptions of tensors, proves that tensors do not overlap, and makes the iteration
// spaces of computations.
#include "shape.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "../base/error.h"

namespace hewn {

namespace {

struct TypeInfo {
    const char *name, *word;
    int bits;
};

// All types, indexed by their numbers.
constexpr struct Types {
    TypeInfo of[32];
} kTypes = [] {
    Types types = {};
#define HEWN_TYPE(word, name, number, bits) types.of[number] = {#name, #word, bits};
#include "types.inc"
    return types;
}();

bool is_type(hewn_data_type type) {
    return type > 0 && size_t(type) < std::size(kTypes.of) && kTypes.of[type].bits > 0;
}

// Sets `bytes` to the bytes of this many elements. Returns false if they overflow 63 bits.
bool bytes_of(const Tensor &tensor, int64_t elements, int64_t &bytes) {
    if (!tensor.conversion)
        return !__builtin_mul_overflow(elements, int64_t(tensor.element_bytes), &bytes);
    const Conversion &conversion = *tensor.conversion;
    const int64_t groups = elements / conversion.group(), rest = elements % conversion.group();
    bytes = groups * conversion.group_bytes() + (rest * conversion.bits + 7) / 8;
    return true;
}

// The size of hewn_tensor_desc in its first version.
constexpr size_t kTensorDescBytes = offsetof(hewn_tensor_desc, block_sizes);

// The tensor's dimensions that have more than one element, by ascending stride.
struct Strided {
    int rank = 0;
    int64_t sizes[kMaxRank], strides[kMaxRank];

    explicit Strided(const Tensor &tensor) {
        for (int d = 0; d < tensor.rank; d++) {
            if (tensor.sizes[d] == 1) continue;
            int i = rank++;
            for (; i > 0 && strides[i - 1] > tensor.strides[d]; i--) {
                sizes[i] = sizes[i - 1];
                strides[i] = strides[i - 1];
            }
            sizes[i] = tensor.sizes[d];
            strides[i] = tensor.strides[d];
        }
    }
};

// Whether an element of one lattice shares a byte with an element of another lattice, which begins
// `offset` bytes after the first and has the same strides in bytes. In other words: is there an
// index difference |k_i| < sizes[i] with -other_bytes < offset + sum(k_i * stride_i) < bytes?
//
// Each stride exceeds the span of all smaller dimensions. So in each dimension only the two
// multiples of the stride next to `offset` can bring the rest into reach. That also holds if the
// other elements are wider, because the common strides are multiples of both elements' bytes.
bool lattices_meet(const Strided &lattice, int dimension, int64_t offset, int64_t element_bytes,
                   int64_t bytes, int64_t other_bytes) {
    if (dimension < 0) return -other_bytes < offset && offset < bytes;
    const int64_t stride = lattice.strides[dimension] * element_bytes,
                  most = lattice.sizes[dimension] - 1;
    const int64_t below = offset / stride - (offset % stride < 0);
    for (const int64_t k : {below, below + 1}) {
        if (k < -most || k > most) continue;
        if (lattices_meet(lattice, dimension - 1, offset - k * stride, element_bytes, bytes,
                          other_bytes))
            return true;
    }
    return false;
}

}  // namespace

const char *type_name(hewn_data_type type) {
    return is_type(type) ? kTypes.of[type].name : "an unknown type";
}
const char *type_word(hewn_data_type type) { return kTypes.of[type].word; }
int type_bytes(hewn_data_type type) {
    return is_type(type) ? std::max(kTypes.of[type].bits / 8, 1) : 0;
}

int32_t Tensor::kernel_bytes() const {
    return conversion ? type_bytes(conversion->taken) : element_bytes;
}

__attribute__((cold)) hewn_status read_tensor(const hewn_tensor_desc *desc, const char *context,
                                              const char *name, Tensor &tensor, hewn_error *error) {
    const TensorFailure refuse = {error, HEWN_STATUS_INVALID_ARGUMENT, context, name};
    if (!desc) return refuse("is null");
    if (desc->struct_size < kTensorDescBytes) return refuse("struct_size is too small");
    if (!is_type(desc->data_type)) {
        return refuse("%d is no data type", int(desc->data_type));
    }
    if (desc->dimension_count > kMaxRank) {
        return refuse("has %u dimensions, at most %d are allowed", unsigned(desc->dimension_count),
                      kMaxRank);
    }
    if (desc->dimension_count > 0 && !desc->sizes) return refuse("sizes are null");

    tensor = {};
    tensor.name = name;
    tensor.present = true;
    tensor.type = desc->data_type;
    tensor.element_bytes = type_bytes(desc->data_type);
    const Conversion *const conversion = conversion_of(desc->data_type);
    if (conversion && conversion->shares_bytes()) tensor.conversion = conversion;
    tensor.rank = int(desc->dimension_count);
    const int64_t *const block_sizes =
        desc->struct_size >= sizeof *desc ? desc->block_sizes : nullptr;
    bool empty = false;
    for (int d = 0; d < tensor.rank; d++) {
        tensor.sizes[d] = desc->sizes[d];
        if (desc->sizes[d] < 0) {
            return refuse("size %lld of dimension %d is negative", (long long)desc->sizes[d], d);
        }
        if (desc->strides && desc->strides[d] < 0) {
            return refuse(
                "stride %lld of dimension %d is negative: copy the tensor (NumPy: "
                "np.ascontiguousarray) and describe the copy",
                (long long)desc->strides[d], d);
        }
        tensor.block_sizes[d] = block_sizes ? block_sizes[d] : 1;
        if (tensor.block_sizes[d] < 1) {
            return refuse("block size %lld of dimension %d is less than 1",
                          (long long)tensor.block_sizes[d], d);
        }
        tensor.blocked |= tensor.block_sizes[d] > 1;
        empty |= desc->sizes[d] == 0;
    }

    // All products and sums below are of numbers >= 0, and are checked. An empty tensor has no
    // elements, so their addresses cannot overflow.
    int64_t elements = 1, stored = 1, last = 0;
    for (int d = tensor.rank - 1; d >= 0; d--) {
        const int64_t size = empty ? 1 : tensor.sizes[d],
                      blocks_before = (size - 1) / tensor.block_sizes[d];
        tensor.strides[d] = desc->strides ? desc->strides[d] : stored;
        int64_t step = 0;
        if (__builtin_mul_overflow(elements, size, &elements) ||
            __builtin_mul_overflow(stored, blocks_before + 1, &stored) ||
            __builtin_mul_overflow(blocks_before, tensor.strides[d], &step) ||
            __builtin_add_overflow(last, step, &last)) {
            return refuse("sizes and strides overflow 63 bits");
        }
        if (tensor.block_sizes[d] == 1 || (blocks_before > 0 && tensor.strides[d] > 0)) continue;
        tensor.block_sizes[d] = 1;
        tensor.strides[d] = 0;
    }
    int64_t bytes = 0;
    if (__builtin_add_overflow(last, 1, &last) || !bytes_of(tensor, elements, bytes) ||
        !bytes_of(tensor, last, bytes)) {
        return refuse("sizes and strides overflow 63 bits");
    }
    tensor.bytes = empty ? 0 : uint64_t(bytes);
    return HEWN_STATUS_OK;
}

__attribute__((cold)) Tensor lying_as(const Tensor &like, hewn_data_type type) {
    Tensor tensor = {};
    tensor.name = like.name;
    tensor.present = true;
    tensor.type = type;
    tensor.element_bytes = type_bytes(type);
    tensor.rank = like.rank;
    tensor.bytes = like.bytes / uint64_t(like.element_bytes) * uint64_t(tensor.element_bytes);
    std::copy_n(like.sizes, kMaxRank, tensor.sizes);
    std::copy_n(like.strides, kMaxRank, tensor.strides);
    std::copy_n(like.block_sizes, kMaxRank, tensor.block_sizes);
    return tensor;
}

__attribute__((cold)) Tensor repeated(const Tensor &over, hewn_data_type type) {
    Tensor tensor = lying_as(over, type);
    std::fill_n(tensor.strides, kMaxRank, 0);
    std::fill_n(tensor.block_sizes, kMaxRank, 1);
    tensor.bytes = over.empty() ? 0 : uint64_t(tensor.element_bytes);
    return tensor;
}

bool same_sizes(const Tensor &a, const Tensor &b) {
    return a.rank == b.rank && std::equal(a.sizes, a.sizes + a.rank, b.sizes);
}

bool repeats(const Tensor &tensor) {
    for (int d = 0; d < tensor.rank; d++) {
        if (tensor.sizes[d] > 1 && tensor.strides[d] == 0) return true;
    }
    return false;
}

bool strides_never_overlap(const Tensor &tensor) {
    if (tensor.empty()) return true;
    const Strided strided(tensor);
    int64_t span = 0;
    for (int d = 0; d < strided.rank; d++) {
        if (strided.strides[d] <= span) return false;
        span += (strided.sizes[d] - 1) * strided.strides[d];
    }
    return true;
}

bool same_byte_strides(const Tensor &a, const Tensor &b) {
    if (!same_sizes(a, b) || a.blocked || b.blocked || a.conversion || b.conversion) return false;
    for (int d = 0; d < a.rank; d++) {
        int64_t a_stride, b_stride;
        if (a.sizes[d] == 1) continue;
        if (__builtin_mul_overflow(a.strides[d], int64_t(a.element_bytes), &a_stride) ||
            __builtin_mul_overflow(b.strides[d], int64_t(b.element_bytes), &b_stride) ||
            a_stride != b_stride) {
            return false;
        }
    }
    return true;
}

bool provably_disjoint(const Tensor &output, uintptr_t output_base, const Tensor &other,
                       uintptr_t other_base) {
    if (output.empty() || other.empty()) return true;
    if (output_base + output.bytes <= other_base || other_base + other.bytes <= output_base)
        return true;
    if (!same_byte_strides(output, other)) return false;
    // The ranges overlap, so the offset is within their sizes of 63 bits.
    const int64_t offset = other_base >= output_base ? int64_t(other_base - output_base)
                                                     : -int64_t(output_base - other_base);
    const Strided lattice(output);
    return !lattices_meet(lattice, lattice.rank - 1, offset, output.element_bytes,
                          output.element_bytes, other.element_bytes);
}

namespace {

// Returns the block size of the operands in dimension d; 1 if none has blocks there.
int64_t block_size(const Tensor *const *operands, int count, int d) {
    int64_t size = 1;
    for (int o = 0; o < count; o++) size = std::max(size, operands[o]->block_sizes[d]);
    return size;
}

// The dimensions of a computation, by ascending stride of the output.
struct Sorted {
    const int output;  // the output's index among the operands
    int rank = 0;
    Dimension dims[kMaxDimensions];

    void add(const Dimension &dim) {
        if (dim.size == 1) return;
        int i = rank++;
        for (; i > 0 && dims[i - 1].stride[output] > dim.stride[output]; i--) dims[i] = dims[i - 1];
        dims[i] = dim;
    }
};

// Adds elements [first, first + size) of dimension d: the elements of a block as one dimension, and
// the blocks as another. `size` is whole blocks, or a part of one block. Moves `part.first` to the
// first of these elements.
void add_dimension(const Tensor *const *operands, int count, int d, int64_t first, int64_t size,
                   Sorted &sorted, Part &part) {
    const int64_t block = block_size(operands, count, d);
    Dimension within = {std::min(block, size), {}}, blocks = {size / within.size, {}};
    for (int o = 0; o < count; o++) {
        const int64_t stride = operands[o]->strides[d];
        const bool blocked = operands[o]->block_sizes[d] > 1;
        within.stride[o] = blocked ? 0 : stride;
        blocks.stride[o] = blocks.size == 1 ? 0 : blocked ? stride : stride * block;
        part.first[o] += (blocked ? first / block : first) * stride;
    }
    sorted.add(within);
    sorted.add(blocks);
}

// Joins neighbouring dimensions if every operand goes through them as through one.
void merge(const Sorted &sorted, Space &space) {
    for (int i = 0; i < sorted.rank; i++) {
        bool joins = space.rank > 0;
        for (int o = 0; o < space.operands && joins; o++) {
            const Dimension &inner = space.dims[space.rank - 1];
            // The product may overflow: where the outer stride is 0, it need not be an offset in
            // the tensor.
            int64_t whole = 0;
            joins = !__builtin_mul_overflow(inner.stride[o], inner.size, &whole) &&
                    sorted.dims[i].stride[o] == whole;
        }
        if (joins) space.dims[space.rank - 1].size *= sorted.dims[i].size;
        else space.dims[space.rank++] = sorted.dims[i];
    }
    if (space.rank == 0) space.dims[space.rank++] = {1, {1, 1, 1, 1}};
}

}  // namespace

__attribute__((cold)) int split_blocks(const Tensor *const *operands, int count,
                                       Part (&parts)[kMaxParts]) {
    const Tensor &output = *operands[count - 1];
    // The elements of the short block of each dimension, and that dimension's bit in the numbers of
    // parts.
    int64_t rest[kMaxRank];
    int bit[kMaxRank], part_count = 1;
    for (int d = 0; d < output.rank; d++) {
        rest[d] = output.sizes[d] % block_size(operands, count, d);
        bit[d] = rest[d] > 0 ? part_count : 0;
        part_count += bit[d];
    }
    for (int p = 0; p < part_count; p++) {
        Part &part = parts[p] = {};
        Sorted sorted = {count - 1, 0, {}};
        part.space.operands = count;
        for (int o = 0; o < count; o++) {
            part.space.element_bytes[o] = operands[o]->kernel_bytes();
            part.space.conversion[o] = operands[o]->conversion;
        }
        for (int d = output.rank - 1; d >= 0; d--) {
            const int64_t whole = output.sizes[d] - rest[d];
            if (p & bit[d]) add_dimension(operands, count, d, whole, rest[d], sorted, part);
            else add_dimension(operands, count, d, 0, whole, sorted, part);
        }
        merge(sorted, part.space);
    }
    return part_count;
}

int64_t element_count(const Space &space) {
    int64_t count = 1;
    for (int k = 0; k < space.rank; k++) count *= space.dims[k].size;
    return count;
}

__attribute__((cold)) int64_t stored(const Tensor &tensor, int d) {
    const int64_t block = tensor.block_sizes[d];
    return tensor.strides[d] == 0 ? 1 : (tensor.sizes[d] + block - 1) / block;
}

__attribute__((cold)) Tensor each_stored(const Tensor &tensor) {
    Tensor each = tensor;
    for (int d = 0; d < each.rank; d++) {
        each.sizes[d] = stored(tensor, d);
        each.block_sizes[d] = 1;
    }
    each.blocked = false;
    return each;
}

__attribute__((cold)) void pack_strides(Tensor &tensor) {
    // Sorts by ascending stride. std::sort is not used, because GCC 12 warns that its branch for
    // more than 16 elements reads beyond `order`, though there are never that many dimensions.
    int order[kMaxRank];
    for (int d = 0; d < tensor.rank; d++) {
        int i = d;
        for (; i > 0 && tensor.strides[order[i - 1]] > tensor.strides[d]; i--)
            order[i] = order[i - 1];
        order[i] = d;
    }
    int64_t stride = 1;
    for (int i = 0; i < tensor.rank; i++) {
        const int d = order[i];
        const int64_t elements = stored(tensor, d);
        if (tensor.strides[d] != 0) tensor.strides[d] = stride;
        stride *= elements;
    }
    tensor.bytes = uint64_t(stride) * uint64_t(tensor.element_bytes);
}

__attribute__((cold)) Space range_space(const Tensor &input) {
    const Tensor each = each_stored(input);
    Tensor bytes = lying_as(each, HEWN_DATA_TYPE_UINT8);
    pack_strides(bytes);
    const Tensor *const operands[] = {&each, &bytes};
    Part parts[kMaxParts];
    split_blocks(operands, int(std::size(operands)), parts);
    return parts[0].space;
}

}  // namespace hewn
