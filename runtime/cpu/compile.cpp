// Compiles a problem to an operator on the CPU: rules for its bindings, its constants, its passes
// and their plans.
#include <cstring>

#include "../base/error.h"
#include "../base/system.h"
#include "../dispatch/chip.h"
#include "fp_mode.h"
#include "operator.h"
#include "pool.h"

namespace hewn {

void destroy_cpu_operator(hewn_operator *op) {
    CpuOperator *cpu = static_cast<CpuOperator *>(op);
    const Allocator allocator = cpu->allocator;
    for (int p = 0; p < cpu->pass_count; p++) {
        destroy_plan(allocator, cpu->passes()[p].plan);
        allocator.deallocate(cpu->passes()[p].kernel.settled);
    }
    allocator.deallocate(cpu->constants);
    allocator.deallocate(cpu);
}

namespace {

// ---- Bindings ----

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

// The memory that an absent zero point reads: one element of any type.
alignas(16) constexpr uint8_t kZeros[16] = {};

// Copies the constants into the operator's memory, and sets where inputs that are not bound lie.
// Returns false if there is no memory.
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

// ---- Passes ----

// Whether this build has operators whose passes have their own problems.
constexpr bool kDerives = kHasDynamic || kHasFormats;

// An operator's passes before they are planned. A pass of the lowering may become several parts.
struct Outline {
    struct Pass {
        const PassProblem *lowered;
        Part part;
    };

    PassProblems lowered;
    Pass passes[kMaxPasses];
    int pass_count = 0;
    bool derives;  // whether passes have their own problems, not the operator's

    explicit Outline(const Problem &problem) {
        const int count = lower(problem, lowered);
        for (int l = 0; l < count; l++) add(lowered[l]);
        derives = kDerives && count > 0 &&
                  (lowered[0].kind != PassProblem::Kernel || problem.format != 0);
    }

private:
    void add(const PassProblem &pass) {
        Part parts[kMaxParts] = {};
        int count = 1;
        if (pass.kind == PassProblem::Kernel) {
            const Tensor *operands[kMaxOperands];
            const int operand_count = list_operands(pass.problem, operands);
            count = split_blocks(operands, operand_count, parts);
        } else if (kHasDynamic && pass.kind == PassProblem::Ranges) {
            parts[0].space = range_space(pass.problem.inputs[0]);
        }
        for (int p = 0; p < count; p++) passes[pass_count++] = {&pass, parts[p]};
    }
};

// Sets where the pass's operands lie, and what kernels with assertions look at.
void place_operands(const Part &part, const Problem &problem, CpuPass &pass) {
    const Tensor *operands[kMaxOperands];
    const int count = list_operands(problem, operands);
    for (int o = 0; o < count; o++) {
        const int64_t bytes = operands[o]->conversion ? 0 : operands[o]->element_bytes;
        pass.operand_at[o] = pass.places[tensor_of_operand(problem, o)];
        pass.first_bytes[o] = part.first[o] * bytes;
        if (!kKernelAssertions) continue;
        pass.buffers[o].type = halide_type(kernel_type(*problem.info, *operands[o]));
        pass.buffers[o].dimensions = 2;
    }
}

// Prepares what constants decide.
hewn_status settle(CpuOperator &op, const CpuForms &forms, CpuPass &pass, hewn_error *error) {
    const char *name = op.problem.info->dml_name;
    void *fixed[kMaxInputs] = {};
    for (int i = 0; i < pass.kernel.problem->info->input_count; i++) {
        const int place = pass.places[i];
        if (place < op.problem.info->input_count) fixed[i] = op.fixed[place];
    }
    KernelErrors errors;
    const int failed = forms.settle(pass.plan, op.allocator, pass.kernel, fixed, &errors);
    if (failed == kNoMemory)
        return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "%s: no memory for the operator", name);
    return failed == 0 ? hewn_status(HEWN_STATUS_OK) : report(op, failed, errors, error);
}

// Plans a pass. `problem` is the pass's problem, in the operator's memory.
hewn_status plan_pass(CpuOperator &op, const Outline::Pass &outlined, const Problem &problem,
                      const Chip &chip, CpuPass &pass, hewn_error *error) {
    std::memcpy(pass.places, outlined.lowered->places, sizeof pass.places);
    pass.kernel.problem = &problem;
    if (kHasDynamic && outlined.lowered->kind == PassProblem::Parameters) {
        pass.writes_parameters = true;
        return HEWN_STATUS_OK;
    }
    place_operands(outlined.part, problem, pass);
    const CpuForms &forms = forms_of(*outlined.lowered->kernels);
    if (!plan_kernel(forms, outlined.part.space, *op.variant, chip, {op.max_threads, op.cpus},
                     op.allocator, pass.plan, pass.kernel))
        return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "%s: no memory for the operator's plan",
                    op.problem.info->dml_name);
    pass.plan.target_priority = op.variant->target->priority;
    place_converted(outlined.part, problem.output, pass.plan);
    return forms.settle ? settle(op, forms, pass, error) : hewn_status(HEWN_STATUS_OK);
}

