// The functions of a device (Backend) for all kinds of GPUs: compiles operators, locates the memory
// of their tensors, and executes them. Drivers are called by GpuApi.
#include "device.h"

#include <cstdarg>
#include <cstdio>

#include "../base/error.h"
#include "../dispatch/chip.h"
#include "../problem/bindings.h"
#include "../problem/lowering.h"
#include "launch.h"

namespace hewn {

namespace {

// ---- The device ----

// Makes the driver ready for this thread while the object lives. `status` says whether that
// succeeded.
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

// Gives a reference back. The last one destroys the device.
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
        const bool alive = entered.status == HEWN_STATUS_OK;
        for (int p = 0; p < op->pass_count && alive; p++) {
            GpuPass &pass = op->passes[p];
            for (int i = 0; i < pass.function_count; i++)
                device->api->drop(*device, pass.functions[i].handle);
        }
        for (void *memory : {op->constants, op->scratch})
            if (memory && alive) device->api->deallocate(*device, memory);
    }
    op->allocator.deallocate(op->passes);
    op->allocator.deallocate(op);
    release(device);
}

void destroy_device(hewn_device *device) { release(static_cast<GpuDevice *>(device)); }

// Reports what failed in a call.
hewn_status report(const GpuCall &call, hewn_error *error) {
    const hewn_status status =
        call.status != HEWN_STATUS_OK ? call.status : hewn_status(HEWN_STATUS_KERNEL_FAILED);
    return fail(error, status, "%s: kernel %s: %s", call.op.problem.info->dml_name,
                call.op.variant->name, call.message);
}

// Copies the constants to device memory.
hewn_status write_constants(GpuOperator &op, hewn_error *error) {
    GpuDevice &device = *op.device;
    Problem &problem = op.problem;
    const uint64_t bytes = constant_offset(problem, problem.info->input_count);
    if (bytes == 0) return HEWN_STATUS_OK;
    hewn_status status = allocate_on(device, bytes, &op.constants, error);
    for (int i = 0; i < problem.info->input_count && status == HEWN_STATUS_OK; i++) {
        const Tensor &tensor = problem.inputs[i];
        if (tensor.constant && !tensor.empty())
            status = device.api->write(device, op.constants, constant_offset(problem, i),
                                       problem.constants[i], tensor.bytes, error);
        problem.constants[i] = nullptr;  // the caller may free its memory
    }
    return status;
}

// DYNAMIC_QUANTIZE_LINEAR of f16 runs as that of f32: its input is widened first.
void widen_dynamic(Problem &problem) {
    if (problem.info->output_count == 1 || problem.inputs[0].type != HEWN_DATA_TYPE_FLOAT16) return;
    problem.inputs[0].conversion = conversion_of(HEWN_DATA_TYPE_FLOAT16);
    snprintf(problem.signature, sizeof problem.signature, "f32_%s", type_word(problem.output.type));
}

// Loads the kernels of every pass.
hewn_status load_passes(GpuOperator &op, hewn_error *error) {
    for (int p = 0; p < op.pass_count; p++) {
        GpuCall call(*op.device, op, op.passes[p], true);
        if (load_kernels(call) != 0) return report(call, error);
    }
    return HEWN_STATUS_OK;
}

hewn_status compile(const hewn_device &base, const Problem &described,
                    const hewn_compile_options &options, hewn_operator **result,
                    hewn_error *error) {
    prepare_process();
    GpuDevice &device = static_cast<GpuDevice &>(const_cast<hewn_device &>(base));
    Problem problem = described;
    widen_dynamic(problem);
    const OperatorInfo &info = *problem.info;
    const Variant *variant = nullptr;
    HEWN_CHECK(pick_variant(info.kernels, problem.signature, options.variant, base.support, {},
                            &variant, error));
    if (multiplies_scales(problem))
        return fail(error, HEWN_STATUS_UNSUPPORTED,
                    "%s: is for CPUs only, because GPUs have no kernel that multiplies its scales",
                    info.dml_name);
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
    hewn_status status = write_constants(*op, error);
    if (status == HEWN_STATUS_OK) status = plan_passes(*op, error);
    if (status == HEWN_STATUS_OK) status = load_passes(*op, error);
    if (status != HEWN_STATUS_OK) {
        destroy(op);
        return status;
    }
    *result = op;
    return HEWN_STATUS_OK;
}

