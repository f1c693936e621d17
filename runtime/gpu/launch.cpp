// Launches the passes of a GPU's operator: cuts them into boxes, calls the forms' host code, and
// answers the calls that this generated code makes.
#include "launch.h"

#include <algorithm>
#include <numeric>

#include "../base/error.h"
#include "../base/kernel_contract.h"
#include "../base/thread_sanitizer.h"
#include "division.h"

namespace hewn {

namespace {

// Whether the elements of operand o in a box are contiguous.
bool is_contiguous(const Space &space, const int64_t *extent, int o) {
    int64_t elements = 1;
    for (int d = 0; d < space.rank; d++) {
        if (extent[d] > 1 && space.dims[d].stride[o] != elements) return false;
        elements *= extent[d];
    }
    return true;
}

// Whether each row of operand o in a box begins where a step may begin.
bool has_rows_at_steps(const GpuPart &part, const int64_t *extent, int o) {
    for (int d = 1; d < part.space.rank; d++) {
        if (extent[d] > 1 && part.space.dims[d].stride[o] % part.step_elements) return false;
    }
    return true;
}

// Whether the part's form by steps serves a box: its operands by words are contiguous, or have rows
// of whole steps.
bool serves(const GpuPart &part, const int64_t *extent) {
    if (!part.form) return false;
    const bool rows = extent[0] % part.step_elements == 0;
    if (!rows && part.space.rank > kContiguousGpuRank) return false;
    for (int o = 0; o < part.space.operands; o++) {
        if (!(part.by_words >> o & 1) || is_contiguous(part.space, extent, o)) continue;
        if (!rows || !has_rows_at_steps(part, extent, o)) return false;
    }
    return true;
}

// Returns how many indices of its outermost dimension, from the first on, make a box of whole
// steps.
int64_t extent_of_steps(const GpuPart &part, const int64_t *extent) {
    const int last = part.space.rank - 1;
    int64_t inner = 1;
    for (int d = 0; d < last; d++) inner *= extent[d];
    const int64_t together = part.step_elements / std::gcd(inner, part.step_elements);
    return extent[last] - extent[last] % together;
}

// ---- Launches ----

// The tensors of one launch: where they lie, and the buffers that generated code sees.
struct Launch {
    GpuTensor tensors[kMaxTensors];
    halide_buffer_t buffers[kMaxTensors];
    halide_dimension_t dims[kMaxTensors];
};

using Scalars = StridedScalars<int32_t, uint32_t>;
constexpr int kMaxScalars = kMaxNumbers + sizeof(Scalars) / sizeof(int32_t);

// Sets the buffers up as arrays of 32-bit words, where `words` is true, or of elements.
int set_buffers(GpuCall &call, Launch &launch, const bool *words) {
    const Problem &problem = call.pass.problem;
    const GpuApi &api = *call.device.api;
    GpuTensor viewed[kMaxTensors];
    const int count = tensor_count(*problem.info);
    std::copy_n(launch.tensors, count, viewed);
    if (api.view && !call.prepares) {
        if (const int code = api.view(call, viewed, count)) {
            if (call.view_count) api.end_views(call);
            return code;
        }
    }
    for (int t = 0; t < count; t++) {
        const int element_bytes = tensor(problem, t).element_bytes;
        const int bytes = words[t] || (api.only_32_bits && element_bytes == 8) ? 4 : element_bytes;
        halide_buffer_t &buffer = launch.buffers[t] = {};
        launch.dims[t] = halide_dimension_t(0, 0x7fffffff, 1);
        buffer.device_interface = &kGpuInterface;
        const Place &at = viewed[t].at;
        buffer.device = api.offsets ? at.memory : at.address;
        if (api.offsets) launch.dims[t].min = -int32_t(at.address / uint64_t(bytes));
        buffer.dim = &launch.dims[t];
        buffer.dimensions = 1;
    }
    return 0;
}

// Calls a form's generated code, and gives the views of the launch back.
int call_entry(GpuCall &call, const Form &form, void **arguments) {
    const Overlooked overlooked;  // generated code takes a lock of Halide's
    const int code = reinterpret_cast<KernelFunction>(form.entry)(arguments);
    if (call.view_count) call.device.api->end_views(call);
    // Generated code without assertions ignores what a launch returns, so the status tells.
    return call.status != HEWN_STATUS_OK ? int(halide_error_code_device_run_failed) : code;
}

// Calls a form. Its arguments are the inputs' buffers, then what `add_scalars(arguments)` adds,
// then the output's buffer.
template<class AddScalars>
int call_form(GpuCall &call, const Form &form, Launch &launch, const bool *words,
              const AddScalars &add_scalars) {
    if (const int code = set_buffers(call, launch, words)) return code;
    void *context = static_cast<KernelErrors *>(&call),
         *arguments[1 + kMaxTensors + kMaxScalars] = {&context}, **next = arguments;
    const int inputs = call.pass.problem.info->input_count;
    for (int i = 0; i < inputs; i++) *++next = &launch.buffers[i];
    for (int n = 0; n < call.pass.number_count; n++) *++next = &call.pass.numbers[n];
    add_scalars(next);
    *++next = &launch.buffers[inputs];
    return call_entry(call, form, arguments);
}

// Returns the scalars of a box with these extents.
Scalars scalars_of(const Space &space, const int64_t *extent) {
    static_assert(kMaxOperands == kGpuOperands);
    Scalars scalars = {};
    scalars.count = 1;
    scalars.rank = std::min(space.rank, kGpuRank);
    for (int d = 0; d < kGpuRank; d++) {
        const bool used = d < space.rank;
        scalars.size[d] = used ? uint32_t(extent[d]) : 1;
        const Division division = division_by(scalars.size[d]);
        scalars.multiplier[d] = division.multiplier;
        scalars.shift[d] = division.shift;
        if (!used) continue;
        scalars.count *= int32_t(extent[d]);
        // A dimension with one index may have a stride of more than 32 bits.
        for (int o = 0; o < space.operands; o++)
            scalars.stride[o][d] = extent[d] > 1 ? uint32_t(space.dims[d].stride[o]) : 0;
    }
    return scalars;
}

// Calls a form that splits elements' indices.
int call_with_scalars(GpuCall &call, const Form &form, Launch &launch, const bool *words,
                      int operands, Scalars &scalars) {
    return call_form(call, form, launch, words, [&](void **&next) {
        for_each_strided_scalar(scalars, operands,
                                [&](auto &scalar, auto...) { *++next = &scalar; });
    });
}

// Launches a box by the form `strided`.
int run_strided(GpuCall &call, const GpuPart &part, Launch &launch, const int64_t *extent) {
    Scalars scalars = scalars_of(part.space, extent);
    const bool words[kMaxTensors] = {};
    return call_with_scalars(call, *call.pass.form, launch, words, part.space.operands, scalars);
}

// Launches a box of whole steps.
int run_steps(GpuCall &call, const GpuPart &part, Launch &launch, const int64_t *extent) {
    const Problem &problem = call.pass.problem;
    const Space &space = part.space;
    bool words[kMaxTensors] = {};
    for (int o = 0; o < space.operands; o++)
        words[tensor_of_operand(problem, o)] =
            part.by_words >> o & 1 || (!part.dense && space.element_bytes[o] == 8);
    const auto step = int32_t(part.step_elements);
    if (part.dense) {
        int32_t steps = int32_t(extent[0]) / step;
        return call_form(call, *part.form, launch, words, [&](void **&next) { *++next = &steps; });
    }
    Scalars scalars = scalars_of(space, extent);
    scalars.count /= step;
    return call_with_scalars(call, *part.form, launch, words, space.operands, scalars);
}

// Whether all operands by words begin at multiples of 16 bytes.
bool aligned(const Problem &problem, const GpuPart &part, const Launch &launch) {
    uint64_t bits = 0;
    for (int o = 0; o < part.space.operands; o++) {
        if (part.by_words >> o & 1)
            bits |= launch.tensors[tensor_of_operand(problem, o)].at.address;
    }
    return bits % 16 == 0;
}

// Moves operand o by this many elements. An absent tensor, whose strides are 0, is moved by none.
void advance(const Problem &problem, Launch &launch, int o, int64_t elements) {
    const int t = tensor_of_operand(problem, o);
    launch.tensors[t].at.address += uint64_t(elements) * uint64_t(tensor(problem, t).element_bytes);
}

// Moves the operands to the box at `index`, which has a number for each dimension.
void advance(const Problem &problem, const Space &space, Launch &launch, const int64_t *index) {
    for (int o = 0; o < space.operands; o++) {
        int64_t elements = 0;
        for (int d = 0; d < space.rank; d++) elements += index[d] * space.dims[d].stride[o];
        advance(problem, launch, o, elements);
    }
}

// Launches one box: by steps as far as they go, and the rest by `strided`.
int run_box(GpuCall &call, const GpuPart &part, const Place *at, const int64_t *index,
            const int64_t *extent) {
    const Problem &problem = call.pass.problem;
    Launch launch;
    for (int t = 0; t <= problem.info->input_count; t++)
        launch.tensors[t] = {at[t], at[t].address + tensor(problem, t).bytes};
    for (int o = 0; o < part.space.operands; o++) advance(problem, launch, o, part.first[o]);
    advance(problem, part.space, launch, index);
    if (!serves(part, extent) || !aligned(problem, part, launch))
        return run_strided(call, part, launch, extent);
    const int last = part.space.rank - 1;
    int64_t steps[kMaxDimensions], rest[kMaxDimensions], done[kMaxDimensions] = {};
    std::copy_n(extent, part.space.rank, steps);
    std::copy_n(extent, part.space.rank, rest);
    done[last] = steps[last] = extent_of_steps(part, extent);
    rest[last] -= done[last];
    if (done[last] > 0) {
        if (const int code = run_steps(call, part, launch, steps)) return code;
    }
    if (rest[last] == 0) return 0;
    advance(problem, part.space, launch, done);
    return run_strided(call, part, launch, rest);
}

// Calls run(index, extent) for each box of the part. Stops at the first code other than 0, and
// returns it.
template<class Run>
int for_each_box(const GpuPart &part, const Run &run) {
    const Space &space = part.space;
    int64_t index[kMaxDimensions] = {}, extent[kMaxDimensions];
    for (;;) {
        for (int d = 0; d < space.rank; d++)
            extent[d] = std::min(space.dims[d].size - index[d], part.extent[d]);
        if (const int code = run(index, extent)) return code;
        int d = 0;
        while (d < space.rank && (index[d] += extent[d]) >= space.dims[d].size) index[d++] = 0;
        if (d == space.rank) return 0;
    }
}

}  // namespace

namespace {

// Loads every kernel of the parts by preparing small boxes.
int load_elements(GpuCall &call) {
    Launch launch = {};
    int64_t one[kMaxDimensions];
    for (int64_t &extent : one) extent = 1;
    for (int p = 0; p < call.pass.part_count; p++) {
        const GpuPart &part = call.pass.parts[p];
        if (const int code = run_strided(call, part, launch, one)) return code;
        // The form `runs` has a specialisation for rows of whole steps. A box of a single row is
        // such a row, so two kinds of boxes are prepared.
        for (int d = 0; part.form && d < std::min(part.space.rank, 2); d++) {
            int64_t step[kMaxDimensions];
            std::copy_n(one, kMaxDimensions, step);
            step[d] = part.step_elements;
            if (const int code = run_steps(call, part, launch, step)) return code;
        }
    }
    return 0;
}

int launch_elements(GpuCall &call, const Place *at) {
    for (int p = 0; p < call.pass.part_count; p++) {
        const GpuPart &part = call.pass.parts[p];
        const int code = for_each_box(part, [&](const int64_t *index, const int64_t *extent) {
            return run_box(call, part, at, index, extent);
        });
        if (code) return code;
    }
    return 0;
}

// Returns a launch whose tensors are all of the pass's, each from its place to its end.
Launch launch_at(const Problem &problem, const Place *at) {
    Launch launch;
    for (int t = 0; t < tensor_count(*problem.info); t++)
        launch.tensors[t] = {at[t], at[t].address + tensor(problem, t).bytes};
    return launch;
}

// ---- Sub-byte types ----

// Calls the form that packs or unpacks: `packed` bytes, which have `elements` elements.
int call_packing(GpuCall &call, Launch &launch, int64_t elements, int64_t packed) {
    const GpuPass &pass = call.pass;
    const bool unpacks = pass.kind == GpuPass::Unpack, words[kMaxTensors] = {false, unpacks};
    int32_t count = int32_t(unpacks ? (elements + 3) / 4 : packed),
            last = int32_t(unpacks ? packed : elements) - 1;
    uint32_t bits = pass.conversion->bits, is_signed = pass.conversion->is_signed;
    return call_form(call, *pass.form, launch, words, [&](void **&next) {
        *++next = &count;
        *++next = &last;
        *++next = &bits;
        *++next = &is_signed;
    });
}

int launch_packing(GpuCall &call, const Place *at) {
    const GpuPass &pass = call.pass;
    const bool unpacks = pass.kind == GpuPass::Unpack;
    const int bits = pass.conversion->bits;
    // The input's bytes. A launch takes as many as it can index, and begins and ends where an
    // element begins at a byte. 3 is for elements of 6 bits, and the power of two keeps addresses
    // aligned.
    const auto total = int64_t(pass.problem.inputs[0].bytes);
    constexpr int64_t kWhole = 3 << 12;
    const int64_t most = call.device.api->index_limit / 8 / kWhole * kWhole;
    Launch launch = launch_at(pass.problem, at);
    for (int64_t done = 0; done < total; done += most) {
        const int64_t bytes = std::min(most, total - done),
                      elements = unpacks ? bytes * 8 / bits : bytes,
                      packed = unpacks ? bytes : (bytes * bits + 7) / 8;
        const int code = call_packing(call, launch, elements, packed);
        if (code || call.prepares) return code;
        launch.tensors[0].at.address += uint64_t(bytes);
        launch.tensors[1].at.address += uint64_t(unpacks ? elements : packed);
    }
    return 0;
}

// ---- DYNAMIC_QUANTIZE_LINEAR ----

int launch_ranges(GpuCall &call, const Place *at) {
    const GpuPass &pass = call.pass;
    const GpuPart &part = pass.parts[0];
    uint64_t set = 0;
    const bool words[kMaxTensors] = {false, true};
    const auto run = [&](const int64_t *index, const int64_t *extent) {
        Launch launch = launch_at(pass.problem, at);
        int64_t elements = 0;
        for (int d = 0; d < part.space.rank; d++)
            elements += index[d] * part.space.dims[d].stride[0];
        launch.tensors[0].at.address += uint64_t(elements) * 4;
        launch.tensors[1].at.address += sizeof(uint32_t) * 2 * kGpuRangeBlocks * set++;
        Scalars scalars = scalars_of(part.space, extent);
        return call_with_scalars(call, *pass.form, launch, words, 1, scalars);
    };
    const int64_t first[kMaxDimensions] = {};
    return call.prepares ? run(first, part.extent) : for_each_box(part, run);
}

// Launches the form `parameters`, whose arguments end with two outputs.
int launch_parameters(GpuCall &call, const Place *at) {
    Launch launch = launch_at(call.pass.problem, at);
    const bool words[kMaxTensors] = {true, true, false};
    if (const int code = set_buffers(call, launch, words)) return code;
    void *context = static_cast<KernelErrors *>(&call);
    void *arguments[] = {&context, &launch.buffers[0], &call.pass.sets, &launch.buffers[1],
                         &launch.buffers[2]};
    return call_entry(call, *call.pass.form, arguments);
}

// Launches a pass of any kind, or loads its kernels if the call prepares.
int launch_kind(GpuCall &call, const Place *at) {
    switch (call.pass.kind) {
    case GpuPass::Unpack:
    case GpuPass::Pack: return launch_packing(call, at);
    case GpuPass::Ranges: return launch_ranges(call, at);
    case GpuPass::Parameters: return launch_parameters(call, at);
    default: return call.prepares ? load_elements(call) : launch_elements(call, at);
    }
}

}  // namespace

int load_kernels(GpuCall &call) {
    const Place nowhere[kMaxTensors] = {};
    return launch_kind(call, nowhere);
}

int launch_pass(GpuCall &call, const GpuPlaces &places) {
    Place at[kMaxTensors];
    for (int t = 0; t < tensor_count(*call.pass.problem.info); t++)
        at[t] = places.at[call.pass.places[t]];
    return launch_kind(call, at);
}

// ---- What generated code calls ----

const halide_device_interface_t kGpuInterface = {};

namespace {

// Returns the device's module of that source, which is loaded the first time; null if that failed.
// The device's mutex must be held.
GpuModule *module_of(GpuCall &call, const char *source, size_t bytes) {
    GpuDevice &device = call.device;
    for (GpuModule *module = device.modules; module; module = module->next) {
        if (module->source == source) return module;
    }
    GpuModule *module = device.allocator.allocate<GpuModule>();
    if (!module) {
        call.failed(HEWN_STATUS_OUT_OF_MEMORY, "no memory for the module");
        return nullptr;
    }
    hewn_error error = {sizeof error, HEWN_STATUS_OK, {}};
    if (const hewn_status status =
            device.api->load(device, source, bytes, &module->handle, &error)) {
        device.allocator.deallocate(module);
        call.failed(status, "%s", error.message);
        return nullptr;
    }
    module->source = source;
    module->next = device.modules;
    return device.modules = module;
}

// Loads the kernel `entry` of call.module into the pass.
int load_function(GpuCall &call, const char *entry) {
    GpuPass &pass = call.pass;
    for (int i = 0; i < pass.function_count; i++) {
        if (pass.functions[i].entry == entry) return 0;  // another part loaded it
    }
    hewn_error error = {sizeof error, HEWN_STATUS_OK, {}};
    if (pass.function_count == kMaxFunctions)
        return call.failed(HEWN_STATUS_KERNEL_FAILED, "%s is one kernel too many", entry);
    GpuFunction &function = pass.functions[pass.function_count];
    if (const hewn_status status = call.device.api->find(call.device, call.module->handle, entry,
                                                         &function.handle, &error))
        return call.failed(status, "%s", error.message);
    function.entry = entry;
    pass.function_count++;
    return 0;
}

}  // namespace

int gpu_initialize(void *context, const char *source, int bytes) {
    GpuCall &call = *static_cast<GpuCall *>(static_cast<KernelErrors *>(context));
    if (!call.prepares) return 0;
    pthread_mutex_lock(&call.device.mutex);
    call.module = module_of(call, source, size_t(bytes));
    pthread_mutex_unlock(&call.device.mutex);
    return call.module ? 0 : int(halide_error_code_device_run_failed);
}

int gpu_run(void *context, const char *entry, GpuExtent blocks, GpuExtent threads, int shared_bytes,
            const size_t *argument_bytes, void *const *arguments, const int8_t *is_buffer) {
    GpuCall &call = *static_cast<GpuCall *>(static_cast<KernelErrors *>(context));
    const GpuPass &pass = call.pass;
    if (call.status != HEWN_STATUS_OK) return halide_error_code_device_run_failed;
    if (call.prepares) return load_function(call, entry);
    const GpuLaunch launch = {{size_t(blocks.x), size_t(blocks.y), size_t(blocks.z)},
                              {size_t(threads.x), size_t(threads.y), size_t(threads.z)},
                              size_t(shared_bytes),
                              argument_bytes,
                              arguments,
                              is_buffer};
    for (int i = 0; i < pass.function_count; i++) {
        if (pass.functions[i].entry != entry) continue;
        return call.device.api->launch(call, pass.functions[i].handle, launch);
    }
    return call.failed(HEWN_STATUS_KERNEL_FAILED, "kernel %s was not loaded at compile", entry);
}

}  // namespace hewn
