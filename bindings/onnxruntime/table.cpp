#include "table.h"

#include <algorithm>
#include <cstring>

namespace hewn_ort {

namespace {

constexpr struct {
    ONNXTensorElementDataType onnx;
    hewn_data_type hewn;
} kTypes[] = {{ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, HEWN_DATA_TYPE_FLOAT32},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, HEWN_DATA_TYPE_FLOAT16},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, HEWN_DATA_TYPE_BFLOAT16},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, HEWN_DATA_TYPE_UINT8},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, HEWN_DATA_TYPE_INT8},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, HEWN_DATA_TYPE_UINT16},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, HEWN_DATA_TYPE_INT16},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, HEWN_DATA_TYPE_UINT32},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, HEWN_DATA_TYPE_INT32},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, HEWN_DATA_TYPE_UINT64},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, HEWN_DATA_TYPE_INT64},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4, HEWN_DATA_TYPE_UINT4},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4, HEWN_DATA_TYPE_INT4},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2, HEWN_DATA_TYPE_UINT2},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2, HEWN_DATA_TYPE_INT2},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN, HEWN_DATA_TYPE_FLOAT8E4M3FN},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ, HEWN_DATA_TYPE_FLOAT8E4M3FNUZ},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2, HEWN_DATA_TYPE_FLOAT8E5M2},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ, HEWN_DATA_TYPE_FLOAT8E5M2FNUZ},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0, HEWN_DATA_TYPE_FLOAT8E8M0},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1, HEWN_DATA_TYPE_FLOAT4E2M1}};

// The number of an operator in the table of this build of hewn; none, if the build lacks it.
std::optional<uint32_t> index_of(hewn_operator_type type, hewn_operator_info &info) {
    info.struct_size = sizeof info;
    for (uint32_t i = 0; i < hewn_operator_count(); i++) {
        hewn_get_operator(i, HEWN_FEATURE_LEVEL_NEWEST, &info);
        if (info.type == type) return i;
    }
    return std::nullopt;
}

// Adds an ONNX operator, if this build has hewn's operator for it.
void add_operator(std::vector<Operator> &all, hewn_operator_type type, std::string domain,
                  std::string name, bool between, std::vector<int> versions) {
    hewn_operator_info info = {};
    const std::optional<uint32_t> found = index_of(type, info);
    if (!found) return;
    const uint32_t index = *found;
    if (domain == "ai.onnx") domain.clear();  // as models have it
    Operator op = {type,
                   std::move(domain),
                   std::move(name),
                   std::move(versions),
                   between,
                   info.in_place != 0,
                   0,
                   0,
                   {}};
    for (uint32_t t = 0; t < info.tensor_count; t++) {
        op.tensors[t].struct_size = sizeof op.tensors[t];
        hewn_get_operator_tensor(index, t, HEWN_FEATURE_LEVEL_NEWEST, &op.tensors[t]);
        (op.tensors[t].role == HEWN_TENSOR_ROLE_OUTPUT ? op.outputs : op.inputs)++;
    }
    all.push_back(std::move(op));
}

}  // namespace

const std::vector<Operator> &operators() {
    static const std::vector<Operator> all = [] {
        std::vector<Operator> read;
#define HEWN_ONNX_NODE(type, domain, name, between, ...) \
    add_operator(read, type, domain, name, between, {__VA_ARGS__});
#include "onnx.inc"
        return read;
    }();
    return all;
}

const Operator &operator_of(hewn_operator_type type) {
    return *std::find_if(operators().begin(), operators().end(),
                         [&](const Operator &op) { return op.type == type && !op.between; });
}

const Operator *find_operator(const NodeFacts &node, bool between) {
    for (const Operator &op : operators()) {
        if (op.between == between && op.domain == node.domain && op.name == node.name &&
            std::count(op.versions.begin(), op.versions.end(), node.version))
            return &op;
    }
    return nullptr;
}

hewn_data_type hewn_type(ONNXTensorElementDataType type) {
    for (const auto &known : kTypes) {
        if (known.onnx == type) return known.hewn;
    }
    return HEWN_DATA_TYPE_UNKNOWN;
}

void set_defaults_by_type(NodeFacts &node) {
    std::optional<int64_t> &precision = node.attributes.at("precision");
    if (precision == 0) precision.reset();  // ONNX's number for the default
    if (!node.is("QuantizeLinear") || node.version < 23 || precision) return;
    if (node.input(1) == HEWN_DATA_TYPE_FLOAT8E8M0) return;
    for (const auto &known : kTypes) {
        if (known.hewn == node.input(1)) precision = known.onnx;
    }
}

