// The CPU device: memory, the floating-point mode, and running a plan slice by slice.
#include <HalideRuntime.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "../base/error.h"
#include "../base/system.h"
#include "../dispatch/chip.h"
#include "../dispatch/device.h"
#include "../problem/bindings.h"
#include "boxes.h"
#include "device.h"
#include "dynamic_quantize_linear.h"
#include "fp_mode.h"
#include "kernel.h"
#include "pool.h"

#if defined(__ELF__)
// No kernel traces. Halide's own, which is weak, would come with all that it prints by into every
// program, 5.5 KB, as the pointer to it lies beside those that are used.
extern "C" int32_t halide_default_trace(void *, const halide_trace_event_t *) { return 0; }
#endif

namespace hewn {

namespace {

// ---- Memory ----

void *HEWN_CALL allocate_from_system(void *, size_t bytes, size_t alignment) {
    return allocate_aligned(bytes, alignment);
}
void HEWN_CALL deallocate_to_system(void *, void *memory) { deallocate_aligned(memory); }

// ---- Compile ----

// What a binding of a tensor must fulfil.
struct BindingRule {
    uint64_t bytes;    // kUnbound: the tensor is absent or a constant, its binding has no buffer
    uint64_t highest;  // address at which it ends within the address space; 0: at none, for it is
                       // too large
    uint64_t misaligned;  // bits of an address that must be 0
    uint64_t
        overlapping;  // an input's: at how many addresses it would share a byte with the output
    uint32_t
        typed[2];   // struct_size of a binding that says its type: the tensor's, or its stand-in's
    bool in_place;  // an input's: but it may lie where the output lies
};
constexpr uint64_t kUnbound = UINT64_MAX;  // no memory has so many

// The short blocks at a dimension's end, which run after all the others.
struct CpuRest {
    int64_t first_bytes[kMaxOperands];  // from each operand's first element on
    Plan plan;
    CpuKernel kernel;
};

// Where it is false, a program does not link what nothing calls.
constexpr bool kHasPasses = is_built("dynamic_quantize_linear");

// The first pass of DYNAMIC_QUANTIZE_LINEAR; the operator's own plan and kernel are the second.
struct CpuRange {
    Problem quantization;  // the second pass as a problem
    Plan plan;
    CpuKernel kernel;
};

struct CpuOperator : hewn_operator {
    BindingRule inputs[kMaxInputs], output;  // the latter empty where there are several outputs
    void *fixed[kMaxInputs];  // where inputs that are not bound lie; null of the others
    void *constants;          // the memory of those that are constants
    int32_t
        operand_at[kMaxOperands];  // which address of an execution is the kernel's (see Addresses)
    Plan plan;
    CpuKernel kernel;
    CpuRest *rest;                          // null: there is none
    CpuRange *range;                        // null: all other operators
    halide_buffer_t buffers[kMaxOperands];  // what a kernel with assertions looks at; else unused
    int32_t max_threads;                    // 0: no limit
    int32_t cpus;    // that an execution of the operator's executor may run on
    int32_t online;  // that one of a caller's may
    hewn_parallel_for_fn parallel_for;
    void *parallel_for_context;
};

BindingRule binding_rule(const Problem &problem, const Tensor &tensor) {
    const Tensor &output = problem.output;
    const uint64_t bytes = is_bound(tensor) ? tensor.bytes : kUnbound;
    const uint64_t highest = bytes <= UINTPTR_MAX ? UINTPTR_MAX - bytes : 0;
    return {
        bytes,
        highest,
        uint64_t(tensor.element_bytes - 1),
        tensor.bytes + output.bytes - 1,
        {uint32_t(HEWN_BINDING_OF(tensor.type)), uint32_t(HEWN_BINDING_OF(stand_in(tensor.type)))},
        problem.info->in_place && same_byte_strides(output, tensor)};
}

void destroy(hewn_operator *op) {
    CpuOperator *cpu = static_cast<CpuOperator *>(op);
    const Allocator allocator = cpu->allocator;
    destroy_plan(allocator, cpu->plan);
    allocator.deallocate(cpu->kernel.settled);
    if (cpu->rest) {
        destroy_plan(allocator, cpu->rest->plan);
        allocator.deallocate(cpu->rest->kernel.settled);
        allocator.deallocate(cpu->rest);
    }
    if (kHasPasses && cpu->range) {
        destroy_plan(allocator, cpu->range->plan);
        allocator.deallocate(cpu->range);
    }
    allocator.deallocate(cpu->constants);
    allocator.deallocate(cpu);
}

// What an absent zero point reads: one element of any type.
alignas(16) constexpr uint8_t kZeros[16] = {};

// Copies the constants. False: there is no memory.
bool fix_inputs(CpuOperator &op) {
    Problem &problem = op.problem;
    const int count = problem.info->input_count;
    const uint64_t bytes = constant_offset(problem, count);
    if (bytes > SIZE_MAX) return false;
    if (bytes > 0) {
        op.constants = op.allocator.allocate_hook(op.allocator.context, size_t(bytes), 64);
        if (!op.constants) return false;
    }
    for (int i = 0; i < count; i++) {
        const Tensor &tensor = problem.inputs[i];
        if (!tensor.present) op.fixed[i] = const_cast<uint8_t *>(kZeros);
        if (!tensor.constant) continue;
        op.fixed[i] = static_cast<uint8_t *>(op.constants) + constant_offset(problem, i);
        if (!tensor.empty()) std::memcpy(op.fixed[i], problem.constants[i], size_t(tensor.bytes));
        problem.constants[i] = op.fixed[i];
    }
    return true;
}

// Where the tensors of an execution lie: the inputs in order, then the outputs.
using Addresses = void *[kMaxTensors];

// A part of an execution, all of it where there is no rest.
struct Work {
    const CpuOperator &op;
    const Plan &plan;
    const CpuKernel &kernel;
    const Addresses &tensors, &first;  // where the tensors begin, and where the part's elements do
};

// One in slices.
struct Execution {
    const Work &work;
    int32_t slices;
    bool output_is_read_next;
    KernelErrors &errors;            // what the first failing slice reported
    std::atomic<int32_t> failed{0};  // and its code
};

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

// Plans a part of the operator, or a pass of it, with what its constants decide.
__attribute__((cold)) hewn_status plan_part(CpuOperator &op, const Problem &problem,
                                            const Part &part, const Chip &chip, Plan &plan,
                                            CpuKernel &kernel, hewn_error *error) {
    const char *name = op.problem.info->dml_name;
    kernel.problem = &problem;
    if (!plan_kernel(part.space, *op.variant, chip, {op.max_threads, op.cpus}, op.allocator, plan,
                     kernel))
        return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "%s: no memory for the operator's plan",
                    name);
    plan.target_rank = op.variant->target->rank;
    place_packed(part, op.problem.output, plan);
    const CpuForms &forms = forms_of(*problem.info);
    KernelErrors errors;
    const int failed =
        forms.settle ? forms.settle(plan, op.allocator, kernel, op.fixed, &errors) : 0;
    if (failed == 0) return HEWN_STATUS_OK;
    if (failed == kNoMemory)
        return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "%s: no memory for the operator", name);
    return fail(error, HEWN_STATUS_KERNEL_FAILED, "%s: kernel %s failed with code %d: %s", name,
                op.variant->name, failed, errors.message);
}

