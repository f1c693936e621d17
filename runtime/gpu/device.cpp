#include "device.h"

#include <cstdarg>
#include <cstdio>

#include "../base/error.h"
#include "../dispatch/chip.h"
#include "../problem/bindings.h"
#include "launch.h"

namespace hewn {

namespace {

// ---- The device ----

// The driver's state for the object's lifetime.
class Entered {
public:
    Entered(GpuDevice &device, hewn_error *error)
        : device_(device),
          status(device.api->enter ? device.api->enter(device, error)
                                   : hewn_status(HEWN_STATUS_OK)) {}
    ~Entered() {
        if (status == HEWN_STATUS_OK && device_.api->leave) device_.api->leave(device_);
    }
    Entered(const Entered &) = delete;
    Entered &operator=(const Entered &) = delete;

private:
    GpuDevice &device_;

public:
    const hewn_status status;
};

void release(GpuDevice *device) {
    if (device->references.fetch_sub(1) != 1) return;
    const Allocator allocator = device->allocator;
    {
        const Entered entered(*device, nullptr);
        const bool alive = entered.status == HEWN_STATUS_OK;
        if (alive && device->zeros) device->api->deallocate(*device, device->zeros);
        while (GpuModule *module = device->modules) {
            device->modules = module->next;
            if (alive) device->api->unload(*device, module->handle);
            allocator.deallocate(module);
        }
    }
    device->api->release(*device);
    pthread_mutex_destroy(&device->mutex);
    allocator.deallocate(device);
}

void destroy(hewn_operator *base) {
    GpuOperator *op = static_cast<GpuOperator *>(base);
    GpuDevice *device = op->device;
    {
        const Entered entered(*device, nullptr);
        for (int i = 0; i < op->function_count && entered.status == HEWN_STATUS_OK; i++)
            device->api->drop(*device, op->functions[i].handle);
        if (op->constants && entered.status == HEWN_STATUS_OK)
            device->api->deallocate(*device, op->constants);
    }
    op->allocator.deallocate(op);
    release(device);
}

void destroy_device(hewn_device *device) { release(static_cast<GpuDevice *>(device)); }

hewn_status report(const GpuCall &call, hewn_error *error) {
    const hewn_status status =
        call.status != HEWN_STATUS_OK ? call.status : hewn_status(HEWN_STATUS_KERNEL_FAILED);
    return fail(error, status, "%s: kernel %s: %s", call.op.problem.info->dml_name,
                call.op.variant->name, call.message);
}

hewn_status write_constants(GpuOperator &op, hewn_error *error) {
    GpuDevice &device = *op.device;
    Problem &problem = op.problem;
    const uint64_t bytes = constant_offset(problem, problem.info->input_count);
    if (bytes == 0) return HEWN_STATUS_OK;
    hewn_status status = device.api->allocate(device, bytes, &op.constants, error);
    if (status != HEWN_STATUS_OK)
        op.constants = nullptr;  // drivers write their result even if they fail
    for (int i = 0; i < problem.info->input_count && status == HEWN_STATUS_OK; i++) {
        const Tensor &tensor = problem.inputs[i];
        if (tensor.constant && !tensor.empty())
            status = device.api->write(device, op.constants, constant_offset(problem, i),
                                       problem.constants[i], tensor.bytes, error);
        problem.constants[i] = nullptr;  // the caller's memory
    }
    return status;
}

// Kernels of GPUs read and write elements as they are.
hewn_status check_packing(const Problem &problem, hewn_error *error) {
    for (int t = 0; t <= problem.info->input_count; t++) {
        const Tensor &each = tensor(problem, t);
        if (each.packing.widens())
            return TensorFailure{error, HEWN_STATUS_UNSUPPORTED, problem.info->dml_name, each.name}(
                "%s beside another float is supported on the CPU alone", type_name(each.type));
        if (each.packing)
            return TensorFailure{error, HEWN_STATUS_UNSUPPORTED, problem.info->dml_name, each.name}(
                "%s is supported on the CPU alone", type_name(each.type));
    }
    return HEWN_STATUS_OK;
}

// Kernels of GPUs are launched once.
hewn_status check_passes(const Problem &problem, hewn_error *error) {
    if (problem.info->output_count == 1) return HEWN_STATUS_OK;
    return fail(error, HEWN_STATUS_UNSUPPORTED, "%s is supported on the CPU alone",
                problem.info->dml_name);
}

hewn_status compile(const hewn_device &base, const Problem &problem,
                    const hewn_compile_options &options, hewn_operator **result,
                    hewn_error *error) {
    prepare_process();
    GpuDevice &device = static_cast<GpuDevice &>(const_cast<hewn_device &>(base));
    const OperatorInfo &info = *problem.info;
    const Variant *variant = nullptr;
    HEWN_CHECK(check_packing(problem, error));
    HEWN_CHECK(check_passes(problem, error));
    HEWN_CHECK(pick_variant(info.kernels, problem.signature, options.variant, base.support, {},
                            &variant, error));
    const Entered entered(device, error);
    HEWN_CHECK(entered.status);

    GpuOperator *op = device.allocator.allocate<GpuOperator>();
    if (!op)
        return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "%s: no memory for the operator",
                    info.dml_name);
    op->backend = device.backend;
    op->allocator = device.allocator;
    op->problem = problem;
    op->variant = variant;
    op->device = &device;
    device.references.fetch_add(1);
    if (const hewn_status written = write_constants(*op, error); written != HEWN_STATUS_OK) {
        destroy(op);
        return written;
    }
    if (!problem.output.empty()) {
        plan_launches(*op);
        GpuCall call(device, *op, true);
        if (load_kernels(call) != 0) {
            const hewn_status failed = report(call, error);
            destroy(op);
            return failed;
        }
    }
    *result = op;
    return HEWN_STATUS_OK;
}

// Where the bindings' tensors are, the inputs in order, then the output, or what is wrong with one.
// `located` begins as zeros.
hewn_status locate(const GpuOperator &op, const Bindings &inputs, const hewn_buffer_binding &output,
                   GpuAddress *located, hewn_error *error) {
    GpuDevice &device = *op.device;
    const Problem &problem = op.problem;
    for (int i = -1; i < problem.info->input_count;
         i++) {  // the output first: inputs are compared with it
        const int t = i < 0 ? problem.info->input_count : i;
        const Tensor &tensor = hewn::tensor(problem, t);
        hewn_buffer_binding binding = i < 0 ? output : inputs[i];
        if (!is_bound(tensor)) {
            HEWN_CHECK(check_unbound(problem, tensor, binding, error));
            binding.buffer = tensor.constant ? op.constants : device.zeros;
            binding.offset = tensor.constant ? constant_offset(problem, i) : 0;
            binding.size = tensor.constant ? tensor.bytes : 16;
        }
        GpuAddress &at = located[t];
        const GpuAddress &output_at = located[problem.info->input_count];
        if (binding.buffer)
            HEWN_CHECK(device.api->locate(device, problem, tensor, binding, &at, error));
        if (!is_bound(tensor)) {
            at.address += binding.offset;
            continue;
        }
        uintptr_t address = 0;
        HEWN_CHECK(check_binding(problem, tensor, binding, at.address, &address, error));
        at.address = address;
        if (i >= 0 && at.memory == output_at.memory)
            HEWN_CHECK(check_overlap(problem, problem.output, uintptr_t(output_at.address), tensor,
                                     address, error));
    }
    return HEWN_STATUS_OK;
}

// Launches into a list of the program's; null: into one of the device's own, which is submitted, or
// to its queue.
hewn_status launch(GpuOperator &op, const GpuAddress *at, void *list, hewn_error *error) {
    GpuDevice &device = *op.device;
    const GpuApi &api = *device.api;
    GpuCall call(device, op, false);
    call.list = list;
    const bool submits = !list && api.begin;
    hewn_status status =
        submits ? api.begin(device, &call.list, error) : hewn_status(HEWN_STATUS_OK);
    if (status != HEWN_STATUS_OK) return status;
    if (launch_boxes(call, at) != 0) status = report(call, error);
    if (call.list) api.barrier(call);
    if (!submits) return status;
    const hewn_status submitted = api.submit(device, status == HEWN_STATUS_OK ? error : nullptr);
    return status != HEWN_STATUS_OK ? status : submitted;
}

// then(op, located) in the driver's state, if the bindings are right.
template<class Then>
hewn_status with_located(const hewn_operator &base, const Bindings &inputs,
                         const hewn_buffer_binding &output, hewn_error *error, const Then &then) {
    GpuOperator &op = static_cast<GpuOperator &>(const_cast<hewn_operator &>(base));
    HEWN_CHECK(check_struct_sizes(op.problem, inputs, Bindings(&output), error));
    const Entered entered(*op.device, error);
    HEWN_CHECK(entered.status);
    GpuAddress at[kMaxTensors] = {};
    HEWN_CHECK(locate(op, inputs, output, at, error));
    return then(op, at);
}

hewn_status execute(const hewn_operator &op, Bindings inputs, const hewn_buffer_binding &output,
                    const hewn_execute_options *, hewn_error *error) {
    return gpu_record(op, inputs, output, nullptr, error);
}

struct GpuBoundOperator : hewn_bound_operator {
    GpuAddress at[kMaxTensors];
};

hewn_status run(const hewn_bound_operator &base, hewn_error *error) {
    const GpuBoundOperator &bound = static_cast<const GpuBoundOperator &>(base);
    GpuOperator &op = static_cast<GpuOperator &>(const_cast<hewn_operator &>(*bound.op));
    const Entered entered(*op.device, error);
    if (entered.status != HEWN_STATUS_OK || op.problem.output.empty()) return entered.status;
    return launch(op, bound.at, nullptr, error);
}

hewn_status bind(const hewn_operator &base, Bindings inputs, const hewn_buffer_binding &output,
                 const hewn_execute_options *, hewn_bound_operator **result, hewn_error *error) {
    return with_located(base, inputs, output, error, [&](GpuOperator &op, const GpuAddress *at) {
        GpuBoundOperator *bound = op.allocator.allocate<GpuBoundOperator>();
        if (!bound)
            return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "%s: no memory for the bound operator",
                        op.problem.info->dml_name);
        bound->op = &op;
        bound->run = run;
        for (int t = 0; t < kMaxTensors; t++) bound->at[t] = at[t];
        *result = bound;
        return hewn_status(HEWN_STATUS_OK);
    });
}

