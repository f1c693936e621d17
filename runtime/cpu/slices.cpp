// Runs the passes of an execution on the CPU, in several slices if that helps.
#include <atomic>

#include "../base/error.h"
#include "block_scales.h"
#include "dynamic_quantize_linear.h"
#include "operator.h"

namespace hewn {

namespace {

// Data that the slices of a pass share.
struct Slices {
    const CpuPass &pass;
    // The addresses of the problem's tensors, and those of the pass's operands.
    void *const *tensors, *const *operands;
    const Executor &executor;
    KernelErrors errors = {};        // the first message that a failing slice reported
    std::atomic<int32_t> failed{0};  // that slice's code
};

// Runs a slice with a state that is not small. It is a function of its own because its frame is
// large.
template<size_t Bytes>
__attribute__((noinline)) int run_with_state(const Slices &slices, int64_t first, int64_t last,
                                             CpuCall &call) {
    alignas(64) uint8_t state[Bytes];
    call.large = state;
    return run_boxes_of(slices.pass, slices.operands, first, last, call);
}

int run_boxes_of_slice(const Slices &slices, int64_t first, int64_t last, KernelErrors &errors) {
    if (kChoosesBlocks && (slices.pass.kind == PassProblem::BlockParameters ||
                           slices.pass.kind == PassProblem::BlockMaxima))
        return run_blocks(slices.pass, slices.tensors, slices.operands, first, last, errors);
    CpuCall call(slices.pass.kernel, slices.tensors, &errors);
    call.output_is_read_next = slices.executor.output_is_read_next;
    switch (slices.pass.kernel.state_size) {
    case StateSize::Middle: return run_with_state<kMiddleStateBytes>(slices, first, last, call);
    case StateSize::Large: return run_with_state<kLargeStateBytes>(slices, first, last, call);
    default: return run_boxes_of(slices.pass, slices.operands, first, last, call);
    }
}

// Runs slice number `index`. Slices have nearly equal numbers of boxes; boxes that belong together
// stay in one slice.
void HEWN_CALL run_slice(void *argument, int32_t index) {
    Slices &slices = *static_cast<Slices *>(argument);
    const Plan &plan = slices.pass.plan;
    const int64_t together = plan.boxes_together, groups = plan.box_count / together;
    const int64_t share = groups / slices.executor.slices, rest = groups % slices.executor.slices;
    const int64_t first = share * index + (index < rest ? index : rest),
                  last = first + share + (index < rest);
    KernelErrors errors;
    if (const int code = run_boxes_of_slice(slices, first * together, last * together, errors)) {
        int32_t none = 0;
        if (slices.failed.compare_exchange_strong(none, code)) slices.errors.note(errors.message);
    }
}

// Runs one pass. `places` has the address for each place (lowering.h).
hewn_status run_pass(const CpuOperator &op, const CpuPass &pass, void *const *places,
                     const Executor &executor, hewn_error *error) {
    const Problem &problem = *pass.kernel.problem;
    void *tensors[kMaxTensors], *operands[kMaxOperands];
    for (int t = 0; t < tensor_count(*problem.info); t++) tensors[t] = places[pass.places[t]];
    if (kHasDynamic && pass.kind == PassProblem::Parameters) {
        write_parameters(problem, tensors);
        return HEWN_STATUS_OK;
    }
    if (kHasNvfp4 && pass.kind == PassProblem::TensorScale) {
        write_tensor_scale(tensors);
        return HEWN_STATUS_OK;
    }
    for (int o = 0; o < pass.plan.operands; o++)
        operands[o] = static_cast<uint8_t *>(places[pass.operand_at[o]]) + pass.first_bytes[o];
    Slices slices = {pass, tensors, operands, executor};
    if (executor.slices == 1) run_slice(&slices, 0);
    else executor.parallel_for(executor.context, executor.slices, run_slice, &slices);
    const int failed = slices.failed.load(std::memory_order_relaxed);
    return failed == 0 ? hewn_status(HEWN_STATUS_OK) : report(op, failed, slices.errors, error);
}

// Chooses the executor of a pass. The execution's options win over the operator's.
Executor choose_executor(const CpuOperator &op, const Plan &plan,
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

}  // namespace

void choose_executors(const CpuOperator &op, const hewn_execute_options *options,
                      Executors &executors) {
    for (int p = 0; p < op.pass_count; p++)
        executors[p] = choose_executor(op, op.passes()[p].plan, options);
}

hewn_status run_passes(const CpuOperator &op, const Addresses &addresses,
                       const Executors &executors, hewn_error *error) {
    // The range: two numbers, which begin as 0. Each execution has its own, because several may run
    // at once.
    alignas(64) uint64_t range = 0;
    void *places[kPlaces];
    for (int t = 0; t < tensor_count(*op.problem.info); t++) places[t] = addresses[t];
    places[kFormatPlace] = const_cast<uint32_t *>(&op.problem.format);
    places[kRangesPlace] = &range;
    if (kHasFormats) places[kMiddlePlace] = const_cast<void *>(middle_of(op.problem));
    for (int p = 0; p < op.pass_count; p++)
        HEWN_CHECK(run_pass(op, op.passes()[p], places, executors[p], error));
    return HEWN_STATUS_OK;
}

hewn_status report(const CpuOperator &op, int failed, const KernelErrors &errors,
                   hewn_error *error) {
    return fail(error, HEWN_STATUS_KERNEL_FAILED, "%s: kernel %s failed with code %d: %s",
                op.problem.info->dml_name, op.variant->name, failed, errors.message);
}

}  // namespace hewn