// Plans the operator, whose output is not empty, or its second pass.
__attribute__((cold)) hewn_status plan_parts(CpuOperator &op, const Problem &problem,
                                             const Chip &chip, hewn_error *error) {
    const Tensor *operands[kMaxOperands];
    const int count = list_operands(problem, operands);
    for (int o = 0; o < count; o++) op.operand_at[o] = tensor_of_operand(problem, o);
    for (int o = 0; o < count && kKernelAssertions; o++) {
        op.buffers[o].type = halide_type(kernel_type(*problem.info, *operands[o]));
        op.buffers[o].dimensions = 2;
    }
    Part parts[kMaxParts];
    const int part_count = split_blocks(operands, count, parts);
    HEWN_CHECK(plan_part(op, problem, parts[0], chip, op.plan, op.kernel, error));
    if (part_count == 1) return HEWN_STATUS_OK;
    op.rest = op.allocator.allocate<CpuRest>();
    if (!op.rest)
        return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "%s: no memory for the operator",
                    op.problem.info->dml_name);
    for (int o = 0; o < count; o++)
        op.rest->first_bytes[o] =
            operands[o]->packing ? 0 : parts[1].first[o] * operands[o]->element_bytes;
    return plan_part(op, problem, parts[1], chip, op.rest->plan, op.rest->kernel, error);
}

