// What is known of the operators without their elements' types, and their descriptions.
#pragma once

#include <hewn/hewn.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "types.h"

namespace hewn_test {

using DataTypes = std::vector<hewn_data_type>;
using TensorDescs = std::vector<std::optional<hewn_tensor_desc>>;  // no value: absent

// What a tensor is: an input's elements to compute with, what quantizes those or the output's, or
// the output.
enum class Role { data, scale, zero_point, output };

// A tensor in the operator table.
struct TensorFacts {
    std::string name;  // DirectML's: "ScaleTensor"
    Role role;
    int like;                 // the tensor whose type it has; -1: none
    hewn_data_type integers;  // its type instead where that is an integer's; UNKNOWN: none
    bool one_element;         // whatever the data's sizes
    bool whole_blocks;        // its blocks divide the data's sizes
    bool mixed;               // of floats, any
    DataTypes
        newest;  // the types that the newest feature level allows a tensor that is like no other
};

// An operator in the table: lists/operators.py.
struct OperatorFacts {
    hewn_operator_type type;
    std::string name;
    std::string kernels;               // the operator whose kernels compute it
    bool in_place;                     // the output may lie on an input
    bool wraps;                        // kernels of signed types serve the unsigned ones
    bool one_width;                    // the types of a signature have one width
    std::vector<TensorFacts> tensors;  // in DirectML's order, the outputs last
    std::vector<size_t> signature;     // the tensors whose types its words are

    size_t inputs() const;
    // It has one output, each of whose elements follows from the inputs' elements at its place.
    bool is_elementwise() const { return inputs() + 1 == tensors.size(); }
    bool is_parameter(size_t tensor) const {
        return tensors[tensor].role == Role::scale || tensors[tensor].role == Role::zero_point;
    }
    bool is_scale(size_t tensor) const { return tensors[tensor].role == Role::scale; }
    bool is_one_element(size_t tensor) const { return tensors[tensor].one_element; }
    // Whether its tensors may have these types.
    bool takes(const DataTypes &types) const;
    // Its blocks divide the data's sizes.
    bool has_whole_blocks() const;
    // Its scales and zero points are one element each.
    bool has_scalars() const;
    // Linear, from numbers to quantized ones.
    bool quantizes() const { return is_linear() && tensors[inputs()].like < 0; }
    // One tensor with a scale and a zero point that may differ between its elements.
    bool is_linear() const;
};

const std::vector<OperatorFacts> &all_operators();
// Throw std::logic_error where there is none.
const OperatorFacts &facts(hewn_operator_type type);
const OperatorFacts &facts(const std::string &name);

inline hewn_operator_type parse_operator(const std::string &name) { return facts(name).type; }

// The types of an operator's tensors in DirectML's order, output last, for a signature such as
// "f32_u8".
DataTypes operand_types(const OperatorFacts &op, const std::string &signature);
DataTypes operand_types(hewn_operator_type op, const std::string &signature);

// An operator's description with its tensors in DirectML's order, output last, and its first
// attributes. The tensors' sizes and strides stay the caller's.
class Description {
public:
    Description(hewn_operator_type type, TensorDescs tensors,
                const std::vector<int32_t> &attributes = {});
    // A move takes the tensors along where they lie; a copy's pointers would be to the original's.
    Description(Description &&) = default;

    const hewn_operator_desc *get() const { return &desc_; }

private:
    TensorDescs tensors_;
    std::vector<const void *>
        own_;  // the operator's own description: its struct_size, pointers to them, attributes
    hewn_operator_desc desc_;
};

}  // namespace hewn_test
