// Builders of problems: one operator on tensors of chosen or random layouts.
#pragma once

#include <cstdint>
#include <vector>

#include "operators.h"
#include "tensors.h"
#include "values.h"

namespace hewn_test {

// How an input lies over the output's elements.
enum class Layout {
    dense,      // row-major, every element its own
    scalar,     // one element for all
    per_row,    // constant along the innermost dimension
    per_column  // the same row for all: varies along the innermost dimension only (per last axis)
};

// Strides of `layout` over `sizes`; `padding` elements lie between the rows.
std::vector<int64_t> strides_of(Layout layout, const std::vector<int64_t> &sizes,
                                int64_t padding = 0);

// The inputs whose layout is free: all but parameters of one element.
std::vector<size_t> free_inputs(hewn_operator_type op);

// A problem whose free inputs have `strides` (in free_inputs' order) and whose output has
// `output_strides`. Parameters of one element have all sizes 1. Contents are still SENTINEL.
Problem make_problem(hewn_operator_type op, const std::vector<hewn_data_type> &types,
                     const std::vector<int64_t> &sizes,
                     const std::vector<std::vector<int64_t>> &strides,
                     const std::vector<int64_t> &output_strides, Random &random);

Problem make_problem(hewn_operator_type op, const std::vector<hewn_data_type> &types,
                     const std::vector<int64_t> &sizes, const std::vector<Layout> &layouts,
                     Random &random, int64_t padding = 0);

// Every way to choose one of `choices` for each free input of an operator.
std::vector<std::vector<Layout>> all_layouts(hewn_operator_type op,
                                             const std::vector<Layout> &choices);

std::vector<Layout> all_dense(hewn_operator_type op);

// What models contain most: dense tensors with scalar parameters.
std::vector<Layout> per_tensor(hewn_operator_type op);

// Ranks 1 to 8, any broadcast mask, permuted and padded strides, overlapping inputs, absent zero
// points, in-place ADD.
Problem random_problem(hewn_operator_type op, const std::vector<hewn_data_type> &types,
                       Random &random, int64_t max_elements);

}  // namespace hewn_test