// Plans both passes of DYNAMIC_QUANTIZE_LINEAR.
__attribute__((cold)) hewn_status plan_passes(CpuOperator &op, const Chip &chip,
                                              hewn_error *error) {
    op.range = op.allocator.allocate<CpuRange>();
    if (!op.range)
        return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "%s: no memory for the operator",
                    op.problem.info->dml_name);
    op.range->quantization = quantization_of(op.problem);
    if (op.problem.output.empty()) return HEWN_STATUS_OK;
    const Part all = {range_space(op.problem.inputs[kDynamicInput]), {}};
    HEWN_CHECK(plan_part(op, op.problem, all, chip, op.range->plan, op.range->kernel, error));
    return plan_parts(op, op.range->quantization, chip, error);
}

__attribute__((cold)) hewn_status plan_operator(CpuOperator &op, const Chip &chip,
                                                hewn_error *error) {
    if (kHasPasses && op.problem.info->output_count > 1) return plan_passes(op, chip, error);
    return op.problem.output.empty() ? hewn_status(HEWN_STATUS_OK)
                                     : plan_parts(op, op.problem, chip, error);
}

__attribute__((cold)) hewn_status compile(const hewn_device &device, const Problem &problem,
                                          const hewn_compile_options &options, hewn_operator **op,
                                          hewn_error *error) {
    prepare_process();
    const FloatingPointMode
        mode;  // planning weighs costs in floating point, which the caller may have made to trap
    const char *name = problem.info->dml_name;
    const Variant *variant = nullptr;
    const Chip chip = this_chip();
    const hewn_status status = pick_variant(problem.info->kernels, problem.signature,
                                            options.variant, device.support, chip, &variant, error);
    if (status != HEWN_STATUS_OK) return status;

    CpuOperator *cpu = device.allocator.allocate<CpuOperator>();
    if (!cpu) return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "%s: no memory for the operator", name);
    cpu->backend = device.backend;
    cpu->allocator = device.allocator;
    cpu->problem = problem;
    cpu->variant = variant;
    cpu->parallel_for = options.parallel_for ? options.parallel_for : pool_parallel_for;
    cpu->parallel_for_context = options.parallel_for_context;
    cpu->max_threads = options.max_threads;
    cpu->online = online_cpus();
    cpu->cpus =
        options.parallel_for ? cpu->online : available_cpus();  // its threads are not this one's
    for (int i = 0; i < problem.info->input_count; i++)
        cpu->inputs[i] = binding_rule(problem, problem.inputs[i]);
    if (problem.info->output_count == 1) cpu->output = binding_rule(problem, problem.output);
    if (!fix_inputs(*cpu)) {
        destroy(cpu);
        return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "%s: no memory for the operator's constants",
                    name);
    }
    const hewn_status planned = plan_operator(*cpu, chip, error);
    if (planned != HEWN_STATUS_OK) {
        destroy(cpu);
        return planned;
    }
    *op = cpu;
    return HEWN_STATUS_OK;
}

// ---- Execute ----

// The address of a present tensor's binding. False where a rule is broken, which read_address puts
// in words.
inline bool fulfils(const BindingRule &rule, const hewn_buffer_binding &binding,
                    uintptr_t &address) {
    const uint32_t size = binding.struct_size;
    return binding.size >= rule.bytes &&
           (size == sizeof(hewn_buffer_binding) || size == rule.typed[0] ||
            size == rule.typed[1]) &&
           !__builtin_add_overflow(reinterpret_cast<uintptr_t>(binding.buffer), binding.offset,
                                   &address) &&
           address <= rule.highest && (address & rule.misaligned) == 0;
}

