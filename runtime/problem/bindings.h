// The checks of bindings, for every kind of device: the bindings of executions, and those of
// constants.
#pragma once

#include <hewn/hewn.h>

#include "../base/error.h"
#include "../base/place.h"
#include "operators.h"

namespace hewn {

// A binding's struct_size has two parts (HEWN_BINDING_OF): the size of the struct, and the type of
// the memory, which is 0 if the caller did not state it.
inline uint32_t size_of(const hewn_buffer_binding &binding) { return binding.struct_size & 0xffff; }
inline hewn_data_type type_of(const hewn_buffer_binding &binding) {
    return hewn_data_type(binding.struct_size >> 16);
}
// The type that may also be stated for memory of the given type. Compilers without types for f16,
// bf16 and small floats keep them as integers of as many bits.
constexpr hewn_data_type stand_in(hewn_data_type type) {
    if (type == HEWN_DATA_TYPE_FLOAT16 || type == HEWN_DATA_TYPE_BFLOAT16)
        return HEWN_DATA_TYPE_UINT16;
#define HEWN_SMALL_FLOAT(word, name, numpy, bits, ...) \
    if (type == HEWN_DATA_TYPE_##name && bits == 8) return HEWN_DATA_TYPE_UINT8;
#include "types.inc"
    return type;
}

// The caller's array of bindings. Its elements may be longer than this library's struct: the first
// one's struct_size is the distance between them.
class Bindings {
public:
    explicit Bindings(const hewn_buffer_binding *first)
        : first_(reinterpret_cast<const char *>(first)), step_(size_of(*first)) {}
    const hewn_buffer_binding &operator[](int i) const {
        return *reinterpret_cast<const hewn_buffer_binding *>(first_ + size_t(i) * step_);
    }
    // Returns the bindings as a plain array; null if the elements are longer than this library's
    // struct.
    const hewn_buffer_binding *plain() const {
        return step_ == sizeof(hewn_buffer_binding)
                   ? reinterpret_cast<const hewn_buffer_binding *>(first_)
                   : nullptr;
    }
    // Whether element i has the struct_size of the first one.
    bool has_struct_size(int i) const { return size_of((*this)[i]) == step_; }

private:
    const char *first_;
    size_t step_;
};

// Returns a function that reports an error of a tensor's binding: refuse(...)("a message").
inline TensorFailure refuse(const Problem &problem, const Tensor &tensor, hewn_error *error) {
    return {error, HEWN_STATUS_INVALID_BINDING, problem.info->dml_name, tensor.name};
}
// Checks the binding of a present tensor, whose buffer begins at `base`. Sets *address to the
// address of the tensor's first byte.
hewn_status check_binding(const Problem &problem, const Tensor &tensor,
                          const hewn_buffer_binding &binding, uint64_t base, uintptr_t *address,
                          hewn_error *error);
// Whether executions bind the tensor: it is present and not a constant.
inline bool is_bound(const Tensor &tensor) { return tensor.present && !tensor.constant; }

// The functions and places that a kind of device adds to the checks of bindings.
struct Locator {
    // Sets *base to where the binding's buffer, which is not null, begins. If this function is
    // null, the buffer is its own address.
    hewn_status (*buffer)(void *device, const Problem &problem, const Tensor &tensor,
                          const hewn_buffer_binding &binding, Place *base, hewn_error *error);
    void *device;
    const Place *unbound;  // the places of inputs that are not bound
};

// Checks all bindings and sets `places` to the places of all tensors, inputs first. Otherwise
// reports what is wrong with a binding: its struct_size, its memory, or an overlap with an output
// that is not allowed.
hewn_status locate_tensors(const Problem &problem, const Bindings &inputs, const Bindings &outputs,
                           const Locator &locator, Place *places, hewn_error *error);

// Reads the constants of hewn_compile_options into the problem, which then points to the caller's
// memory.
hewn_status read_constants(const hewn_compile_options &options, Problem &problem,
                           hewn_error *error);
// Returns the offset of constant i in memory that holds all constants, each aligned for any device.
// For i = input_count it returns the bytes of all of them.
uint64_t constant_offset(const Problem &problem, int i);

}  // namespace hewn
