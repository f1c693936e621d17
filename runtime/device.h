// What a device is to the C ABI: a way to compile a problem, and to run the operator that it made.
#ifndef HEWN_RUNTIME_DEVICE_H
#define HEWN_RUNTIME_DEVICE_H

#include <hewn/hewn.h>

#include "allocator.h"
#include "dispatch.h"
#include "operators.h"

namespace hewn {

// The caller's array of bindings, whose elements are as far apart as their struct_size says.
class Bindings {
public:
    explicit Bindings(const hewn_buffer_binding *first)
        : first_(reinterpret_cast<const char *>(first)), step_(first->struct_size) {}
    const hewn_buffer_binding &operator[](int i) const {
        return *reinterpret_cast<const hewn_buffer_binding *>(first_ + size_t(i) * step_);
    }

private:
    const char *first_;
    size_t step_;
};

// The functions of one kind of device (runtime/device_*.cpp).
struct Backend {
    hewn_status (*compile)(const hewn_device &device, const Problem &problem, const hewn_compile_options &options,
                           hewn_operator **op, hewn_error *error);
    // Bindings are counted and their structs checked; what they point to is the backend's business. options may be null.
    hewn_status (*execute)(const hewn_operator &op, const Bindings &inputs, const hewn_buffer_binding &output,
                           const hewn_execute_options *options, hewn_error *error);
    void (*destroy)(hewn_operator *op);
};

// The device that a null pointer stands for.
const hewn_device &default_device();

}  // namespace hewn

struct hewn_device {
    const hewn::Backend *backend;
    hewn::Allocator allocator;
};

struct hewn_operator {
    const hewn::Backend *backend;
    hewn::Allocator allocator;
    hewn::Problem problem;
    const hewn::Variant *variant;
};

#endif  // HEWN_RUNTIME_DEVICE_H
