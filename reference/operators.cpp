#include "operators.h"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace hewn_test {

namespace {
namespace table {  // a namespace of its own, as the table's words would hide other names

constexpr Role data = Role::data, scale = Role::scale, zero_point = Role::zero_point,
               output = Role::output;
constexpr hewn_data_type type_none = HEWN_DATA_TYPE_UNKNOWN;
constexpr uint32_t none = 0;
#define HEWN_TYPE(word, name, number, bits) \
    [[maybe_unused]] constexpr hewn_data_type type_##word = number; \
    [[maybe_unused]] constexpr uint32_t word = 1u << number;
#include "types.inc"

struct Level {
    int number, least, most;
    std::vector<uint32_t> types;
};

DataTypes types_in(uint32_t mask) {
    DataTypes types;
    for (int type = 0; type < 32; type++) {
        if (mask >> type & 1) types.push_back(type);
    }
    return types;
}

OperatorFacts at_newest(OperatorFacts facts, const std::vector<Level> &levels) {
    for (size_t t = 0; t < facts.tensors.size(); t++)
        facts.tensors[t].newest = types_in(levels.front().types.at(t));
#define HEWN_VALUE(word, ...) #word,
#define HEWN_ATTRIBUTE(op, number, attribute, c_type, of, why, computed, values) \
    if (facts.type == number) { \
        facts.attributes.push_back({#attribute, {values}, of}); \
        facts.attributes.back().words.resize(computed); \
    }
#include "attributes.inc"
    return facts;
}

std::vector<OperatorFacts> read() {
#define HEWN_UNPACK(...) __VA_ARGS__
#define HEWN_TENSOR(name, member, role, like, integers, optional_from, one_element, blocks, \
                    middle, mixed, others) \
    {#name, role, like, type_##integers, one_element, blocks, mixed, types_in(others), {}},
#define HEWN_LEVEL(number, least, most, ...) {number, least, most, {__VA_ARGS__}},
#define HEWN_OPERATOR(name, kernels, type, directml, command, formula, onnx, in_place, wraps, \
                      one_width, as_f32, signature, tensors, levels) \
    at_newest({type, \
               #name, \
               #kernels, \
               in_place, \
               wraps, \
               one_width, \
               types_in(as_f32), \
               {HEWN_UNPACK tensors}, \
               {HEWN_UNPACK signature}, \
               {}}, \
              {HEWN_UNPACK levels}),
    return {
#include "operators.inc"
    };
#undef HEWN_UNPACK
}
}  // namespace table
}  // namespace

size_t OperatorFacts::inputs() const {
    return size_t(std::count_if(tensors.begin(), tensors.end(), [](const TensorFacts &tensor) {
        return tensor.role != Role::output;
    }));
}

bool OperatorFacts::has_scalars() const {
    return std::any_of(tensors.begin(), tensors.end(),
                       [](const TensorFacts &tensor) { return tensor.one_element; });
}

bool OperatorFacts::takes(const DataTypes &types) const {
    for (size_t t = 0; t < tensors.size(); t++) {
        const DataTypes &newest = tensors[t].newest;
        if (tensors[t].like < 0 && !std::count(newest.begin(), newest.end(), types.at(t)))
            return false;
    }
    return true;
}

std::vector<int32_t> OperatorFacts::attributes_of(const std::vector<std::string> &words,
                                                  float number) const {
    std::vector<int32_t> numbers;
    int32_t chosen = 0;
    size_t next = 0;
    for (const AttributeFacts &attribute : attributes) {
        int32_t value = 0;
        if (attribute.of) {
            if (attribute.of >> chosen & 1) std::memcpy(&value, &number, sizeof value);
        } else if (next < words.size()) {
            const auto found =
                std::find(attribute.words.begin(), attribute.words.end(), words[next++]);
            if (found == attribute.words.end())
                throw std::logic_error(attribute.name + " has no value " + words[next - 1]);
            value = chosen = int32_t(found - attribute.words.begin());
        }
        numbers.push_back(value);
    }
    return numbers;
}

bool OperatorFacts::has_whole_blocks() const {
    return std::any_of(tensors.begin(), tensors.end(),
                       [](const TensorFacts &tensor) { return tensor.whole_blocks; });
}

bool OperatorFacts::is_linear() const {
    return inputs() == 3 && !has_scalars() && tensors[0].role == Role::data &&
           tensors[1].role == Role::scale && tensors[2].role == Role::zero_point;
}

const std::vector<OperatorFacts> &all_operators() {
    static const std::vector<OperatorFacts> all = table::read();
    return all;
}

const OperatorFacts &facts(hewn_operator_type type) {
    for (const OperatorFacts &op : all_operators()) {
        if (op.type == type) return op;
    }
    throw std::logic_error("no operator has the number " + std::to_string(type));
}

const OperatorFacts &facts(const std::string &name) {
    for (const OperatorFacts &op : all_operators()) {
        if (op.name == name) return op;
    }
    throw std::logic_error("no operator is called " + name);
}

DataTypes operand_types(const OperatorFacts &op, const std::string &signature) {
    DataTypes types(op.tensors.size());
    std::istringstream words(signature);
    std::string word;
    for (const size_t t : op.signature) {
        if (!std::getline(words, word, '_'))
            throw std::logic_error(op.name + ": a signature of too few types: " + signature);
        types[t] = parse_type(word);
        // Kernels of codes serve small floats that are packed, too, and NVFP4 has only those.
        const DataTypes &newest = op.tensors[t].newest;
        if (is_code(types[t]) && std::count(newest.begin(), newest.end(), types[t]) == 0)
            types[t] = newest.at(0);
        // The tensor that this one is like has the same type, unless the signature names it too.
        const int like = op.tensors[t].like;
        if (like >= 0 && !types[size_t(like)]) types[size_t(like)] = types[t];
    }
    for (size_t t = 0; t < types.size(); t++) {
        const TensorFacts &tensor = op.tensors[t];
        if (!types[t] && tensor.like < 0) types[t] = tensor.newest.at(0);
    }
    for (size_t t = 0; t < types.size(); t++) {
        const TensorFacts &tensor = op.tensors[t];
        if (types[t]) continue;
        const hewn_data_type like = types[size_t(tensor.like)];
        types[t] = tensor.integers && !is_wide_float_type(like) ? tensor.integers : like;
    }
    return types;
}
DataTypes operand_types(hewn_operator_type op, const std::string &signature) {
    return operand_types(facts(op), signature);
}

Description::Description(hewn_operator_type type, TensorDescs tensors,
                         const std::vector<int32_t> &attributes)
    : tensors_(std::move(tensors)), own_(1) {
    for (const auto &tensor : tensors_) own_.push_back(tensor ? &*tensor : nullptr);
    const size_t behind = own_.size(), bytes = attributes.size() * sizeof attributes[0];
    own_.resize(behind + (bytes + sizeof own_[0] - 1) / sizeof own_[0]);
    if (bytes > 0) std::memcpy(&own_[behind], attributes.data(), bytes);
    const uint32_t struct_size = uint32_t(own_.size() * sizeof own_[0]);
    std::memcpy(own_.data(), &struct_size, sizeof struct_size);
    desc_ = {sizeof(hewn_operator_desc), type, own_.data()};
}

}  // namespace hewn_test
