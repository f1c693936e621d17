// The operator table (lists/operators.py) as tests, benchmarks and tools see it, and descriptions
// of operators for the C interface.
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

// What a tensor is for: an input to compute with (data), a parameter of quantization (scale,
// zero_point), or an output.
enum class Role { data, scale, zero_point, output };

// A tensor in the operator table. lists/declarations.py explains the members.
struct TensorFacts {
    std::string name;  // DirectML's: "ScaleTensor"
    Role role;
    int like;                 // the tensor whose type it has; -1: none
    hewn_data_type integers;  // its type if that tensor has an integer type; UNKNOWN: none
    bool one_element;         // it has one element, whatever the data's sizes
    bool whole_blocks;        // its blocks divide the data's sizes
    bool mixed;               // it may be another float than the tensor that it is like
    DataTypes others;         // with `mixed`, other types that it may have
    // For a tensor that is like no other: the types that the newest feature level allows.
    DataTypes newest;
};

// An attribute in the operator table: a choice among the numbers from 0 on, or a parameter, which
// is the bits of an f32.
struct AttributeFacts {
    std::string name;
    std::vector<std::string> words;  // of a choice's values that are computed
    uint32_t of;  // a bit for each value of the choice before it that has the parameter; or 0
};

// An operator in the table.
struct OperatorFacts {
    hewn_operator_type type;
    std::string name;
    std::string kernels;               // the operator whose kernels compute it
    bool in_place;                     // the output may lie on an input
    bool wraps;                        // kernels of signed types serve the unsigned ones
    bool one_width;                    // the types of a signature have one width
    DataTypes as_f32;                  // the floats that the kernels of f32 compute
    std::vector<TensorFacts> tensors;  // in DirectML's order, the outputs last
    std::vector<size_t> signature;     // the tensors whose types make a signature
    std::vector<AttributeFacts> attributes;

    size_t inputs() const;
    // Whether it has one output, each of whose elements follows from the inputs' elements at the
    // same place.
    bool is_elementwise() const { return inputs() + 1 == tensors.size(); }
    bool is_parameter(size_t tensor) const {
        return tensors[tensor].role == Role::scale || tensors[tensor].role == Role::zero_point;
    }
    bool is_scale(size_t tensor) const { return tensors[tensor].role == Role::scale; }
    bool is_one_element(size_t tensor) const { return tensors[tensor].one_element; }
    // Whether its tensors may have these types at the newest feature level.
    bool takes(const DataTypes &types) const;
    // Whether its blocks must divide the data's sizes.
    bool has_whole_blocks() const;
    // The attributes that have the values `words`, in the order of the choices, and `number` for
    // each parameter that belongs to them.
    std::vector<int32_t> attributes_of(const std::vector<std::string> &words, float number) const;
    // Whether its scales and zero points are one element each.
    bool has_scalars() const;
    // Whether it is linear and its output is quantized.
    bool quantizes() const { return is_linear() && tensors[inputs()].like < 0; }
    // Whether it has one data input, and a scale and a zero point that may differ between elements.
    bool is_linear() const;
};

const std::vector<OperatorFacts> &all_operators();
// The operator with this number or name. Throws std::logic_error if there is none.
const OperatorFacts &facts(hewn_operator_type type);
const OperatorFacts &facts(const std::string &name);

inline hewn_operator_type parse_operator(const std::string &name) { return facts(name).type; }

// The types of an operator's tensors for a signature such as "f32_u8", in DirectML's order, the
// output's last.
DataTypes operand_types(const OperatorFacts &op, const std::string &signature);
DataTypes operand_types(hewn_operator_type op, const std::string &signature);

// An operator's description, with its tensors in DirectML's order, the output last, and its first
// attributes; the others are 0. The tensors' sizes and strides stay the caller's.
class Description {
public:
    Description(hewn_operator_type type, TensorDescs tensors,
                const std::vector<int32_t> &attributes = {});
    // Movable, because a move leaves the tensors where they are in memory. Not copyable: a copy
    // would point to the original's tensors.
    Description(Description &&) = default;

    const hewn_operator_desc *get() const { return &desc_; }

private:
    TensorDescs tensors_;
    // The operator's own struct: struct_size, pointers to the tensors, attributes.
    std::vector<const void *> own_;
    hewn_operator_desc desc_;
};

}  // namespace hewn_test
