// DYNAMIC_QUANTIZE_LINEAR on the CPU: a pass finds the range of its input's elements, from which
// the scale and the zero point follow; QUANTIZE_LINEAR by them is a pass with that operator's
// forms.
#pragma once

#include "../problem/operators.h"

namespace hewn {

// A pass of PassProblem::Parameters: the range, then the outputs.
void write_parameters(const Problem &problem, void *const *tensors);

}  // namespace hewn
