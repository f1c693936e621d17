#include "table.h"

#include <algorithm>
#include <iterator>

namespace hewn_ort {

namespace {

constexpr struct {
    ONNXTensorElementDataType onnx;
    hewn_data_type hewn;
} kTypes[] = {{ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, HEWN_DATA_TYPE_FLOAT32},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, HEWN_DATA_TYPE_FLOAT16},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, HEWN_DATA_TYPE_UINT8},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, HEWN_DATA_TYPE_INT8},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, HEWN_DATA_TYPE_UINT16},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, HEWN_DATA_TYPE_INT16},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, HEWN_DATA_TYPE_UINT32},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, HEWN_DATA_TYPE_INT32},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, HEWN_DATA_TYPE_UINT64},
              {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, HEWN_DATA_TYPE_INT64}};

// "ai.onnx.QuantizeLinear": ONNX's own domain has no name in a model.
Operator read_operator(uint32_t index) {
    hewn_operator_info info = {};
    info.struct_size = sizeof info;
    hewn_get_operator(index, HEWN_FEATURE_LEVEL_NEWEST, &info);
    const std::string full = info.onnx_name;
    const size_t dot = full.rfind('.');
    Operator op = {info.type,          full.substr(0, dot),   full.substr(dot + 1),
                   info.in_place != 0, info.tensor_count - 1, {}};
    if (op.domain == "ai.onnx") op.domain.clear();
    for (uint32_t t = 0; t < info.tensor_count; t++) {
        op.tensors[t].struct_size = sizeof op.tensors[t];
        hewn_get_operator_tensor(index, t, HEWN_FEATURE_LEVEL_NEWEST, &op.tensors[t]);
    }
    return op;
}

constexpr const char *kMicrosoft = "com.microsoft";

bool is_linear(const std::string &name) {
    return name == "QuantizeLinear" || name == "DequantizeLinear";
}

std::vector<Operator> read_operators() {
    std::vector<Operator> all;
    for (uint32_t i = 0; i < hewn_operator_count(); i++) {
        Operator op = read_operator(i);
        all.push_back(op);
        // com.microsoft has these too, for fewer types.
        if (!op.domain.empty() || !is_linear(op.name)) continue;
        op.domain = kMicrosoft;
        all.push_back(op);
    }
    return all;
}

}  // namespace

const std::vector<Operator> &operators() {
    static const std::vector<Operator> all = read_operators();
    return all;
}

const Operator &operator_of(hewn_operator_type type) {
    return *std::find_if(operators().begin(), operators().end(),
                         [&](const Operator &op) { return op.type == type; });
}

const std::vector<int> &known_versions(const std::string &domain, const std::string &name) {
    static const std::vector<int> linear = {10, 13, 19, 21, 23, 24, 25, 28}, sum = {7, 13, 14},
                                  contributed = {1}, none;
    if (domain == kMicrosoft) return contributed;
    return is_linear(name) ? linear : name == "Add" || name == "Mul" ? sum : none;
}

hewn_data_type hewn_type(ONNXTensorElementDataType type) {
    for (const auto &known : kTypes) {
        if (known.onnx == type) return known.hewn;
    }
    return HEWN_DATA_TYPE_UNKNOWN;
}

uint64_t bytes_of(hewn_data_type type) {
    const hewn_tensor_desc one = {sizeof one, type, 0, nullptr, nullptr};
    uint64_t bytes = 0;
    hewn_tensor_size(&one, &bytes, nullptr);
    return bytes;
}

// Compiles it of one element: no rule of hewn's is said again here.
bool computes(const Operator &op, const Types &types, const std::string &target) {
    AnyDesc desc = {uint32_t((op.inputs + 2) * sizeof(void *)), {}};
    hewn_tensor_desc tensors[kMaxTensors];
    for (size_t t = 0; t <= op.inputs; t++) {
        tensors[t] = {sizeof tensors[t], types[t], 0, nullptr, nullptr};
        if (types[t] != HEWN_DATA_TYPE_UNKNOWN) desc.tensors[t] = &tensors[t];
    }
    const hewn_operator_desc wrapped = {sizeof wrapped, op.type, &desc};
    hewn_compile_options options = {};
    options.struct_size = sizeof options;
    options.variant = target.c_str();
    hewn_operator *compiled = nullptr;
    hewn_compile(nullptr, &wrapped, &options, &compiled, nullptr);
    hewn_destroy_operator(compiled);
    return compiled;
}

const Operator *operator_for(const NodeFacts &node, const std::string &target) {
    const std::vector<int> &versions = known_versions(node.domain, node.name);
    const auto op =
        std::find_if(operators().begin(), operators().end(), [&](const Operator &known) {
            return known.domain == node.domain && known.name == node.name;
        });
    const bool meant =
        std::count(versions.begin(), versions.end(), node.version) &&
        // hewn divides in f32, whatever the scale's type
        (node.precision == 0 || node.precision == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
    if (op == operators().end() || !meant || node.outputs.size() != 1) return nullptr;
    if (node.inputs.size() > op->inputs) return nullptr;
    Types types = {};
    for (size_t i = 0; i < node.inputs.size(); i++) {
        types[i] = node.inputs[i];
        if (node.present[i] && types[i] == HEWN_DATA_TYPE_UNKNOWN) return nullptr;
    }
    types[op->inputs] = node.outputs[0];
    return computes(*op, types, target) ? &*op : nullptr;
}

}  // namespace hewn_ort