// All addresses, where every binding is as it should be, no tensor is empty and the output lies
// apart from all inputs or in place: the usual case, in few instructions, most of what a small call
// takes. False: it needs a closer look.
template<int Inputs>
inline bool locate(const CpuOperator &op, const hewn_buffer_binding *inputs,
                   const hewn_buffer_binding &output, Addresses &addresses) {
    uintptr_t out, in;
    if (op.output.bytes == 0 || !output.buffer || !fulfils(op.output, output, out)) return false;
    addresses[Inputs] = reinterpret_cast<void *>(out);
#pragma GCC unroll 8
    for (int i = 0; i < Inputs; i++) {
        const BindingRule &rule = op.inputs[i];
        if (inputs[i].buffer) {
            if (!fulfils(rule, inputs[i], in))
                return false;  // that of a tensor that is not bound never does
            // in - out lies between -bytes and the output's bytes. In 64 bits, as addresses of 32
            // would wrap before.
            if (uint64_t(in) - out + (rule.bytes - 1) < rule.overlapping &&
                !(rule.in_place && in == out))
                return false;
            addresses[i] = reinterpret_cast<void *>(in);
        } else {
            if (rule.bytes != kUnbound || inputs[i].struct_size != sizeof(hewn_buffer_binding))
                return false;
            addresses[i] = op.fixed[i];
        }
    }
    return true;
}

bool locate(const CpuOperator &op, const hewn_buffer_binding *inputs,
            const hewn_buffer_binding &output, Addresses &addresses) {
#define HEWN_TENSOR(...) +1
#define HEWN_COUNT(...) (-1 __VA_ARGS__)
#define HEWN_OPERATOR(name, kernels, type, dml_name, command, formula, onnx, in_place, wraps, \
                      one_width, signature, tensors, levels) \
    if constexpr (is_built(#kernels)) { \
        if (op.problem.info->input_count == HEWN_COUNT tensors) \
            return locate<HEWN_COUNT tensors>(op, inputs, output, addresses); \
    }
#include "operators.inc"
#undef HEWN_COUNT
    return false;
}

}  // namespace

bool is_located_at_once(const hewn_operator &op, const hewn_buffer_binding *inputs,
                        const hewn_buffer_binding &output) {
    Addresses addresses;
    return locate(static_cast<const CpuOperator &>(op), inputs, output, addresses);
}

