// What is known of the operators without their elements' types, and their descriptions.
#ifndef HEWN_REFERENCE_OPERATORS_H
#define HEWN_REFERENCE_OPERATORS_H

#include <hewn/hewn.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "types.h"

namespace hewn_test {

// What an operator's input is: elements to compute with, or what quantizes those or the output's.
enum class Role { data, scale, zero_point };

using DataTypes = std::vector<hewn_data_type>;
using TensorDescs = std::vector<std::optional<hewn_tensor_desc>>;  // no value: absent
using TensorPointers = std::vector<const hewn_tensor_desc *>;      // null: absent

// The members of an operator's class (truth.h).
struct OperatorFacts {
    hewn_operator_type type;
    std::string name;
    std::vector<Role> roles;
    bool one_element;
    DataTypes (*types)(const DataTypes &signature);

    // Of a tensor by its place in DirectML's order, the output's too.
    bool is_parameter(size_t tensor) const { return tensor < roles.size() && roles[tensor] != Role::data; }
    // A parameter that is one element whatever the data's sizes.
    bool is_one_element(size_t tensor) const { return one_element && is_parameter(tensor); }
    // One tensor with a scale and a zero point that may differ between its elements.
    bool is_linear() const { return !one_element && roles == std::vector<Role>{Role::data, Role::scale, Role::zero_point}; }
};

const std::vector<OperatorFacts> &all_operators();
// Throw std::logic_error where there is none.
const OperatorFacts &facts(hewn_operator_type type);
const OperatorFacts &facts(const std::string &name);

inline hewn_operator_type parse_operator(const std::string &name) { return facts(name).type; }

// The types of an operator's tensors in DirectML's order, output last, for a signature such as "f32_u8".
DataTypes operand_types(const OperatorFacts &op, const std::string &signature);
DataTypes operand_types(hewn_operator_type op, const std::string &signature);

// An operator's description with its tensors in DirectML's order, output last. Their sizes and strides stay the caller's.
class Description {
public:
    Description(hewn_operator_type type, TensorDescs tensors);
    // A move takes the tensors along where they lie; a copy's pointers would be to the original's.
    Description(Description &&) = default;

    const hewn_operator_desc *get() const { return &desc_; }

private:
    TensorDescs tensors_;
    std::shared_ptr<const void> own_;  // the operator's own description, of pointers to them
    hewn_operator_desc desc_;
};

}  // namespace hewn_test

#endif  // HEWN_REFERENCE_OPERATORS_H
