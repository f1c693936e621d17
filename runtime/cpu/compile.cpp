// Compiles a problem to an operator on the CPU: rules for its bindings, its constants, its passes
// and their plans.
#include <cstring>

#include "../base/error.h"
#include "../base/system.h"
#include "../dispatch/chip.h"
#include "block_scales.h"
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
        int number;  // of the part
        Part part;
        // How many of the next passes this one replaces, if its problem can be computed so.
        int replaces;
    };

    PassProblems lowered;
    PassProblem at_once[2];  // passes of the kind Blocks
    Pass passes[kMaxPasses + kMaxParts];
    int pass_count = 0;
    bool derives;  // whether passes have their own problems, not the operator's

    explicit Outline(const Problem &problem) {
        const int count = lower(problem, lowered);
        int l = 0;
        if (kHasNvfp4 && count > 0 && lowered[0].kind == PassProblem::BlockMaxima) {
            lower_to_maxima(problem, at_once[1]);
            add_blocks(at_once[1], l++, 1);
        }
        while (l < count) {
            if (kChoosesBlocks && takes_blocks(problem, lowered[l])) {
                lower_to_blocks(problem, at_once[0]);
                add_blocks(at_once[0], l, count - l);
                break;
            }
            add(lowered[l++]);
        }
        derives = kDerives && count > 0 &&
                  (lowered[0].kind != PassProblem::Kernel ||
                   lowered[0].problem.info != problem.info || problem.format != 0);
    }

private:
    // Whether this pass and all after it may be replaced by passes of the kind Blocks.
    static bool takes_blocks(const Problem &problem, const PassProblem &pass) {
        return family_of(problem.info->type) != BlockFamily::None &&
               (pass.kind == PassProblem::Ranges || pass.kind == PassProblem::BlockParameters);
    }
    void add(const PassProblem &pass) {
        Part parts[kMaxParts] = {};
        int count = 1;
        if (pass.kind == PassProblem::Kernel || pass.kind == PassProblem::Elements)
            count = split(pass, parts);
        else if (kHasDynamic && pass.kind == PassProblem::Ranges)
            parts[0].space = range_space(pass.problem.inputs[0]);
        for (int p = 0; p < count; p++) passes[pass_count++] = {&pass, p, parts[p], 0};
    }
    // Each part is computed at once or, if that is not possible, by passes of its own: the `count`
    // lowered ones from number `first` on.
    void add_blocks(const PassProblem &blocks, int first, int count) {
        Part parts[kMaxParts] = {}, at_once_parts[kMaxParts];
        const int part_count = split(blocks, at_once_parts), last = first + count;
        if (lowered[first].kind == PassProblem::Ranges) {  // one block
            passes[pass_count++] = {&blocks, 0, at_once_parts[0], count};
            for (int l = first; l < last; l++) add(lowered[l]);
            return;
        }
        // The parameters and the maxima of blocks have no part: they go through it block by block.
        if (count > 1) split(lowered[last - 1], parts);
        for (int p = 0; p < part_count; p++) {
            passes[pass_count++] = {&blocks, p, at_once_parts[p], count};
            for (int l = first; l < last; l++) passes[pass_count++] = {&lowered[l], p, parts[p], 0};
        }
    }
    static int split(const PassProblem &pass, Part (&parts)[kMaxParts]) {
        const Tensor *operands[kMaxOperands];
        const int operand_count = list_operands(pass.problem, operands);
        return split_blocks(operands, operand_count, parts);
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

// Returns the forms of a pass.
const CpuForms &forms_of_pass(const CpuOperator &op, const PassProblem &lowered) {
    if (kChoosesBlocks && family_of(op.problem.info->type) != BlockFamily::None) {
        switch (lowered.kind) {
        case PassProblem::Ranges:
        case PassProblem::BlockParameters:
        case PassProblem::BlockMaxima: return forms_of_ranges;
        case PassProblem::Elements: return forms_of_elements;
        default: break;
        }
    }
    return forms_of(*lowered.kernels);
}

// Makes the plan of one block that of all blocks of a part.
void plan_blocks(const CpuOperator &op, const Tensor &input, BlockWalk &walk, Plan &plan) {
    walk.box_count = plan.box_count;
    plan.box_count = walk.total;
    plan.boxes_together = 1;
    plan.parallel = double(input.bytes) >= double(op.variant->plan->parallel_bytes);
}

// Plans a pass. `problem` is the pass's problem, in the operator's memory.
hewn_status plan_pass(CpuOperator &op, const Outline::Pass &outlined, const Problem &problem,
                      const Chip &chip, CpuPass &pass, hewn_error *error) {
    const PassProblem &lowered = *outlined.lowered;
    const char *const name = op.problem.info->dml_name;
    std::memcpy(pass.places, lowered.places, sizeof pass.places);
    pass.kind = lowered.kind;
    pass.kernel.problem = &problem;
    if (kHasDynamic &&
        (lowered.kind == PassProblem::Parameters || lowered.kind == PassProblem::TensorScale))
        return HEWN_STATUS_OK;
    Part part = outlined.part;
    BlockWalk *walk = nullptr;
    if (kChoosesBlocks && (lowered.kind == PassProblem::BlockParameters ||
                           lowered.kind == PassProblem::BlockMaxima)) {
        walk = op.allocator.allocate<BlockWalk>();
        if (!walk)
            return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "%s: no memory for the operator", name);
        pass.kernel.settled = walk;
        part = {};
        part.space = range_space(walk_blocks(problem, outlined.number, *walk, part.first[0]));
    }
    place_operands(part, problem, pass);
    const CpuForms &forms = forms_of_pass(op, lowered);
    if (!plan_kernel(forms, part.space, *op.variant, chip, {op.max_threads, op.cpus}, op.allocator,
                     pass.plan, pass.kernel))
        return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "%s: no memory for the operator's plan",
                    name);
    pass.plan.target_priority = op.variant->target->priority;
    // No operand of a walk is an output.
    place_converted(part, walk ? Tensor() : problem.output, pass.plan);
    if (walk) plan_blocks(op, problem.inputs[0], *walk, pass.plan);
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
        CpuPass &pass = passes[op.pass_count++];
        HEWN_CHECK(
            plan_pass(op, outlined, outline.derives ? derived[p] : op.problem, chip, pass, error));
        if (!kChoosesBlocks || outlined.lowered->kind != PassProblem::Blocks) continue;
        if (pass.kernel.mode != kSeparate) {
            p += outlined.replaces;
            continue;
        }
        destroy_plan(op.allocator, pass.plan);
        pass = {};
        op.pass_count--;
    }
    op.small = op.pass_count == 1 && passes->kind != PassProblem::Parameters &&
               passes->kernel.problem->info == op.problem.info && !passes->plan.parallel &&
               passes->kernel.state_size == StateSize::Small;
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
