// What the GPU devices share (device.cpp, launch.h), and the seam under which each kind of driver
// is (cuda.cpp, opencl.cpp, d3d12.cpp). Halide's own GPU runtimes are not used:
// docs/architecture.md#our-own-launcher.
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

// Loaded once a device.
struct GpuModule {
    const char *source;
    void *handle;
    GpuModule *next;
};

struct GpuOperator;  // launch.h
struct GpuPass;

// One use of an operator's pass, which generated code knows as its user context.
struct GpuCall : KernelErrors {
    GpuDevice &device;
    GpuOperator &op;
    GpuPass &pass;
    const bool prepares;          // load the kernels that would run, and launch nothing
    GpuModule *module = nullptr;  // while preparing
    hewn_status status = HEWN_STATUS_OK;
    void *list = nullptr;  // what launches are recorded into; null: they go to the device's queue
    void *views[kMaxTensors];  // of this launch (GpuApi::view)
    int32_t view_count = 0;

    GpuCall(GpuDevice &device, GpuOperator &op, GpuPass &pass, bool prepares)
        : device(device), op(op), pass(pass), prepares(prepares) {}
    // Notes what went wrong, the first time; gives the code that generated code returns.
    int failed(hewn_status what, const char *format, ...)
        __attribute__((format(printf, 3, 4), cold));
};

struct GpuLaunch {
    size_t blocks[3], threads[3];
    size_t shared_bytes;           // of memory that a block's threads share
    const size_t *argument_bytes;  // up to a 0
    void *const *arguments;        // a halide_buffer_t where is_buffer
    const int8_t *is_buffer;
};

// A kind of driver. Functions that return a status fill in `error`, which may be null, where they
// fail; those of a GpuCall note a failure in it (GpuCall::failed) and return the code for generated
// code. All but release, describe and open are called between enter and leave, on any thread and on
// several at once.
struct GpuApi {
    hewn_device_kind kind;
    bool offsets;  // kernels take an operand's offset as its dimension's -min; false: addresses are
                   // pointers
    bool only_32_bits;    // kernels see 64-bit elements as pairs of words
    int64_t index_limit;  // indices of a launch stay below; at most kGpuIndexLimit

    // ---- Devices ----

    // Makes the driver ready for calls about the device on this thread; where it succeeds, leave
    // follows on the same thread. Null: it always is.
    hewn_status (*enter)(GpuDevice &, hewn_error *);
    void (*leave)(GpuDevice &);
    // Gives the driver's objects of a device back, after all that was loaded and allocated on it.
    void (*release)(GpuDevice &);
    // The index-th device that the driver has: what it is called, and what it can run. NO_DEVICE
    // past the last one.
    hewn_status (*describe)(uint32_t index, hewn_device_info *, hewn_error *);
    // A device with a context and a queue of its own, on the index-th.
    hewn_status (*open)(uint32_t index, hewn_device **, hewn_error *);

    // ---- Kernels ----

    // Compiles or looks up a unit of device code, with the device's mutex held; unload gives it
    // back, with the device's last reference.
    hewn_status (*load)(GpuDevice &, const char *source, size_t bytes, void **module, hewn_error *);
    void (*unload)(GpuDevice &, void *module);
    // A kernel of the module, for one operator, with the mutex free; drop gives it back, before the
    // module is unloaded.
    hewn_status (*find)(GpuDevice &, void *module, const char *entry, void **function,
                        hewn_error *);
    void (*drop)(GpuDevice &, void *function);
    // Enqueues the kernel behind what was launched before, or records it into call.list. Does not
    // wait.
    int (*launch)(GpuCall &, void *function, const GpuLaunch &);

    // ---- Bindings ----

    // Checks the memory of a tensor's binding; base is its offset or address, less the binding's
    // own offset.
    hewn_status (*locate)(GpuDevice &, const Problem &, const Tensor &, const hewn_buffer_binding &,
                          Place *base, hewn_error *);
    // Turns the addresses of a launch's tensors into those that its kernel is given. May make
    // temporary objects of the driver's for them, which go into call.views. Null: addresses are
    // given as they are.
    int (*view)(GpuCall &, GpuTensor *, int count);
    // Gives the objects in call.views back, after the launch or where it does not come to be. Null:
    // `view` makes none.
    void (*end_views)(GpuCall &);

    // ---- Memory, for hewn_allocate and the like ----

    hewn_status (*allocate)(GpuDevice &, uint64_t bytes, void **memory, hewn_error *);
    void (*deallocate)(GpuDevice &, void *memory);  // also while what was enqueued uses it
    // Copies that have happened when they return, behind what was enqueued.
    hewn_status (*write)(GpuDevice &, void *memory, uint64_t offset, const void *from,
                         uint64_t bytes, hewn_error *);
    hewn_status (*read)(GpuDevice &, void *memory, uint64_t offset, void *to, uint64_t bytes,
                        hewn_error *);
    hewn_status (*synchronize)(GpuDevice &, hewn_error *);  // waits for what was enqueued

    // ---- Lists: of a kind whose launches are recorded; else null ----

    // Opens a list of the device's own, and takes the device's lock: `submit` must follow, on the
    // same thread, whatever fails in between.
    hewn_status (*begin)(GpuDevice &, void **list, hewn_error *);
    // Closes that list, puts it into the device's queue and gives the lock back, also where it
    // fails.
    hewn_status (*submit)(GpuDevice &, hewn_error *);
    // Behind an operator's launches in call.list, a program's or the device's own: what follows
    // there sees what they wrote.
    void (*barrier)(GpuCall &);
};

// Sets a GpuApi's members that every kind of driver has: what has their names beside it.
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

constexpr uint64_t kZeroBytes = 16;

struct GpuDevice : hewn_device {
    const GpuApi *api;
    std::atomic<int32_t> references;  // the handle's and each operator's
    pthread_mutex_t mutex;            // over `modules`, and passes that must follow one another
    GpuModule *modules;
    void *zeros;  // what an absent zero point reads: kZeroBytes of them
};

// Memory on a device whose driver is ready. Drivers write their result even if they fail; here it
// is left as it was.
hewn_status allocate_on(GpuDevice &device, uint64_t bytes, void **memory, hewn_error *error);

// Sets a zeroed device up, whose driver's objects are in place, and allocates its `zeros`. On a
// failure everything is released.
hewn_status start_gpu_device(GpuDevice *device, const GpuApi &api, const Allocator &allocator,
                             int32_t capability, hewn_error *error);

// What generated code says its buffers are of; it compares the address.
extern const halide_device_interface_t kGpuInterface;

int gpu_initialize(void *call, const char *source, int bytes);
struct GpuExtent {
    int x, y, z;
};
int gpu_run(void *call, const char *entry, GpuExtent blocks, GpuExtent threads, int shared_bytes,
            const size_t *argument_bytes, void *const *arguments, const int8_t *is_buffer);

// What generated code calls of a kind, in the place of Halide's runtime.
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

// Makes a driver's log part of a message.
inline void join_lines(char *log) {
    for (; *log; log++) {
        if (*log == '\n') *log = ' ';
    }
}

// What every function that creates a device checks first, of the struct it is given.
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
