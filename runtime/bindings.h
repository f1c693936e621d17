// What execute checks of bindings, whatever memory they are in.
#ifndef HEWN_RUNTIME_BINDINGS_H
#define HEWN_RUNTIME_BINDINGS_H

#include <hewn/hewn.h>

#include "operators.h"

namespace hewn {

// The caller's array of bindings, whose elements are as far apart as the first's struct_size says.
class Bindings {
public:
    explicit Bindings(const hewn_buffer_binding *first)
        : first_(reinterpret_cast<const char *>(first)), step_(first->struct_size) {}
    const hewn_buffer_binding &operator[](int i) const {
        return *reinterpret_cast<const hewn_buffer_binding *>(first_ + size_t(i) * step_);
    }
    // As a plain array; null where the elements are not hewn_buffer_binding's size apart.
    const hewn_buffer_binding *plain() const {
        return step_ == sizeof(hewn_buffer_binding) ? reinterpret_cast<const hewn_buffer_binding *>(first_) : nullptr;
    }
    // False: what is there is no binding.
    bool has_struct_size(int i) const { return (*this)[i].struct_size == step_; }

private:
    const char *first_;
    size_t step_;
};

// That all of the operator's input bindings have the first's struct_size.
hewn_status check_struct_sizes(const Problem &problem, const Bindings &inputs, hewn_error *error);
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
