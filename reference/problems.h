// Makes problems: an operator with tensors of chosen or random layouts.
#pragma once

#include <cstdint>
#include <vector>

#include "operators.h"
#include "tensors.h"
#include "values.h"

namespace hewn_test {

// How an input lies over the output's elements.
enum class Layout {
    dense,      // row-major, an element for each
    scalar,     // one element for all
    per_row,    // constant along the innermost dimension
    per_column  // varies only along the innermost dimension: one row for all
};

// The strides of `layout` for `sizes`, with `padding` elements between rows.
std::vector<int64_t> strides_of(Layout layout, const std::vector<int64_t> &sizes,
                                int64_t padding = 0);

// The inputs whose layout may be chosen: all but those of one element.
std::vector<size_t> free_inputs(hewn_operator_type op);

// The operator's attributes: `choices` in their order, 0 for those that are left out, and random
// parameters where the choices have them.
std::vector<int32_t> with_parameters(hewn_operator_type op, const std::vector<int32_t> &choices,
                                     Random &random);
// The same with random choices.
std::vector<int32_t> random_attributes(hewn_operator_type op, Random &random);

// A problem whose free inputs have `strides`, in the order of free_inputs, and whose output has
// `output_strides`. Inputs of one element have all sizes 1. All contents are still SENTINEL.
// `random` decides about the alignment of the tensors, and draws attributes with which the kernel
// of these types computes the problem.
Problem make_problem(hewn_operator_type op, const std::vector<hewn_data_type> &types,
                     const std::vector<int64_t> &sizes,
                     const std::vector<std::vector<int64_t>> &strides,
                     const std::vector<int64_t> &output_strides, Random &random);

// The same with layouts, in the order of free_inputs, and a dense output.
Problem make_problem(hewn_operator_type op, const std::vector<hewn_data_type> &types,
                     const std::vector<int64_t> &sizes, const std::vector<Layout> &layouts,
                     Random &random, int64_t padding = 0);

// Every way to choose a layout for each free input of an operator.
std::vector<std::vector<Layout>> all_layouts(hewn_operator_type op,
                                             const std::vector<Layout> &choices);

std::vector<Layout> all_dense(hewn_operator_type op);

// The layouts that are most frequent in models: dense tensors with one scale and zero point.
std::vector<Layout> per_tensor(hewn_operator_type op);

// A random problem: 1 to 8 dimensions, any dimensions broadcast, permuted and padded strides,
// inputs whose elements overlap, blocks, absent zero points, ADD in place.
Problem random_problem(hewn_operator_type op, const std::vector<hewn_data_type> &types,
                       Random &random, int64_t max_elements);

}  // namespace hewn_test
