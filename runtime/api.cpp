// The functions of the C ABI that do not depend on the device. They check arguments and options,
// and call the functions of the device (Backend).
#include <hewn/hewn.h>

#include <cstddef>
#include <cstring>

#include "base/device_kinds.h"
#include "base/error.h"
#include "dispatch/device.h"
#include "problem/bindings.h"
#include "problem/operators.h"
#include "problem/shape.h"

using namespace hewn;

namespace {

// Whether there are `expected` bindings and the first one has a valid struct_size. locate_tensors
// checks the others.
bool well_formed(const hewn_buffer_binding *bindings, uint32_t count, uint32_t expected) {
    return count == expected && bindings && size_of(*bindings) >= sizeof(hewn_buffer_binding);
}

// Reports what is wrong with bindings that are not well_formed.
__attribute__((cold, noinline)) hewn_status refuse_bindings(
    const Problem &problem, const hewn_buffer_binding *inputs, uint32_t input_count,
    const hewn_buffer_binding *outputs, uint32_t output_count, hewn_error *error) {
    const bool of_inputs = !well_formed(inputs, input_count, uint32_t(problem.info->input_count));
    const char *name = problem.info->dml_name, *which = of_inputs ? "input" : "output";
    const uint32_t count = of_inputs ? input_count : output_count,
                   due =
                       uint32_t(of_inputs ? problem.info->input_count : problem.info->output_count);
    if (count != due) {
        return fail(error, HEWN_STATUS_INVALID_BINDING, "%s: %u %s bindings given, expected %u%s",
                    name, unsigned(count), which, unsigned(due),
                    of_inputs && due > 2 ? ", with a null buffer for a tensor that is absent" : "");
    }
    if (!(of_inputs ? inputs : outputs))
        return fail(error, HEWN_STATUS_INVALID_BINDING, "%s: the %s bindings are null", name,
                    which);
    return fail(error, HEWN_STATUS_INVALID_BINDING,
                "%s %s: struct_size of the binding is too small", name,
                of_inputs ? problem.inputs[0].name : problem.output.name);
}

// The size of hewn_execute_options in its first version.
constexpr size_t kExecuteOptionsBytes = offsetof(hewn_execute_options, output_is_read_next);

bool is_flag(int32_t value) { return uint32_t(value) <= 1; }

// The arguments of an execution, a binding or a recording, for its checks.
struct Request {
    const char *function;
    const hewn_operator *op;
    const hewn_buffer_binding *inputs;
    uint32_t input_count;
    const hewn_buffer_binding *outputs;
    uint32_t output_count;
    const hewn_execute_options *options;

    bool well_formed() const {
        return op &&
               (!options || (options->struct_size >= kExecuteOptionsBytes &&
                             options->max_threads >= 0 && is_flag(read_next(options)))) &&
               ::well_formed(inputs, input_count, uint32_t(op->problem.info->input_count)) &&
               ::well_formed(outputs, output_count, uint32_t(op->problem.info->output_count));
    }
};

// Reports what is wrong with a request that is not well_formed.
__attribute__((cold, noinline)) hewn_status refuse(const Request &request, hewn_error *error) {
    const hewn_execute_options *options = request.options;
    if (!request.op)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "%s: op is null", request.function);
    if (options && options->struct_size < kExecuteOptionsBytes)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT,
                    "hewn_execute_options: struct_size is too small");
    if (options && options->max_threads < 0)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT,
                    "hewn_execute_options: max_threads is negative");
    if (!is_flag(read_next(options)))
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT,
                    "hewn_execute_options: output_is_read_next is neither 0 nor 1");
    return refuse_bindings(request.op->problem, request.inputs, request.input_count,
                           request.outputs, request.output_count, error);
}

}  // namespace

hewn_status hewn_d3d12_record(const hewn_operator *op, void *command_list,
                              const hewn_buffer_binding *inputs, uint32_t input_count,
                              const hewn_buffer_binding *outputs, uint32_t output_count,
                              hewn_error *error) {
    const Request request = {"hewn_d3d12_record", op,     inputs, input_count, outputs,
                             output_count,        nullptr};
    if (!op) return refuse(request, error);
    if (!command_list)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "hewn_d3d12_record: command_list is null");
    if (op->variant->target->device != HEWN_DEVICE_D3D12)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT,
                    "hewn_d3d12_record: the operator is for %s",
                    names_of(op->variant->target->device).name);
    if (!request.well_formed()) return refuse(request, error);
    return op->backend->record(*op, Bindings(inputs), *outputs, command_list, error);
}

hewn_status hewn_tensor_size(const hewn_tensor_desc *tensor, uint64_t *bytes, hewn_error *error) {
    if (!bytes) return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "hewn_tensor_size: bytes is null");
    Tensor checked;
    const hewn_status status = read_tensor(tensor, "hewn_tensor_size", "tensor", checked, error);
    if (status == HEWN_STATUS_OK) *bytes = checked.bytes;
    return status;
}

