// hewn's operators as ONNX's nodes: which operator computes a node, and whether hewn has a kernel
// for its types. The list comes from lists/onnx_nodes.py; the facts about tensors and attributes
// come from the library's operator table.
#pragma once

#include <hewn/hewn.h>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnxruntime_abi.h"

namespace hewn_ort {

// More than the tensors of any operator.
constexpr size_t kMaxTensors = 16;
// The types of an operator's tensors. UNKNOWN: the tensor is absent, or hewn does not have its
// type.
using Types = std::array<hewn_data_type, kMaxTensors>;

// A node's values of the attributes that hewn's operators have too: ONNX's numbers, by name.
// Nothing if the node does not have the attribute.
using Attributes = std::map<std::string, std::optional<int64_t>>;
// All attributes, without values.
const Attributes &no_attributes();

// One of hewn's operators as a node of ONNX's.
struct Operator {
    hewn_operator_type type;
    // ONNX's names: "" and "QuantizeLinear".
    std::string domain, name;
    // The versions of the node that hewn's operator computes.
    std::vector<int> versions;
    // Whether the operator computes this node together with DequantizeLinear before it and
    // QuantizeLinear after it (Group in graph.cpp).
    bool between;
    bool in_place;
    // Their numbers. The order is the same in ONNX and in hewn.
    size_t inputs, outputs;
    std::array<hewn_operator_tensor_info, kMaxTensors> tensors;

    size_t tensor_count() const { return inputs + outputs; }
    bool is_data(size_t i) const { return tensors[i].role == HEWN_TENSOR_ROLE_DATA; }
    bool is_output(size_t i) const { return i >= inputs; }
    // Whether it is a scale or zero point that the operator computes. It has one element.
    bool is_computed_parameter(size_t i) const { return is_output(i) && tensors[i].one_element; }
    // Whether it is a scale or zero point that may have more than one element.
    bool is_sized_parameter(size_t i) const {
        return !is_data(i) && !is_output(i) && !tensors[i].one_element;
    }
};
const std::vector<Operator> &operators();
// The operator as a single node.
const Operator &operator_of(hewn_operator_type type);

// The facts about a model's node that decide whether hewn computes it.
struct NodeFacts {
    std::string domain, name;
    // The opset that introduced this version of the node.
    int version = 0;
    // The types. UNKNOWN: hewn does not have the type, or the input is absent.
    std::vector<hewn_data_type> inputs, outputs;
    // Whether each input is present.
    std::vector<bool> present;
    int64_t axis = 1, block_size = 0;
    Attributes attributes = no_attributes();

    bool is(std::string_view type) const { return domain.empty() && name == type; }
    hewn_data_type input(size_t i) const {
        return i < inputs.size() ? inputs[i] : hewn_data_type(HEWN_DATA_TYPE_UNKNOWN);
    }
};

// Sets absent attributes whose default depends on a type: from opset 23 on, the default precision
// of QuantizeLinear's division is the type of its scale. It is f32 for a scale of float8e8m0, in
// which no quotient can be expressed.
void set_defaults_by_type(NodeFacts &node);

// The operator for a node of this name and version, as Operator::between says. Null if hewn has
// none.
const Operator *find_operator(const NodeFacts &node, bool between);

// The operator that computes the node by itself. Null if hewn cannot compute it. `target` is as
// hewn_compile_options::variant.
const Operator *operator_for(const NodeFacts &node, const std::string &target);
// Whether an attribute other than `ignored` has a value other than the default of hewn's operators.
bool asks_for_any(const Attributes &attributes, std::string_view ignored);
// Whether hewn can compute the operator with these types on this machine. The type of an absent
// input is UNKNOWN.
bool computes(const Operator &op, const Types &types, const std::string &target,
              const std::vector<int32_t> &attributes = {});
// hewn's numbers of the operator's attributes, in its order, made from ONNX's. Nothing if hewn does
// not have a value.
std::optional<std::vector<int32_t>> numbers_of(const Operator &op, const Attributes &attributes);

// The description of any operator. Its struct has the size, a pointer for each tensor, and then the
// attributes.
class AnyDesc {
public:
    AnyDesc(const Operator &op, const std::vector<int32_t> &attributes);
    AnyDesc(const AnyDesc &) = delete;
    AnyDesc &operator=(const AnyDesc &) = delete;

    void set(size_t tensor, const hewn_tensor_desc &desc) { words_[1 + tensor] = &desc; }
    const hewn_operator_desc *get() const { return &desc_; }

private:
    const void *words_[2 * kMaxTensors] = {};
    const hewn_operator_desc desc_;
};

// UNKNOWN if hewn does not have the type.
hewn_data_type hewn_type(ONNXTensorElementDataType type);
// The bytes of this many contiguous elements. Elements of sub-byte types share bytes.
uint64_t bytes_of(hewn_data_type type, int64_t elements);

}  // namespace hewn_ort