uint64_t bytes_of(hewn_data_type type, int64_t elements) {
    const hewn_tensor_desc dense = {sizeof dense, type, 1, &elements, nullptr};
    uint64_t bytes = 0;
    hewn_tensor_size(&dense, &bytes, nullptr);
    return bytes;  // hewn_tensor_size() refuses 0 elements, and leaves 0 bytes
}

namespace {

// An attribute of one of hewn's operators that ONNX has, too, with ONNX's numbers of its values,
// the default first. An operator's attributes of this kind come before its others.
struct Attribute {
    hewn_operator_type type;
    std::string name;
    std::vector<int64_t> values;
};
const std::vector<Attribute> &attributes_of_table() {
    static const std::vector<Attribute> all = [] {
        std::vector<Attribute> of_onnx;
        for (const Attribute &attribute : {
#define HEWN_VALUE(word, name, onnx, level) onnx,
#define HEWN_ATTRIBUTE(op, number, attribute, type, of, why, computed, values) \
    Attribute{number, #attribute, {values}},
#include "attributes.inc"
             }) {
            const bool has_numbers = !attribute.values.empty() && attribute.values.front() >= 0;
            if (has_numbers) of_onnx.push_back(attribute);
        }
        return of_onnx;
    }();
    return all;
}

}  // namespace

const Attributes &no_attributes() {
    static const Attributes none = [] {
        Attributes names;
        for (const Attribute &attribute : attributes_of_table()) names[attribute.name] = {};
        return names;
    }();
    return none;
}

bool asks_for_any(const Attributes &attributes, std::string_view ignored) {
    return std::any_of(attributes_of_table().begin(), attributes_of_table().end(),
                       [&](const Attribute &attribute) {
                           const std::optional<int64_t> value = attributes.at(attribute.name);
                           return attribute.name != ignored && value &&
                                  value != attribute.values.front();
                       });
}

std::optional<std::vector<int32_t>> numbers_of(const Operator &op, const Attributes &attributes) {
    std::vector<int32_t> numbers;
    for (const Attribute &attribute : attributes_of_table()) {
        if (attribute.type != op.type) continue;
        const auto &values = attribute.values;
        const int64_t given = attributes.at(attribute.name).value_or(values.front());
        const auto found = std::find(values.begin(), values.end(), given);
        if (found == values.end()) return {};
        numbers.push_back(int32_t(found - values.begin()));
    }
    return numbers;
}

AnyDesc::AnyDesc(const Operator &op, const std::vector<int32_t> &attributes)
    : desc_{sizeof(hewn_operator_desc), op.type, words_} {
    const size_t behind = op.tensor_count() + 1, bytes = attributes.size() * sizeof attributes[0];
    const auto struct_size =
        uint32_t((behind + (bytes + sizeof words_[0] - 1) / sizeof words_[0]) * sizeof words_[0]);
    std::memcpy(words_, &struct_size, sizeof struct_size);
    if (bytes > 0) std::memcpy(&words_[behind], attributes.data(), bytes);
}

// Compiles the operator for one element, so that no rule of hewn's is repeated here.
bool computes(const Operator &op, const Types &types, const std::string &target,
              const std::vector<int32_t> &attributes) {
    AnyDesc desc(op, attributes);
    hewn_tensor_desc tensors[kMaxTensors];
    for (size_t t = 0; t < op.tensor_count(); t++) {
        tensors[t] = {sizeof tensors[t], types[t], 0, nullptr, nullptr, nullptr};
        if (types[t] != HEWN_DATA_TYPE_UNKNOWN) desc.set(t, tensors[t]);
    }
    hewn_compile_options options = {};
    options.struct_size = sizeof options;
    options.variant = target.c_str();
    hewn_operator *compiled = nullptr;
    hewn_compile(nullptr, desc.get(), &options, &compiled, nullptr);
    hewn_destroy_operator(compiled);
    return compiled;
}

const Operator *operator_for(const NodeFacts &node, const std::string &target) {
    const Operator *const op = find_operator(node, false);
    if (!op || node.outputs.size() != op->outputs || node.inputs.size() > op->inputs)
        return nullptr;
    const auto attributes = numbers_of(*op, node.attributes);
    if (!attributes) return nullptr;
    Types types = {};
    for (size_t i = 0; i < node.inputs.size(); i++) {
        types[i] = node.inputs[i];
        if (node.present[i] && types[i] == HEWN_DATA_TYPE_UNKNOWN) return nullptr;
    }
    std::copy(node.outputs.begin(), node.outputs.end(), types.begin() + op->inputs);
    return computes(*op, types, target, *attributes) ? op : nullptr;
}

}  // namespace hewn_ort