namespace {

hewn_status read_address(const Problem &problem, const Tensor &tensor,
                         const hewn_buffer_binding &binding, void **result, hewn_error *error) {
    uintptr_t address = 0;
    const hewn_status status = check_binding(
        problem, tensor, binding, reinterpret_cast<uintptr_t>(binding.buffer), &address, error);
    *result = reinterpret_cast<void *>(address);
    return status;
}

// An output's address, which lies apart from the outputs before it.
hewn_status read_output(const Problem &problem, int output, const hewn_buffer_binding &binding,
                        Addresses &addresses, hewn_error *error) {
    const auto address = [&](int t) { return reinterpret_cast<uintptr_t>(addresses[t]); };
    const int t = problem.info->input_count + output;
    const Tensor &written = tensor(problem, t);
    HEWN_CHECK(read_address(problem, written, binding, &addresses[t], error));
    for (int before = problem.info->input_count; before < t; before++)
        HEWN_CHECK(check_overlap(problem, written, address(t), tensor(problem, before),
                                 address(before), error));
    return HEWN_STATUS_OK;
}

// That input `i` lies apart from all outputs.
hewn_status check_apart(const Problem &problem, int i, const Addresses &addresses,
                        hewn_error *error) {
    const auto address = [&](int t) { return reinterpret_cast<uintptr_t>(addresses[t]); };
    for (int t = problem.info->input_count; t < tensor_count(*problem.info); t++)
        HEWN_CHECK(check_overlap(problem, tensor(problem, t), address(t), problem.inputs[i],
                                 address(i), error));
    return HEWN_STATUS_OK;
}

// All addresses, or what is wrong with a binding. `output` is the first of the outputs' bindings.
__attribute__((noinline)) hewn_status read_addresses(const CpuOperator &op, const Bindings &inputs,
                                                     const hewn_buffer_binding &output,
                                                     Addresses &addresses, hewn_error *error) {
    const Problem &problem = op.problem;
    const Bindings outputs(&output);
    hewn_status status = check_struct_sizes(problem, inputs, outputs, error);
    for (int o = 0; status == HEWN_STATUS_OK && o < problem.info->output_count; o++)
        status = read_output(problem, o, outputs[o], addresses, error);
    for (int i = 0; status == HEWN_STATUS_OK && i < problem.info->input_count; i++) {
        const Tensor &input = problem.inputs[i];
        if (!is_bound(input)) {
            addresses[i] = op.fixed[i];
            status = check_unbound(problem, input, inputs[i], error);
            continue;
        }
        status = read_address(problem, input, inputs[i], &addresses[i], error);
        if (status == HEWN_STATUS_OK) status = check_apart(problem, i, addresses, error);
    }
    return status;
}

// Boxes [first, last) of a part. 0, or the code of the first error, which is noted in call's user
// context.
inline int run_boxes_of(const Work &work, int64_t first, int64_t last, CpuCall &call) {
    const FloatingPointMode mode(work.kernel.subnormals);
    call.flushes = mode.flushes();
    call.maybe_invalid = mode.began_invalid();
    halide_buffer_t buffers[kMaxOperands];
    if (kKernelAssertions) std::memcpy(buffers, work.op.buffers, sizeof buffers);
#pragma GCC unroll 8
    for (int o = 0; o < kMaxOperands; o++)  // all, whatever their number: counting costs more
        buffers[o].host = static_cast<uint8_t *>(work.first[work.op.operand_at[o]]);
    return run_boxes(work.plan, first, last, buffers, work.kernel.call, call);
}

// The same with a large state: apart, for its frame is large.
__attribute__((noinline)) int run_boxes_with_large_state(const Work &work, int64_t first,
                                                         int64_t last, CpuCall &call) {
    alignas(64) uint8_t state[kLargeStateBytes];
    call.large = state;
    return run_boxes_of(work, first, last, call);
}

int run_range(const Work &work, int64_t first, int64_t last, bool output_is_read_next,
              KernelErrors &errors) {
    CpuCall call(work.kernel, work.tensors, &errors);
    call.output_is_read_next = output_is_read_next;
    return work.kernel.large_state ? run_boxes_with_large_state(work, first, last, call)
                                   : run_boxes_of(work, first, last, call);
}

void HEWN_CALL run_slice(void *argument, int32_t index) {
    Execution &execution = *static_cast<Execution *>(argument);
    const Plan &plan = execution.work.plan;
    const int64_t together = plan.boxes_together, parts = plan.box_count / together;
    const int64_t share = parts / execution.slices, rest = parts % execution.slices;
    const int64_t first = share * index + (index < rest ? index : rest),
                  last = first + share + (index < rest);
    KernelErrors errors;
    if (const int code = run_range(execution.work, first * together, last * together,
                                   execution.output_is_read_next, errors)) {
        int32_t none = 0;
        if (execution.failed.compare_exchange_strong(none, code))
            execution.errors.note(errors.message);
    }
}

// How many slices, who runs them if they are several, and how.
struct Executor {
    int32_t slices;
    hewn_parallel_for_fn parallel_for;
    void *context;
    bool output_is_read_next;
};

inline Executor choose_executor(const CpuOperator &op, const Plan &plan,
                                const hewn_execute_options *options) {
    const bool output_is_read_next = read_next(options) != 0;
    if (!plan.parallel) return {1, nullptr, nullptr, output_is_read_next};
    const int32_t max_threads =
        options && options->max_threads > 0 ? options->max_threads : op.max_threads;
    const bool own = options && options->parallel_for;
    return {slice_count(plan, *op.variant->plan, max_threads, own ? op.online : op.cpus),
            own ? options->parallel_for : op.parallel_for,
            own ? options->parallel_for_context : op.parallel_for_context, output_is_read_next};
}

__attribute__((cold, noinline)) hewn_status report(const CpuOperator &op, int failed,
                                                   const KernelErrors &errors, hewn_error *error) {
    return fail(error, HEWN_STATUS_KERNEL_FAILED, "%s: kernel %s failed with code %d: %s",
                op.problem.info->dml_name, op.variant->name, failed, errors.message);
}

// In slices, or as one.
__attribute__((noinline)) hewn_status run_slices(const Work &work, const Executor &executor,
                                                 hewn_error *error) {
    KernelErrors errors;
    Execution execution{work, executor.slices, executor.output_is_read_next, errors};
    if (executor.slices == 1) run_slice(&execution, 0);
    else executor.parallel_for(executor.context, executor.slices, run_slice, &execution);
    const int failed = execution.failed.load(std::memory_order_relaxed);
    return failed == 0 ? hewn_status(HEWN_STATUS_OK) : report(work.op, failed, errors, error);
}

Work whole_blocks(const CpuOperator &op, const Addresses &addresses) {
    return {op, op.plan, op.kernel, addresses, addresses};
}

__attribute__((cold, noinline)) hewn_status run_rest(const CpuOperator &op,
                                                     const Addresses &addresses,
                                                     const Executor &executor, hewn_error *error) {
    Addresses first;
    std::memcpy(first, addresses, sizeof first);
    for (int o = 0; o < op.rest->plan.operands; o++) {
        void *&at = first[op.operand_at[o]];
        at = static_cast<uint8_t *>(at) + op.rest->first_bytes[o];
    }
    return run_slices({op, op.rest->plan, op.rest->kernel, addresses, first}, executor, error);
}

// In slices, if those help, and what short blocks leave.
__attribute__((noinline)) hewn_status run_parts(const CpuOperator &op, const Addresses &addresses,
                                                const hewn_execute_options *options,
                                                hewn_error *error) {
    const Executor executor = choose_executor(op, op.plan, options);
    HEWN_CHECK(run_slices(whole_blocks(op, addresses), executor, error));
    return op.rest ? run_rest(op, addresses, choose_executor(op, op.rest->plan, options), error)
                   : hewn_status(HEWN_STATUS_OK);
}

// Both passes of DYNAMIC_QUANTIZE_LINEAR, and what is between them.
__attribute__((noinline)) hewn_status run_passes(const CpuOperator &op, const Addresses &tensors,
                                                 const Executor &of_range,
                                                 const Executor &of_elements, hewn_error *error) {
    const Problem &problem = op.problem;
    Range range;
    if (!problem.output.empty()) {
        const Addresses first = {tensors[kDynamicInput], &range};
        HEWN_CHECK(
            run_slices({op, op.range->plan, op.range->kernel, first, first}, of_range, error));
    }
    const auto unless_empty = [&](int t) {
        return tensor(problem, t).empty() ? nullptr : tensors[t];
    };
    write_parameters(problem, range, unless_empty(kDynamicScale), unless_empty(kDynamicZeroPoint));
    if (problem.output.empty()) return HEWN_STATUS_OK;
    const Addresses second = {tensors[kDynamicInput], tensors[kDynamicScale],
                              tensors[kDynamicZeroPoint], tensors[kDynamicOutput]};
    return run_slices(whole_blocks(op, second), of_elements, error);
}

hewn_status execute(const hewn_operator &base, Bindings inputs, const hewn_buffer_binding &output,
                    const hewn_execute_options *options, hewn_error *error) {
    const CpuOperator &op = static_cast<const CpuOperator &>(base);
    Addresses addresses;
    const hewn_buffer_binding *const plain = inputs.plain();
    if (!plain || !locate(op, plain, output, addresses)) {
        const hewn_status status = read_addresses(op, inputs, output, addresses, error);
        if (status != HEWN_STATUS_OK) return status;
        if (kHasPasses && op.range)
            return run_passes(op, addresses, choose_executor(op, op.range->plan, options),
                              choose_executor(op, op.plan, options), error);
        if (op.problem.output.empty()) return status;
    }
    if (op.plan.parallel || op.rest || op.kernel.large_state)
        return run_parts(op, addresses, options, error);
    // Here, for small calls: a call more costs 7 %.
    KernelErrors errors;
    CpuCall call(op.kernel, addresses, &errors);
    call.output_is_read_next = read_next(options) != 0;
    const int failed = run_boxes_of(whole_blocks(op, addresses), 0, op.plan.box_count, call);
    return failed == 0 ? hewn_status(HEWN_STATUS_OK) : report(op, failed, errors, error);
}

// ---- Bound execution ----

struct CpuBoundOperator : hewn_bound_operator {
    // Of a plan with one box, what its run reads: copies, as in a program that runs many operators
    // a small run's time is that of the cache lines that it reads.
    CpuKernel kernel;
    Addresses addresses;
    halide_buffer_t buffers[kMaxOperands];
    halide_dimension_t dims[kMaxOperands][2];

