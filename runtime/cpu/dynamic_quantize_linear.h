// DYNAMIC_QUANTIZE_LINEAR on the CPU has three passes. The first finds the range of the input's
// elements. The second, which is declared here, makes the scale and the zero point of it. The third
// is QUANTIZE_LINEAR with these parameters, in that operator's forms.
#pragma once

#include "../problem/operators.h"

namespace hewn {

// Computes the pass PassProblem::Parameters. `tensors` points to the range, then to the outputs:
// the scale and the zero point.
void write_parameters(const Problem &problem, void *const *tensors);

}  // namespace hewn
