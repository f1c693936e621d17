// The checks of bindings, for every kind of device: those of executions, and of constants.
#pragma once

#include <hewn/hewn.h>

#include "../base/error.h"
#include "../base/place.h"
#include "operators.h"

namespace hewn {

// The two parts of a binding's struct_size (HEWN_BINDING_OF): its size, and the type of its memory,
// 0 if that is not said.
inline uint32_t size_of(const hewn_buffer_binding &binding) { return binding.struct_size & 0xffff; }
inline hewn_data_type type_of(const hewn_buffer_binding &binding) {
    return hewn_data_type(binding.struct_size >> 16);
}
// f16 and bf16 are also kept as integers of 16 bits, for compilers without a type for them.
constexpr hewn_data_type stand_in(hewn_data_type type) {
    return type == HEWN_DATA_TYPE_FLOAT16 || type == HEWN_DATA_TYPE_BFLOAT16
               ? hewn_data_type(HEWN_DATA_TYPE_UINT16)
               : type;
}

// The caller's array of bindings. The first one's size is the distance between them.
class Bindings {
public:
    explicit Bindings(const hewn_buffer_binding *first)
        : first_(reinterpret_cast<const char *>(first)), step_(size_of(*first)) {}
    const hewn_buffer_binding &operator[](int i) const {
        return *reinterpret_cast<const hewn_buffer_binding *>(first_ + size_t(i) * step_);
    }
    // As a plain array; null if its elements are longer.
    const hewn_buffer_binding *plain() const {
        return step_ == sizeof(hewn_buffer_binding)
                   ? reinterpret_cast<const hewn_buffer_binding *>(first_)
                   : nullptr;
    }
    // False if element i is no binding.
    bool has_struct_size(int i) const { return size_of((*this)[i]) == step_; }

private:
    const char *first_;
    size_t step_;
};

// What is wrong with a tensor's binding: refuse(...)("a message").
inline TensorFailure refuse(const Problem &problem, const Tensor &tensor, hewn_error *error) {
    return {error, HEWN_STATUS_INVALID_BINDING, problem.info->dml_name, tensor.name};
}
// Checks a present tensor's binding, whose buffer begins at `base`. Sets *address to that of its
// first byte.
hewn_status check_binding(const Problem &problem, const Tensor &tensor,
                          const hewn_buffer_binding &binding, uint64_t base, uintptr_t *address,
                          hewn_error *error);
// Whether executions bind the tensor: it is neither absent nor a constant.
inline bool is_bound(const Tensor &tensor) { return tensor.present && !tensor.constant; }

// What a kind of device adds to the checks of bindings.
struct Locator {
    // Where a binding's buffer, which is not null, begins. Null: the buffer is its address.
    hewn_status (*buffer)(void *device, const Problem &problem, const Tensor &tensor,
                          const hewn_buffer_binding &binding, Place *base, hewn_error *error);
    void *device;
    const Place *unbound;  // where inputs lie that are absent or constants
};

// Finds the places of all tensors, or says what is wrong with a binding: its struct_size, its
// memory, or an overlap with an output that is not allowed.
hewn_status locate_tensors(const Problem &problem, const Bindings &inputs, const Bindings &outputs,
                           const Locator &locator, Place *places, hewn_error *error);

// Reads hewn_compile_options' constants into the problem.
hewn_status read_constants(const hewn_compile_options &options, Problem &problem,
                           hewn_error *error);
// Where constant i lies in memory that has all of them, each aligned for any device; for i =
// input_count the bytes of all.
uint64_t constant_offset(const Problem &problem, int i);

}  // namespace hewn
