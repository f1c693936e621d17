// The code that all GPU devices share (with device.cpp and launch.h), and GpuApi, the interface
// that each kind of driver implements (cuda.cpp, opencl.cpp, d3d12.cpp). Halide's own GPU runtimes
// are not used: docs/architecture.md#our-own-launcher.
#pragma once

#include <HalideRuntime.h>
#include <hewn/hewn.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>

#include "../base/device_kinds.h"
#include "../base/error.h"
#include "../dispatch/device.h"
#include "views.h"

namespace hewn {

struct GpuDevice;

// A unit of device code. It is loaded once on each device.
struct GpuModule {
    const char *source;
    void *handle;
    GpuModule *next;
};

struct GpuOperator;  // launch.h
struct GpuPass;

// One use of an operator's pass. Generated code gets it as its user context.
struct GpuCall : KernelErrors {
    GpuDevice &device;
    GpuOperator &op;
    GpuPass &pass;
    // Whether to load the kernels that would run, and to launch nothing.
    const bool prepares;
    GpuModule *module = nullptr;  // the module that is being prepared
    hewn_status status = HEWN_STATUS_OK;
    // The list that launches are recorded into. Null: they go to the device's queue.
    void *list = nullptr;
    void *views[kMaxTensors];  // the views of this launch (GpuApi::view)
    int32_t view_count = 0;

    GpuCall(GpuDevice &device, GpuOperator &op, GpuPass &pass, bool prepares)
        : device(device), op(op), pass(pass), prepares(prepares) {}
    // Notes an error, if it is the first one. Returns the error code for generated code.
    int failed(hewn_status what, const char *format, ...)
        __attribute__((format(printf, 3, 4), cold));
};

// The arguments of a launch, for the driver.
struct GpuLaunch {
    size_t blocks[3], threads[3];
    // Bytes of the memory that the threads of a block share.
    size_t shared_bytes;
    const size_t *argument_bytes;  // bytes of each argument; ends with 0
    void *const *arguments;        // each one is a halide_buffer_t if is_buffer
    const int8_t *is_buffer;
};

// A kind of driver. Functions that return a status fill in `error`, which may be null, if they
// fail. Functions of a GpuCall note a failure in it (GpuCall::failed) and return the code for
// generated code. All functions but release, describe and open are called between enter and leave.
// They may be called on any thread, and on several at once.
struct GpuApi {
    hewn_device_kind kind;
    // Whether kernels take an operand's offset as its dimension's -min. Otherwise addresses are
    // pointers.
    bool offsets;
    // Whether kernels see 64-bit elements as pairs of words.
    bool only_32_bits;
    // The indices of a launch must stay below this limit, which is at most kGpuIndexLimit.
    int64_t index_limit;

    // ---- Devices ----

    // Makes the driver ready for calls about the device on this thread. If it succeeds, leave
    // follows on the same thread. Null: the driver is always ready.
    hewn_status (*enter)(GpuDevice &, hewn_error *);
    void (*leave)(GpuDevice &);
    // Gives the device's own driver objects back, after everything that was loaded and allocated on
    // it.
    void (*release)(GpuDevice &);
    // Describes device number `index` of the driver: its name, and what it can run. Returns
    // NO_DEVICE after the last one.
    hewn_status (*describe)(uint32_t index, hewn_device_info *, hewn_error *);
    // Opens device number `index`, with a context and a queue of its own.
    hewn_status (*open)(uint32_t index, hewn_device **, hewn_error *);

    // ---- Kernels ----

    // Compiles or looks up a unit of device code, while the device's mutex is held. unload gives it
    // back, when the device's last reference is released.
    hewn_status (*load)(GpuDevice &, const char *source, size_t bytes, void **module, hewn_error *);
    void (*unload)(GpuDevice &, void *module);
    // Finds a kernel of the module for one operator, while the mutex is not held. drop gives it
    // back, before the module is unloaded.
    hewn_status (*find)(GpuDevice &, void *module, const char *entry, void **function,
                        hewn_error *);
    void (*drop)(GpuDevice &, void *function);
    // Enqueues the kernel after everything that was launched before, or records it into call.list.
    // Does not wait.
    int (*launch)(GpuCall &, void *function, const GpuLaunch &);

    // ---- Bindings ----

    // Checks the memory of a tensor's binding. Sets *base to its memory and the offset or address
    // in it, without the binding's own offset.
    hewn_status (*locate)(GpuDevice &, const Problem &, const Tensor &, const hewn_buffer_binding &,
                          Place *base, hewn_error *);
    // Turns the places of a launch's tensors into those that its kernel is given. May make
    // temporary objects of the driver, which it adds to call.views. Null: the places are given as
    // they are.
    int (*view)(GpuCall &, GpuTensor *, int count);
    // Gives the objects in call.views back, after the launch or if there is no launch. Null: `view`
    // makes no objects.
    void (*end_views)(GpuCall &);

    // ---- Memory, for hewn_allocate and the like ----