// ---- Memory ----

// The driver's function in its state.
template<class Function, class... Arguments>
hewn_status entering(hewn_device &base, hewn_error *error, Function GpuApi::*function,
                     Arguments... arguments) {
    GpuDevice &device = static_cast<GpuDevice &>(base);
    const Entered entered(device, error);
    HEWN_CHECK(entered.status);
    return (device.api->*function)(device, arguments..., error);
}

hewn_status allocate(hewn_device &base, uint64_t bytes, void **memory, hewn_error *error) {
    return entering(base, error, &GpuApi::allocate, bytes, memory);
}
void deallocate(hewn_device &base, void *memory) {
    GpuDevice &device = static_cast<GpuDevice &>(base);
    const Entered entered(device, nullptr);
    if (entered.status == HEWN_STATUS_OK) device.api->deallocate(device, memory);
}
hewn_status write(hewn_device &base, void *memory, uint64_t offset, const void *from,
                  uint64_t bytes, hewn_error *error) {
    return entering(base, error, &GpuApi::write, memory, offset, from, bytes);
}
hewn_status read(hewn_device &base, void *memory, uint64_t offset, void *to, uint64_t bytes,
                 hewn_error *error) {
    return entering(base, error, &GpuApi::read, memory, offset, to, bytes);
}
hewn_status synchronize(hewn_device &base, hewn_error *error) {
    return entering(base, error, &GpuApi::synchronize);
}

