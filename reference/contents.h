// Random contents of tensors, chosen so that tests meet the cases that matter.
#pragma once

#include <cstdint>

#include "tensors.h"
#include "values.h"

namespace hewn_test {

// Sets an element of an f32 or f16 tensor, rounded to its type. `index` is an offset in elements.
void set_float(Tensor &tensor, int64_t index, float value);

// Calls value_of(offset), which sets an element, for every position of a tensor. Positions between
// its elements are filled too, so that reading a wrong one shows.
template<class F>
void fill(Tensor &tensor, F &&value_of) {
    for (int64_t i = 0, n = tensor.span(); i < n; i++) value_of(i);
}

void fill_random(Tensor &tensor, Random &random);

// Fills an operator's inputs with values that are rounded, that are ties, that reach both ends of
// the output's range, and with special values.
void fill_inputs(Problem &problem, Random &random, Scales scales = Scales::ordinary);

}  // namespace hewn_test