    Executor executor, rest_executor, range_executor;
};

const CpuOperator &operator_of(const hewn_bound_operator &bound) {
    return static_cast<const CpuOperator &>(*bound.op);
}

hewn_status run_nothing(const hewn_bound_operator &, hewn_error *) { return HEWN_STATUS_OK; }

hewn_status run_boxes_bound(const hewn_bound_operator &base, hewn_error *error) {
    const CpuBoundOperator &bound = static_cast<const CpuBoundOperator &>(base);
    const CpuOperator &op = operator_of(bound);
    HEWN_CHECK(run_slices(whole_blocks(op, bound.addresses), bound.executor, error));
    return op.rest ? run_rest(op, bound.addresses, bound.rest_executor, error)
                   : hewn_status(HEWN_STATUS_OK);
}

hewn_status run_passes_bound(const hewn_bound_operator &base, hewn_error *error) {
    const CpuBoundOperator &bound = static_cast<const CpuBoundOperator &>(base);
    return run_passes(operator_of(bound), bound.addresses, bound.range_executor, bound.executor,
                      error);
}

// One call of a kernel on buffers that are ready: all that small work needs.
hewn_status run_one_box_bound(const hewn_bound_operator &base, hewn_error *error) {
    const CpuBoundOperator &bound = static_cast<const CpuBoundOperator &>(base);
    KernelErrors errors;
    CpuCall call(bound.kernel, bound.addresses, &errors);
    const FloatingPointMode mode(bound.kernel.subnormals);
    call.flushes = mode.flushes();
    call.maybe_invalid = mode.began_invalid();
    const int failed = bound.kernel.call(
        call, const_cast<halide_buffer_t *>(bound.buffers));  // which it only reads
    return failed == 0 ? hewn_status(HEWN_STATUS_OK)
                       : report(operator_of(bound), failed, errors, error);
}

__attribute__((cold)) hewn_status bind(const hewn_operator &base, Bindings inputs,
                                       const hewn_buffer_binding &output,
                                       const hewn_execute_options *options,
                                       hewn_bound_operator **result, hewn_error *error) {
    const CpuOperator &op = static_cast<const CpuOperator &>(base);
    Addresses addresses = {};
    const hewn_status status = read_addresses(op, inputs, output, addresses, error);
    if (status != HEWN_STATUS_OK) return status;
    CpuBoundOperator *bound = op.allocator.allocate<CpuBoundOperator>();
    if (!bound)
        return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "%s: no memory for the bound operator",
                    op.problem.info->dml_name);
    bound->op = &op;
    std::memcpy(bound->addresses, addresses, sizeof addresses);
    bound->executor = choose_executor(op, op.plan, options);
    if (op.rest) bound->rest_executor = choose_executor(op, op.rest->plan, options);
    bound->run = op.problem.output.empty() ? run_nothing : run_boxes_bound;
    if (kHasPasses && op.range) {
        bound->range_executor = choose_executor(op, op.range->plan, options);
        bound->run = run_passes_bound;
    }
    if (bound->run == run_boxes_bound && op.plan.one_box && !op.kernel.large_state && !op.rest) {
        bound->run = run_one_box_bound;
        bound->kernel = op.kernel;
        std::memcpy(bound->buffers, op.buffers, sizeof bound->buffers);
        std::memcpy(bound->dims, op.plan.dims, sizeof bound->dims);
        for (int o = 0; o < op.plan.operands; o++) {
            bound->buffers[o].host = static_cast<uint8_t *>(addresses[op.operand_at[o]]);
            bound->buffers[o].dim = bound->dims[o];
        }
    }
    *result = bound;
    return HEWN_STATUS_OK;
}

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

constexpr Backend kCpu = {
    compile,           execute,      bind,        destroy,     destroy_device, allocate_memory,
    deallocate_memory, write_memory, read_memory, synchronize, nullptr};

constexpr hewn_device kDefaultDevice = {
    &kCpu, {allocate_from_system, deallocate_to_system, nullptr}, {HEWN_DEVICE_CPU, 0}};

}  // namespace

const hewn_device &default_device() { return kDefaultDevice; }

hewn_status read_allocator(hewn_allocate_fn allocate, hewn_deallocate_fn deallocate, void *context,
                           const char *desc, Allocator *allocator, hewn_error *error) {
    if (!allocate != !deallocate)
        return fail(error, HEWN_STATUS_INVALID_ARGUMENT,
                    "%s: set both allocate and deallocate, or none", desc);
    *allocator = allocate ? Allocator{allocate, deallocate, context} : kDefaultDevice.allocator;
    return HEWN_STATUS_OK;
}

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
