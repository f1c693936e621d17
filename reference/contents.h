// Contents of tensors.
#pragma once

#include <cstdint>

#include "tensors.h"
#include "values.h"

namespace hewn_test {

void set_float(Tensor &tensor, int64_t index, float value);

// Fills every position of a tensor, those between its elements too: reading a wrong one must show.
template<class F>
void fill(Tensor &tensor, F &&value_of) {
    for (int64_t i = 0, n = tensor.span(); i < n; i++) value_of(i);
}

void fill_random(Tensor &tensor, Random &random);

// Contents for an operator's inputs: values that hit roundings, ties and both ends, and special
// ones.
void fill_inputs(Problem &problem, Random &random, Scales scales = Scales::ordinary);

}  // namespace hewn_test
