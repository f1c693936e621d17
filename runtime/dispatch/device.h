// The interface of a device for the C ABI: functions that compile a problem to an operator and run
// the operator. The CPU implements them in cpu/device.cpp, all GPUs in gpu/device.cpp.
#pragma once

#include <hewn/hewn.h>

#include <cstdio>

#include "../base/allocator.h"
#include "../problem/bindings.h"
#include "../problem/operators.h"
#include "dispatch.h"

namespace hewn {

// Returns hewn_execute_options::output_is_read_next. It is 0 if the caller gave no options, or
// options of an older header.
inline int32_t read_next(const hewn_execute_options *options) {
    return options && options->struct_size >= sizeof *options ? options->output_is_read_next : 0;
}

// The functions of one kind of device.
struct Backend {
    hewn_status (*compile)(const hewn_device &device, const Problem &problem,
                           const hewn_compile_options &options, hewn_operator **op,
                           hewn_error *error);
    // The caller has checked that the bindings are not null and that their number is right. The
    // backend checks everything else about them. `output` is the operator's first output;
    // Bindings(&output) has all of them. `options` may be null.
    hewn_status (*execute)(const hewn_operator &op, Bindings inputs,
                           const hewn_buffer_binding &output, const hewn_execute_options *options,
                           hewn_error *error);
    // The same with bindings that are checked only once; see hewn_bound_operator.
    hewn_status (*bind)(const hewn_operator &op, Bindings inputs, const hewn_buffer_binding &output,
                        const hewn_execute_options *options, hewn_bound_operator **bound,
                        hewn_error *error);
    void (*destroy)(hewn_operator *op);
    void (*destroy_device)(hewn_device *device);
    // Memory for bindings, and copies to it and from it. A copy is complete when its function
    // returns.
    hewn_status (*allocate)(hewn_device &device, uint64_t bytes, void **memory, hewn_error *error);
    void (*deallocate)(hewn_device &device, void *memory);
    hewn_status (*write)(hewn_device &device, void *memory, uint64_t offset, const void *from,
                         uint64_t bytes, hewn_error *error);
    hewn_status (*read)(hewn_device &device, void *memory, uint64_t offset, void *to,
                        uint64_t bytes, hewn_error *error);
    // Waits until the device's work has ended.
    hewn_status (*synchronize)(hewn_device &device, hewn_error *error);
    // Records an operator into a command list of the program's (Direct3D 12). Null for the CPU.
    hewn_status (*record)(const hewn_operator &op, Bindings inputs,
                          const hewn_buffer_binding &output, void *list, hewn_error *error);
};

// Keeps the first message that Halide reports from inside kernels. One thread uses it. The user
// context of a kernel points to it.
struct KernelErrors {
    char message[sizeof(hewn_error::message)];

    KernelErrors() { message[0] = 0; }
    void note(const char *text) {
        if (!message[0]) snprintf(message, sizeof message, "%s", text);
    }
};

// Prepares what the process needs before its first operator runs. Later calls do nothing.
void prepare_process();

// The machine's best device of a kind of GPU.
struct BestDevice {
    Support support;  // its kind is the CPU if there is no such device
    // The feature that the first device lacks if every device lacks one; otherwise "".
    char missing[64];
};
// Finds the best device of a kind. The first call loads the driver. The result lives as long as the
// library.
const BestDevice &best_device(hewn_device_kind kind);

// The hooks of devices whose description has none: memory of the C library.
void *HEWN_CALL allocate_from_system(void *, size_t bytes, size_t alignment);
void HEWN_CALL deallocate_to_system(void *, void *memory);
constexpr Allocator kSystemAllocator = {allocate_from_system, deallocate_to_system, nullptr};
// Reads the hooks of a device's description into `allocator`. A description has both hooks, or none
// for the C library's. `desc` is the name of the description's struct, for messages.
hewn_status read_allocator(hewn_allocate_fn allocate, hewn_deallocate_fn deallocate, void *context,
                           const char *desc, Allocator *allocator, hewn_error *error);

// Returns the device that a null pointer stands for: the CPU.
const hewn_device &default_device();

}  // namespace hewn

// The base of every device.
struct hewn_device {
    const hewn::Backend *backend;
    hewn::Allocator allocator;
    hewn::Support support;
};

// The base of every compiled operator.
struct hewn_operator {
    const hewn::Backend *backend;
    hewn::Allocator allocator;
    hewn::Problem problem;
    const hewn::Variant *variant;
};

// An operator with its bindings. It must need no destructor, because its memory is simply given
// back to the operator's allocator.
struct hewn_bound_operator {
    const hewn_operator *op;
    hewn_status (*run)(const hewn_bound_operator &bound, hewn_error *error);
};