hewn_status locate_buffer(void *on, const Problem &problem, const Tensor &tensor,
                          const hewn_buffer_binding &binding, Place *base, hewn_error *error) {
    GpuDevice &device = *static_cast<GpuDevice *>(on);
    return device.api->locate(device, problem, tensor, binding, base, error);
}

// Sets the places of inputs that are not bound, which are in memory of the device.
hewn_status locate_unbound(const GpuOperator &op, Place *unbound, hewn_error *error) {
    for (int i = 0; i < op.problem.info->input_count; i++) {
        const Tensor &tensor = op.problem.inputs[i];
        if (is_bound(tensor)) continue;
        hewn_buffer_binding binding = {};
        binding.buffer = tensor.constant ? op.constants : op.device->zeros;
        if (!binding.buffer) continue;  // the constant is empty
        binding.offset = tensor.constant ? constant_offset(op.problem, i) : 0;
        binding.size = tensor.constant ? tensor.bytes : kZeroBytes;
        HEWN_CHECK(locate_buffer(op.device, op.problem, tensor, binding, &unbound[i], error));
        unbound[i].address += binding.offset;
    }
    return HEWN_STATUS_OK;
}

// Sets the places in the operator's scratch memory.
hewn_status locate_scratch(const GpuOperator &op, GpuPlaces &places, hewn_error *error) {
    if (!op.scratch) return HEWN_STATUS_OK;
    hewn_buffer_binding binding = {};
    binding.buffer = op.scratch;
    binding.size = op.scratch_bytes;
    Place base = {};
    HEWN_CHECK(
        op.device->api->locate(*op.device, op.problem, op.problem.output, binding, &base, error));
    for (int place = kMaxTensors; place < kGpuPlaces; place++)
        places.at[place] = {base.memory, base.address + op.offsets[place]};
    return HEWN_STATUS_OK;
}

// Checks the bindings and sets the places of all tensors, or reports what is wrong with a binding.
// `places` begins as zeros.
hewn_status locate(const GpuOperator &op, const Bindings &inputs, const Bindings &outputs,
                   GpuPlaces &places, hewn_error *error) {
    Place unbound[kMaxInputs] = {};
    HEWN_CHECK(locate_unbound(op, unbound, error));
    HEWN_CHECK(locate_tensors(op.problem, inputs, outputs, {locate_buffer, op.device, unbound},
                              places.at, error));
    return locate_scratch(op, places, error);
}

// While the object lives, no other execution of an operator with scratch memory launches on the
// device, so that the passes of one execution stay together.
class Undivided {
public:
    explicit Undivided(GpuOperator &op) : mutex_(op.scratch ? &op.device->mutex : nullptr) {
        if (mutex_) pthread_mutex_lock(mutex_);
    }
    ~Undivided() {
        if (mutex_) pthread_mutex_unlock(mutex_);
    }
    Undivided(const Undivided &) = delete;
    Undivided &operator=(const Undivided &) = delete;

private:
    pthread_mutex_t *const mutex_;
};

// Launches all passes into a program's list. If `list` is null, launches them into a list of the
// device's own, which is then submitted, or to the device's queue.
hewn_status launch(GpuOperator &op, const GpuPlaces &places, void *list, hewn_error *error) {
    GpuDevice &device = *op.device;
    const GpuApi &api = *device.api;
    const bool submits = !list && api.begin;
    if (submits) HEWN_CHECK(api.begin(device, &list, error));
    const Undivided undivided(op);
    hewn_status status = HEWN_STATUS_OK;
    for (int p = 0; p < op.pass_count && status == HEWN_STATUS_OK; p++) {
        GpuCall call(device, op, op.passes[p], false);
        call.list = list;
        if (launch_pass(call, places) != 0) status = report(call, error);
        if (list) api.barrier(call);
    }
    if (!submits) return status;
    const hewn_status submitted = api.submit(device, status == HEWN_STATUS_OK ? error : nullptr);
    return status != HEWN_STATUS_OK ? status : submitted;
}