hewn_status plan_passes(CpuOperator &op, const Outline &outline, const Chip &chip,
                        hewn_error *error) {
    CpuPass *const passes = op.passes();
    Problem *const derived = reinterpret_cast<Problem *>(passes + outline.pass_count);
    for (int p = 0; p < outline.pass_count; p++) {
        const Outline::Pass &outlined = outline.passes[p];
        if (kDerives && outline.derives) {
            derived[p] = outlined.lowered->problem;
            // The outline has the caller's constants, which may end with hewn_compile.
            for (int i = 0; i < derived[p].info->input_count; i++) {
                const int place = outlined.lowered->places[i];
                const bool given = place < op.problem.info->input_count;
                derived[p].constants[i] = given ? op.problem.constants[place] : nullptr;
            }
        }
        op.pass_count++;
        HEWN_CHECK(plan_pass(op, outlined, outline.derives ? derived[p] : op.problem, chip,
                             passes[p], error));
    }
    op.small = outline.pass_count == 1 && !passes->writes_parameters && !passes->plan.parallel &&
               !passes->kernel.large_state;
    return HEWN_STATUS_OK;
}

}  // namespace

hewn_status compile_for_cpu(const hewn_device &device, const Problem &problem,
                            const hewn_compile_options &options, hewn_operator **op,
                            hewn_error *error) {
    prepare_process();
    // Planning weighs costs in floating point, and the caller may have enabled traps.
    const FloatingPointMode mode;
    const char *name = problem.info->dml_name;
    const Variant *variant = nullptr;
    const Chip chip = this_chip();
    HEWN_CHECK(pick_variant(problem.info->kernels, problem.signature, options.variant,
                            device.support, chip, &variant, error));
    const Outline outline(problem);
    const size_t passes = size_t(outline.pass_count);
    CpuOperator *cpu = device.allocator.allocate<CpuOperator>(
        1, passes * (sizeof(CpuPass) + (outline.derives ? sizeof(Problem) : 0)));
    if (!cpu) return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "%s: no memory for the operator", name);
    cpu->backend = device.backend;
    cpu->allocator = device.allocator;
    cpu->problem = problem;
    cpu->variant = variant;
    cpu->parallel_for = options.parallel_for ? options.parallel_for : pool_parallel_for;
    cpu->parallel_for_context = options.parallel_for_context;
    cpu->max_threads = options.max_threads;
    cpu->online = online_cpus();
    // The threads of the caller's executor may run on other CPUs than this thread.
    cpu->cpus = options.parallel_for ? cpu->online : available_cpus();
    for (int i = 0; i < problem.info->input_count; i++)
        cpu->inputs[i] = binding_rule(problem, problem.inputs[i]);
    if (problem.info->output_count == 1) cpu->output = binding_rule(problem, problem.output);
    const hewn_status status = fix_inputs(*cpu)
                                   ? plan_passes(*cpu, outline, chip, error)
                                   : fail(error, HEWN_STATUS_OUT_OF_MEMORY,
                                          "%s: no memory for the operator's constants", name);
    if (status != HEWN_STATUS_OK) {
        destroy_cpu_operator(cpu);
        return status;
    }
    *op = cpu;
    return HEWN_STATUS_OK;
}

}  // namespace hewn
