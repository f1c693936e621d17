// The reference applied to whole tensors: computes an operator's output, or compares an output with
// what it should be.
#pragma once

#include <hewn/hewn.h>

#include <cstdint>
#include <vector>

#include "operators.h"

namespace hewn_test {

// An element-wise operator on tensors in memory. Types and strides are in DirectML's order, the
// output's last. Strides are in elements.
struct Evaluation {
    hewn_operator_type op = 0;
    DataTypes types;
    std::vector<int64_t> sizes;
    std::vector<std::vector<int64_t>> strides;
    std::vector<const void *> inputs;                    // their first elements; null: absent
    std::vector<std::vector<int64_t>> block_sizes = {};  // in the order of strides; empty: all 1
    std::vector<int32_t> attributes = {};                // attributes after these are 0
};

// Writes every element of the output. Its first element is at `output`.
void evaluate(const Evaluation &evaluation, void *output);
// How many elements of `output` differ from the reference (any NaN equals any NaN).
int64_t count_differences(const Evaluation &evaluation, const void *output);

}  // namespace hewn_test