__attribute__((cold)) hewn_status hewn_compile(hewn_device *device, const hewn_operator_desc *desc,
                                               const hewn_compile_options *options,
                                               hewn_operator **op, hewn_error *error) {
    if (!op) return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "hewn_compile: op is null");
    hewn_compile_options checked = {};
    // The first version of the struct ended before `constants`.
    if (options && options->struct_size < offsetof(hewn_compile_options, constants)) {
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT,
                    "hewn_compile_options: struct_size is too small");
    }
    if (options)
        std::memcpy(&checked, options,
                    options->struct_size < sizeof checked ? options->struct_size : sizeof checked);
    if (checked.max_threads < 0)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT,
                    "hewn_compile_options: max_threads is negative");
    Problem problem;
    hewn_status status = read_operator(desc, checked.feature_level, problem, error);
    if (status == HEWN_STATUS_OK) status = read_constants(checked, problem, error);
    if (status != HEWN_STATUS_OK) return status;
    const hewn_device &on = device ? *device : default_device();
    return on.backend->compile(on, problem, checked, op, error);
}

void hewn_destroy_operator(hewn_operator *op) {
    if (op) op->backend->destroy(op);
}

void hewn_destroy_device(hewn_device *device) {
    if (device) device->backend->destroy_device(device);
}

hewn_device_kind hewn_kind_of_device(const hewn_device *device) {
    return device ? device->support.device : HEWN_DEVICE_CPU;
}

namespace {
// A null device is the CPU. Its device has no state that could change, so the cast is safe.
hewn_device &device_of(hewn_device *device) {
    return device ? *device : const_cast<hewn_device &>(default_device());
}
}  // namespace

hewn_status hewn_allocate(hewn_device *device, uint64_t bytes, void **memory, hewn_error *error) {
    if (!memory) return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "hewn_allocate: memory is null");
    hewn_device &on = device_of(device);
    void *allocated = nullptr;  // a call that fails leaves *memory as it was
    const hewn_status status = on.backend->allocate(on, bytes ? bytes : 1, &allocated, error);
    if (status == HEWN_STATUS_OK) *memory = allocated;
    return status;
}

void hewn_deallocate(hewn_device *device, void *memory) {
    hewn_device &on = device_of(device);
    if (memory) on.backend->deallocate(on, memory);
}

hewn_status hewn_write(hewn_device *device, void *memory, uint64_t offset, const void *from,
                       uint64_t bytes, hewn_error *error) {
    if (bytes == 0) return HEWN_STATUS_OK;
    if (!memory || !from)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "hewn_write: a pointer is null");
    hewn_device &on = device_of(device);
    return on.backend->write(on, memory, offset, from, bytes, error);
}

hewn_status hewn_read(hewn_device *device, void *memory, uint64_t offset, void *to, uint64_t bytes,
                      hewn_error *error) {
    if (bytes == 0) return HEWN_STATUS_OK;
    if (!memory || !to)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "hewn_read: a pointer is null");
    hewn_device &on = device_of(device);
    return on.backend->read(on, memory, offset, to, bytes, error);
}

hewn_status hewn_synchronize(hewn_device *device, hewn_error *error) {
    hewn_device &on = device_of(device);
    return on.backend->synchronize(on, error);
}

const char *hewn_operator_variant(const hewn_operator *op) { return op ? op->variant->name : ""; }

hewn_status hewn_execute(const hewn_operator *op, const hewn_buffer_binding *inputs,
                         uint32_t input_count, const hewn_buffer_binding *outputs,
                         uint32_t output_count, const hewn_execute_options *options,
                         hewn_error *error) {
    const Request request = {"hewn_execute", op,           inputs, input_count,
                             outputs,        output_count, options};
    if (!request.well_formed()) return refuse(request, error);
    return op->backend->execute(*op, Bindings(inputs), *outputs, options, error);
}

__attribute__((cold)) hewn_status hewn_bind(const hewn_operator *op,
                                            const hewn_buffer_binding *inputs, uint32_t input_count,
                                            const hewn_buffer_binding *outputs,
                                            uint32_t output_count,
                                            const hewn_execute_options *options,
                                            hewn_bound_operator **bound, hewn_error *error) {
    const Request request = {"hewn_bind", op, inputs, input_count, outputs, output_count, options};
    if (!bound) return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "hewn_bind: bound is null");
    if (!request.well_formed()) return refuse(request, error);
    return op->backend->bind(*op, Bindings(inputs), *outputs, options, bound, error);
}

hewn_status hewn_run(const hewn_bound_operator *bound, hewn_error *error) {
    if (!bound) return fail(error, HEWN_STATUS_INVALID_ARGUMENT, "hewn_run: bound is null");
    return bound->run(*bound, error);
}

void hewn_destroy_bound_operator(hewn_bound_operator *bound) {
    if (bound) bound->op->allocator.deallocate(bound);
}
