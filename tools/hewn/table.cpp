#include "table.h"

#include <algorithm>
#include <iterator>

#include "../../reference/types.h"
#include "array.h"

namespace hewn::cli {

const std::vector<OperatorInfo> &operator_table() {
    static const std::vector<OperatorInfo> table = operators();
    return table;
}

std::vector<DataType> types_of(const TensorInfo &tensor) {
    std::vector<DataType> types;
    for (int type = 0; type < 32; type++) {
        if (tensor.types >> type & 1) types.push_back(DataType(type));
    }
    return types;
}

DataType type_like(const TensorInfo &tensor, DataType other) {
    return tensor.like_integers && !is_float(other) ? DataType(tensor.like_integers) : other;
}

size_t input_count(const OperatorInfo &op) {
    const auto is_output = [](const TensorInfo &tensor) {
        return tensor.role == HEWN_TENSOR_ROLE_OUTPUT;
    };
    return size_t(std::find_if(op.tensors.begin(), op.tensors.end(), is_output) -
                  op.tensors.begin());
}

bool chooses_blocks(const OperatorInfo &op) {
    const size_t first = input_count(op);
    return first + 1 < op.tensors.size() && !op.tensors[first + 1].one_element;
}

int block_size_of(const OperatorInfo &op) {
#define HEWN_BLOCK_SIZE(number, elements) \
    if (op.type == number) return elements;
#include "operators.inc"
    return 0;
}

bool has_axis(const OperatorInfo &op) {
    return std::any_of(op.tensors.begin(), op.tensors.end(), [](const TensorInfo &tensor) {
        return is_parameter(tensor) && !tensor.one_element;
    });
}

const TensorInfo *scale_of_output(const OperatorInfo &op) {
    const int like = output_of(op).like;
    return like >= 0 && op.tensors[size_t(like)].role == HEWN_TENSOR_ROLE_SCALE
               ? &op.tensors[size_t(like)]
               : nullptr;
}

namespace {
// Facts about an operator that the generated table (operators.inc) has and the library's API does
// not.
struct Kernels {
    hewn_operator_type type;
    // The operator whose kernels compute this one.
    const char *of;
    // Whether any of its tensors has this property.
    bool middle, mixed;
    // The floats that the kernels of f32 compute, a bit for each.
    uint32_t as_f32;
};
const Kernels &kernels_of(const OperatorInfo &op) {
    constexpr int MIDDLE = 1, MIXED = 2;
    [[maybe_unused]] constexpr uint32_t none = 0;
#define HEWN_TYPE(word, name, number, bits) [[maybe_unused]] constexpr uint32_t word = 1u << number;
#include "types.inc"
    static constexpr Kernels all[] = {
#define HEWN_UNPACK(...) __VA_ARGS__
#define HEWN_TENSOR(name, member, role, like, integers, optional_from, one, blocks, middle, mixed, \
                    others) \
    | (middle ? MIDDLE : 0) | (mixed ? MIXED : 0)
#define HEWN_OPERATOR(name, kernels, type, directml, command, formula, onnx, in_place, wraps, \
                      one_width, as_f32, signature, tensors, ...) \
    {type, #kernels, ((0 HEWN_UNPACK tensors) & MIDDLE) != 0, \
     ((0 HEWN_UNPACK tensors) & MIXED) != 0, as_f32},
#include "operators.inc"
#undef HEWN_UNPACK
    };
    return *std::find_if(std::begin(all), std::end(all),
                         [&](const Kernels &each) { return each.type == op.type; });
}
}  // namespace

bool has_quantization_type(const OperatorInfo &op) { return kernels_of(op).middle; }
bool mixes_floats(const OperatorInfo &op) { return kernels_of(op).mixed; }

std::string kernels_name(const OperatorInfo &op) { return kernels_of(op).of; }

std::vector<std::string> words_of(const AttributeInfo &attribute) {
    return {attribute.values, attribute.values + attribute.known_count};
}

bool asks_for_any(const Attributes &attributes) {
    return std::any_of(attributes.begin(), attributes.end(), [](int32_t number) { return number; });
}

namespace {
// Whether QUANTIZE_LINEAR has a `precision`. The runtime then computes the quotients of f32, and
// the kernel gets them as its input.
bool divides(const OperatorInfo &op, const Attributes &attributes) {
    for (size_t i = 0; i < attributes.size(); i++)
        if (op.attributes[i].name == std::string("precision")) return attributes[i] != 0;
    return false;
}

// Whether kernels take the type as its code.
bool is_code(DataType type) { return hewn_test::is_code(hewn_data_type(type)); }
}  // namespace

std::string kernel_name(const OperatorInfo &op, const std::vector<DataType> &types,
                        const Attributes &attributes) {
    std::string name = kernels_name(op);
    // The kernels of f32 compute everything that is converted to f32: quotients, mixed floats,
    // those of `as_f32`, and integers that become small floats.
    const DataType output = types.at(input_count(op));
    const bool integers = divides(op, attributes) || is_code(output);
    bool converts = divides(op, attributes) || (!is_float(types.front()) && is_code(output));
    for (size_t i = 0; i < op.tensors.size(); i++) {
        const TensorInfo &tensor = op.tensors[i];
        const bool mixed = mixes_floats(op) && tensor.like >= 0 && is_float(types.at(i)) &&
                           types.at(i) != type_like(tensor, types.at(size_t(tensor.like)));
        converts |= mixed || kernels_of(op).as_f32 >> uint32_t(types.at(i)) & 1;
    }
    for (size_t i = 0; i < op.tensors.size(); i++) {
        if (!op.tensors[i].in_signature) continue;
        DataType type = types.at(i);
        const bool converted =
            converts && !is_code(type) &&
            (is_float(type) || (integers && op.tensors[i].role == HEWN_TENSOR_ROLE_DATA));
        if (converted) type = DataType::FLOAT32;
        // A kernel takes sub-byte types as 8-bit ones.
        std::string word(is_code(type) ? "f8" : type_name(file_type(type)));
        if (op.unsigned_as_signed && word[0] == 'u') word[0] = 'i';
        name += "_" + word;
    }
    return name;
}

}  // namespace hewn::cli
