// The CPU as a device: what the process needs before its first operator runs, and memory.
#include <HalideRuntime.h>

#include <cstring>

#include "../base/error.h"
#include "../base/system.h"
#include "operator.h"
#include "pool.h"

#if defined(__ELF__)
// No kernel traces. Halide's own function is weak. It would bring everything that it prints with
// into every program, 5.5 KB, because the pointer to it lies next to pointers that are used.
extern "C" int32_t halide_default_trace(void *, const halide_trace_event_t *) { return 0; }
#endif

namespace hewn {

namespace {

void on_kernel_error(void *user_context, const char *message) {
    static_cast<KernelErrors *>(user_context)->note(message);
}

}  // namespace

void prepare_process() {
    run_once([] {
        halide_set_error_handler(on_kernel_error);
        prepare_pool();
    });
}

namespace {

void destroy_device(hewn_device *device) { device->allocator.deallocate(device); }

// ---- Memory of bindings: the program's own ----

hewn_status allocate_memory(hewn_device &device, uint64_t bytes, void **memory, hewn_error *error) {
    *memory = bytes <= SIZE_MAX
                  ? device.allocator.allocate_hook(device.allocator.context, size_t(bytes), 64)
                  : nullptr;
    return *memory ? HEWN_STATUS_OK
                   : fail(error, HEWN_STATUS_OUT_OF_MEMORY, "CPU: no memory for %llu bytes",
                          (unsigned long long)bytes);
}
void deallocate_memory(hewn_device &device, void *memory) { device.allocator.deallocate(memory); }
hewn_status write_memory(hewn_device &, void *memory, uint64_t offset, const void *from,
                         uint64_t bytes, hewn_error *) {
    std::memcpy(static_cast<char *>(memory) + offset, from, size_t(bytes));
    return HEWN_STATUS_OK;
}
hewn_status read_memory(hewn_device &, void *memory, uint64_t offset, void *to, uint64_t bytes,
                        hewn_error *) {
    std::memcpy(to, static_cast<char *>(memory) + offset, size_t(bytes));
    return HEWN_STATUS_OK;
}
hewn_status synchronize(hewn_device &, hewn_error *) { return HEWN_STATUS_OK; }

// ---- The device ----

constexpr Backend kCpu = {compile_for_cpu,      execute_on_cpu, bind_on_cpu,
                          destroy_cpu_operator, destroy_device, allocate_memory,
                          deallocate_memory,    write_memory,   read_memory,
                          synchronize,          nullptr};

constexpr hewn_device kDefaultDevice = {&kCpu, kSystemAllocator, {HEWN_DEVICE_CPU, 0}};

}  // namespace

const hewn_device &default_device() { return kDefaultDevice; }

}  // namespace hewn

using namespace hewn;

hewn_status hewn_create_cpu_device(const hewn_cpu_device_desc *desc, hewn_device **device,
                                   hewn_error *error) {
    if (!device)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "hewn_create_cpu_device: device is null");
    Allocator allocator = kDefaultDevice.allocator;
    if (desc) {
        if (desc->struct_size < sizeof(hewn_cpu_device_desc)) {
            return fail(error, HEWN_STATUS_INVALID_ARGUMENT,
                        "hewn_cpu_device_desc: struct_size is too small");
        }
        const hewn_status status =
            read_allocator(desc->allocate, desc->deallocate, desc->allocator_context,
                           "hewn_cpu_device_desc", &allocator, error);
        if (status != HEWN_STATUS_OK) return status;
    }
    hewn_device *created = allocator.allocate<hewn_device>();
    if (!created)
        return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "hewn_create_cpu_device: no memory");
    created->backend = &kCpu;
    created->allocator = allocator;
    created->support = {HEWN_DEVICE_CPU, 0};
    *device = created;
    return HEWN_STATUS_OK;
}
