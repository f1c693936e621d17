#include "table.h"

#include <algorithm>

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

bool has_axis(const OperatorInfo &op) {
    return std::any_of(op.tensors.begin(), op.tensors.end(), [](const TensorInfo &tensor) {
        return is_parameter(tensor) && !tensor.one_element;
    });
}

const TensorInfo *scale_of_output(const OperatorInfo &op) {
    const int like = op.tensors.back().like;
    return like >= 0 && op.tensors[size_t(like)].role == HEWN_TENSOR_ROLE_SCALE
               ? &op.tensors[size_t(like)]
               : nullptr;
}

namespace {
// What the generated table has and the library's own does not tell.
struct Kernels {
    hewn_operator_type type;
    const char *of;
    bool middle;  // for an absent zero point
};
const Kernels &kernels_of(const OperatorInfo &op) {
    static const std::vector<Kernels> all = {
#define HEWN_UNPACK(...) __VA_ARGS__
#define HEWN_TENSOR(name, member, role, like, integers, optional_from, one, blocks, middle) \
    || middle
#define HEWN_OPERATOR(name, kernels, type, directml, command, formula, onnx, in_place, wraps, \
                      one_width, signature, tensors, ...) \
    {type, #kernels, false HEWN_UNPACK tensors},
#include "operators.inc"
#undef HEWN_UNPACK
    };
    return *std::find_if(all.begin(), all.end(),
                         [&](const Kernels &each) { return each.type == op.type; });
}
}  // namespace

bool has_quantization_type(const OperatorInfo &op) { return kernels_of(op).middle; }

std::string kernel_name(const OperatorInfo &op, const std::vector<DataType> &types) {
    std::string name = kernels_of(op).of;
    for (size_t i = 0; i < op.tensors.size(); i++) {
        if (!op.tensors[i].in_signature) continue;
        std::string word(type_name(file_type(types.at(i))));  // whose kernels packed types have
        if (op.unsigned_as_signed && word[0] == 'u') word[0] = 'i';
        name += "_" + word;
    }
    return name;
}

}  // namespace hewn::cli
