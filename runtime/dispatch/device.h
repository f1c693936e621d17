// What a device is to the C ABI: a way to compile a problem, and to run the operator that it made.
#pragma once

#include <hewn/hewn.h>

#include <cstdio>

#include "../base/allocator.h"
#include "../problem/bindings.h"
#include "../problem/operators.h"
#include "dispatch.h"

namespace hewn {

// hewn_execute_options::output_is_read_next of options that a caller may have left out, or that are
// those of an older header.
inline int32_t read_next(const hewn_execute_options *options) {
    return options && options->struct_size >= sizeof *options ? options->output_is_read_next : 0;
}

// The functions of one kind of device.
struct Backend {
    hewn_status (*compile)(const hewn_device &device, const Problem &problem,
                           const hewn_compile_options &options, hewn_operator **op,
                           hewn_error *error);
    // The caller has checked that the bindings are not null and their number is right; all else
    // about them is the backend's business. `output` is the first of the operator's outputs, which
    // Bindings(&output) has all of. options may be null.
    hewn_status (*execute)(const hewn_operator &op, Bindings inputs,
                           const hewn_buffer_binding &output, const hewn_execute_options *options,
                           hewn_error *error);
    // The same for bindings that are checked once; see hewn_bound_operator.
    hewn_status (*bind)(const hewn_operator &op, Bindings inputs, const hewn_buffer_binding &output,
                        const hewn_execute_options *options, hewn_bound_operator **bound,
                        hewn_error *error);
    void (*destroy)(hewn_operator *op);
    void (*destroy_device)(hewn_device *device);
    // Memory for bindings, and copies that have happened when they return.
    hewn_status (*allocate)(hewn_device &device, uint64_t bytes, void **memory, hewn_error *error);
    void (*deallocate)(hewn_device &device, void *memory);
    hewn_status (*write)(hewn_device &device, void *memory, uint64_t offset, const void *from,
                         uint64_t bytes, hewn_error *error);
    hewn_status (*read)(hewn_device &device, void *memory, uint64_t offset, void *to,
                        uint64_t bytes, hewn_error *error);
    hewn_status (*synchronize)(hewn_device &device, hewn_error *error);
    // Launches an operator into a program's list: of Direct3D 12. Null of the CPU.
    hewn_status (*record)(const hewn_operator &op, Bindings inputs,
                          const hewn_buffer_binding &output, void *list, hewn_error *error);
};

// The first that Halide reports as text from inside kernels, whose user context begins with this.
// Of one thread.
struct KernelErrors {
    char message[sizeof(hewn_error::message)];

    KernelErrors() { message[0] = 0; }
    void note(const char *text) {
        if (!message[0]) snprintf(message, sizeof message, "%s", text);
    }
};

// What the process needs once, before the first operator runs.
void prepare_process();

// The machine's best device of a GPU's kind.
struct BestDevice {
    Support support;   // of another kind if there is no device
    char missing[64];  // what the first lacks where every device lacks something, else ""
};
// Loads the driver at the first call. What it gives lives as long as the library.
const BestDevice &best_device(hewn_device_kind kind);

// Memory of the C library.
void *HEWN_CALL allocate_from_system(void *, size_t bytes, size_t alignment);
void HEWN_CALL deallocate_to_system(void *, void *memory);
constexpr Allocator kSystemAllocator = {allocate_from_system, deallocate_to_system, nullptr};
// The hooks of a device's description: both, or the C library's for none.
hewn_status read_allocator(hewn_allocate_fn allocate, hewn_deallocate_fn deallocate, void *context,
                           const char *desc, Allocator *allocator, hewn_error *error);

// The device that a null pointer stands for.
const hewn_device &default_device();

}  // namespace hewn

struct hewn_device {
    const hewn::Backend *backend;
    hewn::Allocator allocator;
    hewn::Support support;
};

struct hewn_operator {
    const hewn::Backend *backend;
    hewn::Allocator allocator;
    hewn::Problem problem;
    const hewn::Variant *variant;
};

// Without destructors: its memory is given back to its operator's allocator.
struct hewn_bound_operator {
    const hewn_operator *op;
    hewn_status (*run)(const hewn_bound_operator &bound, hewn_error *error);
};
