#include "gpu.h"

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstring>

#if defined(_WIN32)
#include <windows.h>
#else
#include <dlfcn.h>
#endif

#include "bindings.h"
#include "error.h"
#include "gpu_division.h"
#include "kernel_contract.h"

namespace hewn {

constexpr int kMaxFunctions = 4;  // of both forms of an operator, with their specialisations

// How an operator's tensors reach its kernels. A launch is a box: as much of the merged space as Halide's 32-bit indices can
// address.
struct GpuOperator : hewn_operator {
    GpuDevice *device;
    const Form *dense, *strided;           // dense: null where the layout is not the one it serves
    Space space;                           // of the operands
    int64_t extent[kMaxRank];              // of a box, along each dimension of the space
    int64_t step_elements;                 // of `dense`
    GpuFunction functions[kMaxFunctions];  // what compile loaded
    int32_t function_count;
};

namespace {

// ---- Boxes ----

// Whether all of a box's indices, of elements and of 32-bit words, stay below `limit`.
bool addressable(const Space &space, const int64_t *extent, int operands, const Tensor *const *tensors, int64_t limit) {
    int64_t elements = 1;
    for (int d = 0; d < space.rank; d++) {
        if (__builtin_mul_overflow(elements, extent[d], &elements) || elements >= limit) return false;
    }
    for (int o = 0; o < operands; o++) {
        const int64_t words = tensors[o]->element_bytes > 4 ? tensors[o]->element_bytes / 4 : 1;
        int64_t span = 1;
        for (int d = 0; d < space.rank; d++) span += (extent[d] - 1) * space.dims[d].stride[o];  // of a tensor: below 2^63
        if (span >= limit / words) return false;
    }
    return true;
}

// Halves the dimension that reaches furthest until the box is addressable. Halves keep the alignment of 64 elements.
void choose_extents(GpuOperator &op, int operands, const Tensor *const *tensors) {
    for (int d = 0; d < op.space.rank; d++) op.extent[d] = op.space.dims[d].size;
    while (!addressable(op.space, op.extent, operands, tensors, op.device->api->index_limit)) {
        int widest = 0;
        int64_t furthest_of_all = 0;
        for (int d = 0; d < op.space.rank; d++) {
            int64_t furthest = op.extent[d];
            for (int o = 0; o < operands; o++) {
                const int64_t along = (op.extent[d] - 1) * op.space.dims[d].stride[o];
                if (along > furthest) furthest = along;
            }
            if (op.extent[d] > 1 && furthest >= furthest_of_all) {
                widest = d;
                furthest_of_all = furthest;
            }
        }
        int64_t half = (op.extent[widest] + 1) / 2;
        if (half > 64) half = (half + 63) / 64 * 64;
        op.extent[widest] = half;
    }
}

// ---- Launches ----

constexpr int kMaxTensors = kMaxInputs + 1;

// One launch's tensors: where they begin, and the buffers that generated code sees.
struct Launch {
    GpuAddress at[kMaxTensors];  // the inputs in order, then the output
    halide_buffer_t buffers[kMaxTensors];
    halide_dimension_t dims[kMaxTensors];
};

// Sets the buffers up as arrays of `words` or of elements.
int set_buffers(GpuCall &call, Launch &launch, const bool *words) {
    const Problem &problem = call.op.problem;
    const GpuApi &api = *call.device.api;
    const auto tensor_at = [&](int t) -> const Tensor & { return t == problem.input_count ? problem.output : problem.inputs[t]; };
    GpuAddress viewed[kMaxTensors];
    for (int t = 0; t <= problem.input_count; t++) {
        const Tensor &tensor = tensor_at(t);
        const int bytes = words[t] || (api.only_32_bits && tensor.element_bytes == 8) ? 4 : tensor.element_bytes;
        GpuAddress at = launch.at[t];
        if (api.view && !call.prepares) {
            int same = 0;  // in place: one view, for what is done through overlapping ones has no order
            while (same < t && (launch.at[same].memory != at.memory || launch.at[same].address != at.address ||
                                tensor_at(same).bytes != tensor.bytes)) {
                same++;
            }
            if (same < t) {
                at = viewed[same];
            } else if (const int code = api.view(call, at, tensor.bytes)) {
                if (call.view_count) api.end_views(call);
                return code;
            }
            viewed[t] = at;
        }
        halide_buffer_t &buffer = launch.buffers[t] = {};
        launch.dims[t] = halide_dimension_t(0, 0x7fffffff, 1);
        buffer.device_interface = api.device_interface;
        buffer.device = api.offsets ? at.memory : at.address;
        if (api.offsets) launch.dims[t].min = -int32_t(at.address / uint64_t(bytes));
        buffer.dim = &launch.dims[t];
        buffer.dimensions = 1;
    }
    return 0;
}

int call_form(GpuCall &call, const Form &form, void **arguments) {
    const int code = reinterpret_cast<KernelFunction>(form.entry)(arguments);
    if (call.view_count) call.device.api->end_views(call);
    // Kernels without assertions do not look at what a launch returns.
    return call.status != HEWN_STATUS_OK ? int(halide_error_code_device_run_failed) : code;
}

int run_dense(GpuCall &call, Launch &launch, int32_t steps) {
    const Problem &problem = call.op.problem;
    bool words[kMaxTensors] = {};
    for (int o = 0; o < problem.info->operand_count; o++) words[problem.info->operands[o]] = call.op.space.dims[0].stride[o] != 0;
    words[problem.input_count] = true;
    if (const int code = set_buffers(call, launch, words)) return code;
    void *context = static_cast<KernelErrors *>(&call), *arguments[kMaxTensors + 2] = {&context};
    int count = 1;
    for (int i = 0; i < problem.input_count; i++) arguments[count++] = &launch.buffers[i];
    arguments[count++] = &steps;
    arguments[count] = &launch.buffers[problem.input_count];
    return call_form(call, *call.op.dense, arguments);
}

int run_strided(GpuCall &call, Launch &launch, const int64_t *extent) {
    static_assert(kMaxRank == kGpuRank && kMaxOperands == kGpuOperands);
    const Problem &problem = call.op.problem;
    const int operands = problem.info->operand_count + 1;
    StridedScalars<int32_t, uint32_t> scalars = {};
    scalars.count = 1;
    scalars.rank = call.op.space.rank;
    for (int d = 0; d < kMaxRank; d++) {
        const bool used = d < call.op.space.rank;
        scalars.size[d] = used ? uint32_t(extent[d]) : 1;
        const Division division = division_by(scalars.size[d]);
        scalars.multiplier[d] = division.multiplier;
        scalars.shift[d] = division.shift;
        if (!used) continue;
        scalars.count *= int32_t(extent[d]);
        // A dimension of one index may have strides beyond 32 bits.
        for (int o = 0; o < operands; o++) scalars.stride[o][d] = extent[d] > 1 ? uint32_t(call.op.space.dims[d].stride[o]) : 0;
    }
    const bool words[kMaxTensors] = {};
    if (const int code = set_buffers(call, launch, words)) return code;
    void *context = static_cast<KernelErrors *>(&call),
         *arguments[1 + kMaxTensors + sizeof scalars / sizeof(int32_t)] = {&context};
    int count = 1;
    for (int i = 0; i < problem.input_count; i++) arguments[count++] = &launch.buffers[i];
    for_each_strided_scalar(scalars, operands, [&](auto &scalar, auto...) { arguments[count++] = &scalar; });
    arguments[count] = &launch.buffers[problem.input_count];
    return call_form(call, *call.op.strided, arguments);
}

bool aligned(const GpuOperator &op, const Launch &launch) {
    const Problem &problem = op.problem;
    uint64_t bits = launch.at[problem.input_count].address;
    for (int o = 0; o < problem.info->operand_count; o++) {
        if (op.space.dims[0].stride[o]) bits |= launch.at[problem.info->operands[o]].address;
    }
    return bits % 16 == 0;
}

// Moves operands to the box at `index`, one number a dimension: of the form `dense` there is one.
void advance(const GpuOperator &op, Launch &launch, const int64_t *index) {
    const Problem &problem = op.problem;
    for (int o = 0; o <= problem.info->operand_count; o++) {
        const int t = o == problem.info->operand_count ? problem.input_count : problem.info->operands[o];
        const Tensor &tensor = t == problem.input_count ? problem.output : problem.inputs[t];
        int64_t elements = 0;
        for (int d = 0; d < op.space.rank; d++) elements += index[d] * op.space.dims[d].stride[o];
        launch.at[t].address += uint64_t(elements) * uint64_t(tensor.present ? tensor.element_bytes : 0);
    }
}

// One box: dense as far as it goes, and what is left over strided.
int run_box(GpuCall &call, const Launch &at_start, const int64_t *index, const int64_t *extent) {
    const GpuOperator &op = call.op;
    Launch launch;
    std::memcpy(launch.at, at_start.at, sizeof launch.at);
    advance(op, launch, index);
    if (!op.dense || !aligned(op, launch)) return run_strided(call, launch, extent);
    const int64_t steps = extent[0] / op.step_elements, done = steps * op.step_elements, rest = extent[0] - done;
    if (steps > 0) {
        if (const int code = run_dense(call, launch, int32_t(steps))) return code;
    }
    if (rest == 0) return 0;
    advance(op, launch, &done);
    return run_strided(call, launch, &rest);
}

int run_boxes(GpuCall &call, const Launch &launch) {
    const GpuOperator &op = call.op;
    int64_t index[kMaxRank] = {}, extent[kMaxRank];
    for (;;) {
        for (int d = 0; d < op.space.rank; d++) {
            const int64_t rest = op.space.dims[d].size - index[d];
            extent[d] = rest < op.extent[d] ? rest : op.extent[d];
        }
        if (const int code = run_box(call, launch, index, extent)) return code;
        int d = 0;
        while (d < op.space.rank && (index[d] += op.extent[d]) >= op.space.dims[d].size) index[d++] = 0;
        if (d == op.space.rank) return 0;
    }
}

// ---- The device ----

void release(GpuDevice *device) {
    if (device->references.fetch_sub(1) != 1) return;
    const Allocator allocator = device->allocator;
    const bool entered = device->api->enter(*device, nullptr) == HEWN_STATUS_OK;
    if (entered) {
        if (device->zeros) device->api->deallocate(*device, device->zeros);
        while (GpuModule *module = device->modules) {
            device->modules = module->next;
            device->api->unload(*device, module->handle);
            allocator.deallocate(module);
        }
        device->api->leave(*device);
    }
    device->api->release(*device);
    pthread_mutex_destroy(&device->mutex);
    allocator.deallocate(device);
}

// The driver's state for the object's lifetime.
class Entered {
public:
    Entered(GpuDevice &device, hewn_error *error) : device_(device), status(device.api->enter(device, error)) {}
    ~Entered() {
        if (status == HEWN_STATUS_OK) device_.api->leave(device_);
    }
    Entered(const Entered &) = delete;
    Entered &operator=(const Entered &) = delete;

private:
    GpuDevice &device_;

public:
    const hewn_status status;
};

void destroy(hewn_operator *base) {
    GpuOperator *op = static_cast<GpuOperator *>(base);
    GpuDevice *device = op->device;
    {
        const Entered entered(*device, nullptr);
        for (int i = 0; i < op->function_count && entered.status == HEWN_STATUS_OK; i++)
            device->api->drop(*device, op->functions[i].handle);
    }
    op->allocator.deallocate(op);
    release(device);
}

void destroy_device(hewn_device *device) { release(static_cast<GpuDevice *>(device)); }

// Elements a step of the dense form.
int64_t step_elements(const GpuOperator &op, int operands, const Tensor *const *tensors) {
    int32_t bytes = kGpuStepBytes;
    for (int o = 0; o < operands; o++) {
        if (op.space.dims[0].stride[o] && tensors[o]->element_bytes < bytes) bytes = tensors[o]->element_bytes;
    }
    return gpu_step_elements(bytes);
}

hewn_status report(const GpuCall &call, hewn_error *error) {
    const hewn_status status = call.status != HEWN_STATUS_OK ? call.status : hewn_status(HEWN_STATUS_KERNEL_FAILED);
    return fail(error, status, "%s: kernel %s: %s", call.op.problem.info->dml_name, call.op.variant->name, call.message);
}

hewn_status compile(const hewn_device &base, const Problem &problem, const hewn_compile_options &options, hewn_operator **result,
                    hewn_error *error) {
    prepare_process();
    GpuDevice &device = static_cast<GpuDevice &>(const_cast<hewn_device &>(base));
    const OperatorInfo &info = *problem.info;
    const Variant *variant = nullptr;
    const hewn_status status = pick_variant(info.name, problem.signature, options.variant, base.support, {}, &variant, error);
    if (status != HEWN_STATUS_OK) return status;
    const Entered entered(device, error);
    if (entered.status != HEWN_STATUS_OK) return entered.status;

    GpuOperator *op = device.allocator.allocate<GpuOperator>();
    if (!op) return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "%s: no memory for the operator", info.dml_name);
    op->backend = device.backend;
    op->allocator = device.allocator;
    op->problem = problem;
    op->variant = variant;
    op->device = &device;
    device.references.fetch_add(1);
    if (!problem.output.empty()) {
        const Tensor *operands[kMaxOperands];
        const int count = list_operands(op->problem, operands);
        op->space = merge_dimensions(operands, count);
        choose_extents(*op, count, operands);
        op->strided = variant->form("strided");
        op->step_elements = step_elements(*op, count, operands);
        uint32_t layout = 0;
        bool rows = op->space.rank == 1;
        for (int o = 0; o < count; o++) {
            const int64_t stride = op->space.dims[0].stride[o];
            rows &= stride == 1 || (stride == 0 && o < info.operand_count);
            if (o < info.operand_count) layout = layout << 1 | uint32_t(stride & 1);
        }
        const Form *dense = variant->form("dense");
        if (dense && rows && dense->layouts >> layout & 1) op->dense = dense;

        GpuCall call(device, *op, true);
        Launch launch = {};
        int64_t one[kMaxRank];
        for (int64_t &extent : one) extent = 1;
        int code = run_strided(call, launch, one);
        if (code == 0 && op->dense) code = run_dense(call, launch, 1);
        if (code) {
            const hewn_status failed = report(call, error);
            destroy(op);
            return failed;
        }
    }
    *result = op;
    return HEWN_STATUS_OK;
}

// Where the bindings' tensors are, or what is wrong with one.
hewn_status locate(const GpuOperator &op, const Bindings &inputs, const hewn_buffer_binding &output, Launch &launch,
                   hewn_error *error) {
    GpuDevice &device = *op.device;
    const Problem &problem = op.problem;
    for (int i = -1; i < problem.input_count; i++) {  // the output first: inputs are compared with it
        const Tensor &tensor = i < 0 ? problem.output : problem.inputs[i];
        const hewn_buffer_binding &binding = i < 0 ? output : inputs[i];
        GpuAddress &at = launch.at[i < 0 ? problem.input_count : i], &output_at = launch.at[problem.input_count];
        GpuAddress where = {};
        hewn_buffer_binding bound = binding;
        if (!tensor.present) {
            const hewn_status status = check_absent(problem, tensor, binding, error);
            if (status != HEWN_STATUS_OK) return status;
            bound.buffer = device.zeros;
            bound.offset = 0;
            bound.size = 16;
        }
        if (bound.buffer) {
            const hewn_status status = device.api->locate(device, bound, problem.info->dml_name, tensor.name, &where, error);
            if (status != HEWN_STATUS_OK) return status;
        }
        if (!tensor.present) {
            at = where;
            continue;
        }
        uintptr_t address = 0;
        hewn_status status = check_binding(problem, tensor, binding, where.address, &address, error);
        at = {where.memory, address};
        if (status == HEWN_STATUS_OK && i >= 0 && at.memory == output_at.memory)
            status = check_overlap(problem, tensor, address, uintptr_t(output_at.address), error);
        if (status != HEWN_STATUS_OK) return status;
    }
    return HEWN_STATUS_OK;
}

// Into a list of the program's; null: into one of the device's own, which is submitted, or to its queue.
hewn_status run(const hewn_operator &base, const Bindings &inputs, const hewn_buffer_binding &output, void *list,
                hewn_error *error) {
    GpuOperator &op = static_cast<GpuOperator &>(const_cast<hewn_operator &>(base));
    GpuDevice &device = *op.device;
    const GpuApi &api = *device.api;
    if (const hewn_status status = check_struct_sizes(op.problem, inputs, error); status != HEWN_STATUS_OK) return status;
    const Entered entered(device, error);
    if (entered.status != HEWN_STATUS_OK) return entered.status;
    Launch launch = {};
    hewn_status status = locate(op, inputs, output, launch, error);
    if (status != HEWN_STATUS_OK || op.problem.output.empty()) return status;

    GpuCall call(device, op, false);
    call.list = list;
    const bool submits = !list && api.begin;
    if (submits) status = api.begin(device, &call.list, error);
    if (status != HEWN_STATUS_OK) return status;
    if (run_boxes(call, launch) != 0) status = report(call, error);
    if (call.list) api.barrier(call);
    if (!submits) return status;
    const hewn_status submitted = api.submit(device, status == HEWN_STATUS_OK ? error : nullptr);
    return status != HEWN_STATUS_OK ? status : submitted;
}

hewn_status execute(const hewn_operator &op, Bindings inputs, const hewn_buffer_binding &output, const hewn_execute_options *,
                    hewn_error *error) {
    return run(op, inputs, output, nullptr, error);
}

// ---- Memory ----

GpuDevice &gpu(hewn_device &device) { return static_cast<GpuDevice &>(device); }

hewn_status allocate(hewn_device &device, uint64_t bytes, void **memory, hewn_error *error) {
    const Entered entered(gpu(device), error);
    return entered.status == HEWN_STATUS_OK ? gpu(device).api->allocate(gpu(device), bytes, memory, error) : entered.status;
}
void deallocate(hewn_device &device, void *memory) {
    const Entered entered(gpu(device), nullptr);
    if (entered.status == HEWN_STATUS_OK) gpu(device).api->deallocate(gpu(device), memory);
}
hewn_status write(hewn_device &device, void *memory, uint64_t offset, const void *from, uint64_t bytes, hewn_error *error) {
    const Entered entered(gpu(device), error);
    return entered.status == HEWN_STATUS_OK ? gpu(device).api->write(gpu(device), memory, offset, from, bytes, error)
                                            : entered.status;
}
hewn_status read(hewn_device &device, void *memory, uint64_t offset, void *to, uint64_t bytes, hewn_error *error) {
    const Entered entered(gpu(device), error);
    return entered.status == HEWN_STATUS_OK ? gpu(device).api->read(gpu(device), memory, offset, to, bytes, error)
                                            : entered.status;
}
hewn_status synchronize(hewn_device &device, hewn_error *error) {
    const Entered entered(gpu(device), error);
    return entered.status == HEWN_STATUS_OK ? gpu(device).api->synchronize(gpu(device), error) : entered.status;
}

constexpr Backend kGpu = {compile, execute, destroy, destroy_device, allocate, deallocate, write, read, synchronize};

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

hewn_status start_gpu_device(GpuDevice *device, const GpuApi &api, const Allocator &allocator, int32_t capability,
                             hewn_error *error) {
    device->backend = &kGpu;
    device->allocator = allocator;
    device->support = {api.kind, capability};
    device->api = &api;
    device->references = 1;
    pthread_mutex_init(&device->mutex, nullptr);
    const uint8_t zeros[16] = {};
    hewn_status status = allocate(*device, sizeof zeros, &device->zeros, error);
    if (status == HEWN_STATUS_OK) status = write(*device, device->zeros, 0, zeros, sizeof zeros, error);
    if (status != HEWN_STATUS_OK) release(device);
    return status;
}

int gpu_initialize(void *context, const char *source, int bytes) {
    GpuCall &call = *static_cast<GpuCall *>(static_cast<KernelErrors *>(context));
    if (!call.prepares) return 0;
    GpuDevice &device = call.device;
    pthread_mutex_lock(&device.mutex);
    GpuModule *module = device.modules;
    while (module && module->source != source) module = module->next;
    int code = 0;
    if (!module) {
        hewn_error error = {sizeof error, HEWN_STATUS_OK, {}};
        module = device.allocator.allocate<GpuModule>();
        if (!module) code = call.failed(HEWN_STATUS_OUT_OF_MEMORY, "no memory for the module");
        else if (const hewn_status status = device.api->load(device, source, size_t(bytes), &module->handle, &error)) {
            device.allocator.deallocate(module);
            code = call.failed(status, "%s", error.message);
        } else {
            module->source = source;
            module->next = device.modules;
            device.modules = module;
        }
    }
    pthread_mutex_unlock(&device.mutex);
    if (code == 0) call.module = module;
    return code;
}

int gpu_run(void *context, const char *entry, GpuExtent blocks, GpuExtent threads, const size_t *argument_bytes,
            void *const *arguments, const int8_t *is_buffer) {
    GpuCall &call = *static_cast<GpuCall *>(static_cast<KernelErrors *>(context));
    GpuOperator &op = call.op;
    if (call.status != HEWN_STATUS_OK) return halide_error_code_device_run_failed;
    if (call.prepares) {
        hewn_error error = {sizeof error, HEWN_STATUS_OK, {}};
        if (op.function_count == kMaxFunctions) return call.failed(HEWN_STATUS_KERNEL_FAILED, "%s is one kernel too many", entry);
        GpuFunction &function = op.functions[op.function_count];
        if (const hewn_status status = call.device.api->find(call.device, call.module->handle, entry, &function.handle, &error))
            return call.failed(status, "%s", error.message);
        function.entry = entry;
        op.function_count++;
        return 0;
    }
    const GpuLaunch launch = {{size_t(blocks.x), size_t(blocks.y), size_t(blocks.z)},
                              {size_t(threads.x), size_t(threads.y), size_t(threads.z)},
                              argument_bytes,
                              arguments,
                              is_buffer};
    for (int i = 0; i < op.function_count; i++) {
        if (op.functions[i].entry != entry) continue;
        return call.device.api->launch(call, op.functions[i].handle, launch);
    }
    return call.failed(HEWN_STATUS_KERNEL_FAILED, "kernel %s was not loaded at compile", entry);
}

void *open_driver(const char *const *names) {
    for (; *names; names++) {
#if defined(_WIN32)
        if (void *library = reinterpret_cast<void *>(LoadLibraryExA(*names, nullptr, LOAD_LIBRARY_SEARCH_SYSTEM32)))
            return library;
#else
        if (void *library = dlopen(*names, RTLD_NOW | RTLD_LOCAL)) return library;
#endif
    }
    return nullptr;
}

void *driver_symbol(void *library, const char *name) {
#if defined(_WIN32)
    return reinterpret_cast<void *>(GetProcAddress(static_cast<HMODULE>(library), name));
#else
    return dlsym(library, name);
#endif
}

hewn_status gpu_record(const hewn_operator &op, Bindings inputs, const hewn_buffer_binding &output, void *list,
                       hewn_error *error) {
    return run(op, inputs, output, list, error);
}

}  // namespace hewn
