// A call as the operator's tensors: their types and how they lie, from what was given.
#pragma once

#include <hewn/hewn.hpp>

#include <string>
#include <vector>

#include "tensor.h"

namespace hewn_python {

constexpr size_t MAX_TENSORS = 12;

// A row of the library's table, with Python's name for each tensor.
struct Row {
    hewn::OperatorInfo info;
    std::vector<std::string> names;
    std::vector<bool> mixed;  // whether a tensor may be the other one of float32 and float16
    size_t first_output = 0;

    size_t count() const { return info.tensors.size(); }
    // The output, of several the first; others behind it are one element each.
    size_t output() const { return first_output; }
    const hewn_operator_tensor_info &tensor(size_t i) const { return info.tensors[i]; }
    bool is_parameter(size_t i) const {
        return tensor(i).role == HEWN_TENSOR_ROLE_SCALE ||
               tensor(i).role == HEWN_TENSOR_ROLE_ZERO_POINT;
    }
    // A message of the library's, with these names.
    std::string in_python(std::string message) const;
};

// What a function of the package was given; None: absent.
struct Arguments {
    // options: the others, in this order.
    Arguments(const Row &row, nb::tuple inputs, nb::tuple options);

    nb::handle inputs[MAX_TENSORS];
    nb::handle axis, block_size, dtype, out, threads, variant;
    nb::handle attributes;  // a tuple of them, in the operator's order
};

// An argument that is an integer, within -INT64_MAX and INT64_MAX.
int64_t as_index(nb::handle given, const char *name);

class Problem {
public:
    Problem(const Row &row, const Arguments &given);

    const Row &row() const { return *row_; }
    Tensor &tensor(size_t i) { return tensors_[i]; }
    const Tensor &tensor(size_t i) const { return tensors_[i]; }
    Tensor &output() { return tensors_[row_->output()]; }
    // The output's.
    const Shape &shape() const { return shape_; }
    bool has_output() const { return output_given_; }
    void take_output(nb::handle out);
    void take_other_output(size_t i, nb::handle array);
    // One that no array was given for.
    void describe_contiguous_output();
    hewn::Operator compile(const std::string &variant, int threads,
                           const std::vector<bool> &constants) const;
    // What an operator is compiled for, as bytes.
    std::string key(int threads, const std::string &variant) const;

private:
    const Row *row_;
    Tensor tensors_[MAX_TENSORS];
    Shape shape_;        // of the output
    int axis_ = -1;      // -1: none
    int64_t block_ = 0;  // 0: none
    std::vector<int32_t> attributes_;
    bool output_given_ = false;

    const char *name(size_t i) const { return row_->names[i].c_str(); }
    hewn_data_type due(size_t i, hewn_data_type asked) const;
    hewn_data_type default_output_type() const;
    hewn_data_type output_type(hewn_data_type asked) const;
    void take_arrays(const Arguments &given);
    void refuse_other_types(const Arguments &given, hewn_data_type asked) const;
    void convert_numbers(const Arguments &given, hewn_tensor_role role, hewn_data_type asked);
    void resolve_types(const Arguments &given);
    void broadcast_data();
    void set_blocks(const Arguments &given);
    void set_attributes(const Arguments &given);
    void broadcast(Tensor &tensor, const Shape &to, const char *name);
    void place_parameter(size_t i, const Shape &blocks);
    void place();
    void place_output();
};

}  // namespace hewn_python