    hewn_status (*allocate)(GpuDevice &, uint64_t bytes, void **memory, hewn_error *);
    // Is allowed while enqueued work still uses the memory.
    void (*deallocate)(GpuDevice &, void *memory);
    // Copies that follow everything that was enqueued, and are complete when they return.
    hewn_status (*write)(GpuDevice &, void *memory, uint64_t offset, const void *from,
                         uint64_t bytes, hewn_error *);
    hewn_status (*read)(GpuDevice &, void *memory, uint64_t offset, void *to, uint64_t bytes,
                        hewn_error *);
    // Waits for everything that was enqueued.
    hewn_status (*synchronize)(GpuDevice &, hewn_error *);

    // ---- Lists: only of a kind of driver whose launches are recorded, else null ----

    // Opens a list of the device's own, and takes the device's lock. `submit` must follow on the
    // same thread, even if something fails in between.
    hewn_status (*begin)(GpuDevice &, void **list, hewn_error *);
    // Closes that list, puts it into the device's queue, and releases the lock, even if it fails.
    hewn_status (*submit)(GpuDevice &, hewn_error *);
    // Records a barrier after an operator's launches into call.list, which is a program's list or
    // the device's own: what follows in the list sees what the launches wrote.
    void (*barrier)(GpuCall &);
};

// Sets the members of a GpuApi that every kind of driver has. Each member is set to the function of
// the same name that is in scope.
#define HEWN_SET_GPU_FUNCTIONS(api) \
    api.release = release; \
    api.describe = describe; \
    api.open = open; \
    api.load = load; \
    api.unload = unload; \
    api.find = find; \
    api.drop = drop; \
    api.launch = launch; \
    api.locate = locate; \
    api.allocate = allocate; \
    api.deallocate = deallocate; \
    api.write = write; \
    api.read = read; \
    api.synchronize = synchronize

// Bytes of GpuDevice::zeros.
constexpr uint64_t kZeroBytes = 16;

// The base of every GPU device.
struct GpuDevice : hewn_device {
    const GpuApi *api;
    std::atomic<int32_t> references;  // one for the handle, and one for each operator
    // Guards `modules`, and keeps the passes of an execution together.
    pthread_mutex_t mutex;
    GpuModule *modules;
    // Zeros in device memory, kZeroBytes of them, which an absent zero point reads.
    void *zeros;
};

// Allocates memory on a device whose driver is ready. If it fails, *memory is left as it was,
// although drivers write their result even then.
hewn_status allocate_on(GpuDevice &device, uint64_t bytes, void **memory, hewn_error *error);

// Completes a device whose memory was zeroed and whose driver objects are in place, and allocates
// its `zeros`. If it fails, everything is released, the device included.
hewn_status start_gpu_device(GpuDevice *device, const GpuApi &api, const Allocator &allocator,
                             int32_t capability, hewn_error *error);

// The device interface of all buffers that generated code sees. Generated code only compares its
// address.
extern const halide_device_interface_t kGpuInterface;

// Loads the module of a kernel, if the call prepares. `call` is the GpuCall as a user context.
int gpu_initialize(void *call, const char *source, int bytes);
struct GpuExtent {
    int x, y, z;
};
// Launches a kernel, or loads it if the call prepares. Returns 0 or an error code.
int gpu_run(void *call, const char *entry, GpuExtent blocks, GpuExtent threads, int shared_bytes,
            const size_t *argument_bytes, void *const *arguments, const int8_t *is_buffer);

// The functions that generated code calls for a kind of device. They replace those of Halide's
// runtime.
#define HEWN_HALIDE_GPU_FUNCTIONS(kind) \
    extern "C" int halide_##kind##_initialize_kernels(void *context, void **, const char *source, \
                                                      int bytes) { \
        return gpu_initialize(context, source, bytes); \
    } \
    extern "C" void halide_##kind##_finalize_kernels(void *, void *) {} \
    extern "C" const halide_device_interface_t *halide_##kind##_device_interface() { \
        return &kGpuInterface; \
    }
#define HEWN_HALIDE_GPU_RUN(kind) \
    extern "C" int halide_##kind##_run(void *context, void *, const char *entry, int blocks_x, \
                                       int blocks_y, int blocks_z, int threads_x, int threads_y, \
                                       int threads_z, int shared_bytes, size_t argument_bytes[], \
                                       void *arguments[], int8_t is_buffer[]) { \
        return gpu_run(context, entry, {blocks_x, blocks_y, blocks_z}, \
                       {threads_x, threads_y, threads_z}, shared_bytes, argument_bytes, arguments, \
                       is_buffer); \
    }

// Replaces the line breaks in a driver's log, so that it can be a part of a message.
inline void join_lines(char *log) {
    for (; *log; log++) {
        if (*log == '\n') *log = ' ';
    }
}

// The checks that begin every function which creates a device: the struct that it is given, and the
// hooks for memory, which are read into `allocator`.
template<class Desc>
hewn_status read_device_desc(const Desc *desc, hewn_device **device, hewn_device_kind kind,
                             Allocator *allocator, hewn_error *error) {
    const char *word = names_of(kind).word;
    if (!device)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "hewn_create_%s_device: device is null",
                    word);
    char name[32];
    snprintf(name, sizeof name, "hewn_%s_device_desc", word);
    if (!desc || desc->struct_size < sizeof *desc)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "%s: is null or struct_size is too small",
                    name);
    return read_allocator(desc->allocate, desc->deallocate, desc->allocator_context, name,
                          allocator, error);
}

}  // namespace hewn
