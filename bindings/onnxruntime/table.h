// hewn's operators in ONNX's words: which nodes they may compute.
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

// The tensors of the operator that has the most, with room.
constexpr size_t kMaxTensors = 16;
using Types = std::array<hewn_data_type, kMaxTensors>;  // UNKNOWN: absent, or none of hewn's

// By name, ONNX's numbers of the attributes that hewn's operators have as well.
using Attributes = std::map<std::string, int64_t>;
// All that are none of a node's are 0.
const Attributes &no_attributes();

// One of hewn's operators as a node of ONNX's.
struct Operator {
    hewn_operator_type type;
    std::string domain, name;   // ONNX's: "" and "QuantizeLinear"
    std::vector<int> versions;  // whose meaning is that of hewn's
    bool between;               // the operator is this node between linear ones (see graph.cpp)
    bool in_place;
    size_t inputs, outputs;  // in ONNX's order, which is hewn's
    std::array<hewn_operator_tensor_info, kMaxTensors> tensors;

    size_t tensor_count() const { return inputs + outputs; }
    bool is_data(size_t i) const { return tensors[i].role == HEWN_TENSOR_ROLE_DATA; }
    bool is_output(size_t i) const { return i >= inputs; }
    // One element, whatever the others' sizes: the scale and zero point that an operator computes.
    bool is_computed_parameter(size_t i) const { return is_output(i) && tensors[i].one_element; }
    // A scale or zero point that may have more than one element.
    bool is_sized_parameter(size_t i) const {
        return !is_data(i) && !is_output(i) && !tensors[i].one_element;
    }
};
const std::vector<Operator> &operators();
const Operator &operator_of(hewn_operator_type type);  // as one node

// A node of a model, as far as it decides whether hewn computes it.
struct NodeFacts {
    std::string domain, name;
    int version = 0;  // the opset that brought its meaning
    std::vector<hewn_data_type> inputs, outputs;
    std::vector<bool> present;  // inputs
    int64_t axis = 1, block_size = 0;
    Attributes attributes = no_attributes();

    bool is(std::string_view type) const { return domain.empty() && name == type; }
    hewn_data_type input(size_t i) const {
        return i < inputs.size() ? inputs[i] : hewn_data_type(HEWN_DATA_TYPE_UNKNOWN);
    }
};

// Sets the attributes that are absent and whose default is not a constant: from opset 23 on the
// precision of QuantizeLinear's division is the type of its scale.
void set_defaults_by_type(NodeFacts &node);

// The operator of this node, by itself or between others; null: hewn has none of its version.
const Operator *find_operator(const NodeFacts &node, bool between);

// The operator that computes a node; null: none. `target`: as hewn_compile_options::variant.
const Operator *operator_for(const NodeFacts &node, const std::string &target);
// Whether a node has an attribute that is not the default of hewn's operators.
bool asks_for_any(const Attributes &attributes);
// Whether hewn has this operator of these types on this machine. Types of absent inputs: UNKNOWN.
bool computes(const Operator &op, const Types &types, const std::string &target,
              const std::vector<int32_t> &attributes = {});
// hewn's numbers of the operator's attributes, in its order, from ONNX's; nothing: one has a value
// that hewn's has not.
std::optional<std::vector<int32_t>> numbers_of(const Operator &op, const Attributes &attributes);

// The description of any operator: behind the tensors' places are the attributes.
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

hewn_data_type hewn_type(ONNXTensorElementDataType type);  // UNKNOWN: hewn has none
uint64_t bytes_of(hewn_data_type type, int64_t elements);  // packed, if the type is

}  // namespace hewn_ort
