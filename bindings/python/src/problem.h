// The tensors of one call. A Problem takes a call's arguments, decides the types of all tensors and
// how they lie over the operator's sizes, and compiles the operator for them.
#pragma once

#include <hewn/hewn.hpp>

#include <string>
#include <vector>

#include "tensor.h"

namespace hewn_python {

constexpr size_t MAX_TENSORS = 12;

// A row of the library's operator table, with Python's name for each tensor.
struct Row {
    hewn::OperatorInfo info;
    std::vector<std::string> names;
    // Whether a tensor may be another float than the tensor that it is like.
    std::vector<bool> mixed;
    size_t first_output = 0;

    // The number of tensors.
    size_t count() const { return info.tensors.size(); }
    // The index of the first output.
    size_t output() const { return first_output; }
    // Whether the operator chooses scales for blocks of the first input.
    bool chooses_blocks() const {
        return first_output + 1 < count() && !tensor(first_output + 1).one_element;
    }
    // Whether tensor i is an output with an element for each block.
    bool is_chosen(size_t i) const { return i > first_output && !tensor(i).one_element; }
    const hewn_operator_tensor_info &tensor(size_t i) const { return info.tensors[i]; }
    bool is_parameter(size_t i) const {
        return tensor(i).role == HEWN_TENSOR_ROLE_SCALE ||
               tensor(i).role == HEWN_TENSOR_ROLE_ZERO_POINT;
    }
    // A message of the library with Python's names instead of the tensors' names.
    std::string in_python(std::string message) const;
};

// The arguments of a call. An absent one is None.
struct Arguments {
    // `options` has all but the inputs, in the order of the members below.
    Arguments(const Row &row, nb::tuple inputs, nb::tuple options);

    nb::handle inputs[MAX_TENSORS];
    nb::handle axis, block_size, dtype, scale_dtype, out, threads, variant;
    nb::handle attributes;  // a tuple, in the operator's order
};

// The value of an argument that must be an integer, limited to -INT64_MAX and INT64_MAX.
int64_t as_index(nb::handle given, const char *name);

class Problem {
public:
    // Throws Failure if the arguments do not fit.
    Problem(const Row &row, const Arguments &given);

    const Row &row() const { return *row_; }
    Tensor &tensor(size_t i) { return tensors_[i]; }
    const Tensor &tensor(size_t i) const { return tensors_[i]; }
    Tensor &output() { return tensors_[row_->output()]; }
    // The shape of the first output.
    const Shape &shape() const { return shape_; }
    // Whether there is an array for the first output already.
    bool has_output() const { return output_given_; }
    void take_output(nb::handle out);
    // The shape of output i, which is not the first.
    Shape other_shape(size_t i) const;
    // Whether the operator writes output i.
    bool writes(size_t i) const { return tensors_[i].type != HEWN_DATA_TYPE_UNKNOWN; }
    void take_other_output(size_t i, nb::handle array);
    // Describes the first output as contiguous, without an array.
    void describe_contiguous_output();
    // Compiles the operator. The inputs for which `constants` is true are given as constants.
    hewn::Operator compile(const std::string &variant, int threads,
                           const std::vector<bool> &constants) const;
    // All that compile() depends on, as bytes: the key of the cache.
    std::string key(int threads, const std::string &variant) const;

private:
    const Row *row_;
    Tensor tensors_[MAX_TENSORS];
    Shape shape_;
    int axis_ = -1;      // -1: none
    int64_t block_ = 0;  // the block size; 0: no blocks
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
    bool leaves_out_optional() const;
    void describe_other_outputs(const Arguments &given);
    // How many elements along dimension d share a scale that the operator chooses.
    int64_t chosen_block(uint32_t d) const;
    void set_attributes(const Arguments &given);
    void broadcast(Tensor &tensor, const Shape &to, const char *name);
    void place_parameter(size_t i, const Shape &blocks);
    void place();
    void place_output();
};

}  // namespace hewn_python