// Calls then(op, places) with the driver ready, if the bindings are right.
template<class Then>
hewn_status with_located(const hewn_operator &base, const Bindings &inputs,
                         const hewn_buffer_binding &output, hewn_error *error, const Then &then) {
    GpuOperator &op = static_cast<GpuOperator &>(const_cast<hewn_operator &>(base));
    const Entered entered(*op.device, error);
    HEWN_CHECK(entered.status);
    GpuPlaces places = {};
    HEWN_CHECK(locate(op, inputs, Bindings(&output), places, error));
    return then(op, places);
}

hewn_status record(const hewn_operator &base, Bindings inputs, const hewn_buffer_binding &output,
                   void *list, hewn_error *error) {
    return with_located(base, inputs, output, error, [&](GpuOperator &op, const GpuPlaces &places) {
        return op.pass_count == 0 ? hewn_status(HEWN_STATUS_OK) : launch(op, places, list, error);
    });
}

hewn_status execute(const hewn_operator &op, Bindings inputs, const hewn_buffer_binding &output,
                    const hewn_execute_options *, hewn_error *error) {
    return record(op, inputs, output, nullptr, error);
}

struct GpuBoundOperator : hewn_bound_operator {
    GpuPlaces places;
};

hewn_status run(const hewn_bound_operator &base, hewn_error *error) {
    const GpuBoundOperator &bound = static_cast<const GpuBoundOperator &>(base);
    GpuOperator &op = static_cast<GpuOperator &>(const_cast<hewn_operator &>(*bound.op));
    const Entered entered(*op.device, error);
    if (entered.status != HEWN_STATUS_OK || op.pass_count == 0) return entered.status;
    return launch(op, bound.places, nullptr, error);
}

hewn_status bind(const hewn_operator &base, Bindings inputs, const hewn_buffer_binding &output,
                 const hewn_execute_options *, hewn_bound_operator **result, hewn_error *error) {
    return with_located(base, inputs, output, error, [&](GpuOperator &op, const GpuPlaces &places) {
        GpuBoundOperator *bound = op.allocator.allocate<GpuBoundOperator>();
        if (!bound)
            return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "%s: no memory for the bound operator",
                        op.problem.info->dml_name);
        bound->op = &op;
        bound->run = run;
        bound->places = places;
        *result = bound;
        return hewn_status(HEWN_STATUS_OK);
    });
}

// ---- Memory ----

// Calls a function of the driver with the driver ready.
template<class Function, class... Arguments>
hewn_status entering(hewn_device &base, hewn_error *error, Function GpuApi::*function,
                     Arguments... arguments) {
    GpuDevice &device = static_cast<GpuDevice &>(base);
    const Entered entered(device, error);
    HEWN_CHECK(entered.status);
    return (device.api->*function)(device, arguments..., error);
}

hewn_status allocate(hewn_device &base, uint64_t bytes, void **memory, hewn_error *error) {
    GpuDevice &device = static_cast<GpuDevice &>(base);
    const Entered entered(device, error);
    HEWN_CHECK(entered.status);
    return allocate_on(device, bytes, memory, error);
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

constexpr Backend kGpu = {compile,    execute, bind, destroy,     destroy_device, allocate,
                          deallocate, write,   read, synchronize, record};

}  // namespace

hewn_status allocate_on(GpuDevice &device, uint64_t bytes, void **memory, hewn_error *error) {
    void *allocated = nullptr;
    const hewn_status status = device.api->allocate(device, bytes, &allocated, error);
    if (status == HEWN_STATUS_OK) *memory = allocated;
    return status;
}

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
    const uint8_t zeros[kZeroBytes] = {};
    hewn_status status = allocate(*device, sizeof zeros, &device->zeros, error);
    if (status == HEWN_STATUS_OK)
        status = write(*device, device->zeros, 0, zeros, sizeof zeros, error);
    if (status != HEWN_STATUS_OK) release(device);
    return status;
}

}  // namespace hewn
