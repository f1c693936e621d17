// The truth over whole tensors.
#pragma once

#include <hewn/hewn.h>

#include <cstdint>
#include <vector>

#include "operators.h"

namespace hewn_test {

// An operator on tensors in memory. Types and strides in DirectML's order, the output's last;
// strides in elements.
struct Evaluation {
    hewn_operator_type op = 0;
    DataTypes types;
    std::vector<int64_t> sizes;
    std::vector<std::vector<int64_t>> strides;
    std::vector<const void *> inputs;                    // their first elements; null: absent
    std::vector<std::vector<int64_t>> block_sizes = {};  // as strides; none at all: 1
    std::vector<int32_t> attributes = {};                // others are 0
};

// Writes every element of the output, whose first is at `output`.
void evaluate(const Evaluation &evaluation, void *output);
// How many elements of `output` are not the truth (any NaN equals any NaN).
int64_t count_differences(const Evaluation &evaluation, const void *output);

}  // namespace hewn_test
