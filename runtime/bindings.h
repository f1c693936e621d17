// What execute checks of bindings, whatever memory they are in.
#ifndef HEWN_RUNTIME_BINDINGS_H
#define HEWN_RUNTIME_BINDINGS_H

#include <hewn/hewn.h>

#include "operators.h"

namespace hewn {

// Checks a present tensor's binding whose buffer begins at `base`, and gives its first byte's address.
hewn_status check_binding(const Problem &problem, const Tensor &tensor, const hewn_buffer_binding &binding, uint64_t base,
                          uintptr_t *address, hewn_error *error);
// An absent tensor has no buffer.
hewn_status check_absent(const Problem &problem, const Tensor &tensor, const hewn_buffer_binding &binding, hewn_error *error);
// That the output's elements at `output_at` do not overlap the input's at `input_at` in a way that is not allowed.
hewn_status check_overlap(const Problem &problem, const Tensor &input, uintptr_t input_at, uintptr_t output_at,
                          hewn_error *error);

}  // namespace hewn

#endif  // HEWN_RUNTIME_BINDINGS_H