constexpr Backend kGpu = {compile,  execute,    bind,  destroy, destroy_device,
                          allocate, deallocate, write, read,    synchronize};

}  // namespace

int GpuCall::failed(hewn_status what, const char *format, ...) {
    if (status == HEWN_STATUS_OK) {
        status = what;
        char text[sizeof message];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        note(text);
    }
    return halide_error_code_device_run_failed;
}

hewn_status start_gpu_device(GpuDevice *device, const GpuApi &api, const Allocator &allocator,
                             int32_t capability, hewn_error *error) {
    device->backend = &kGpu;
    device->allocator = allocator;
    device->support = {api.kind, capability};
    device->api = &api;
    device->references = 1;
    pthread_mutex_init(&device->mutex, nullptr);
    const uint8_t zeros[16] = {};
    hewn_status status = allocate(*device, sizeof zeros, &device->zeros, error);
    if (status == HEWN_STATUS_OK)
        status = write(*device, device->zeros, 0, zeros, sizeof zeros, error);
    if (status != HEWN_STATUS_OK) release(device);
    return status;
}

hewn_status gpu_record(const hewn_operator &base, Bindings inputs,
                       const hewn_buffer_binding &output, void *list, hewn_error *error) {
    return with_located(base, inputs, output, error, [&](GpuOperator &op, const GpuAddress *at) {
        return op.problem.output.empty() ? hewn_status(HEWN_STATUS_OK)
                                         : launch(op, at, list, error);
    });
}

}  // namespace hewn
