// Executes operators on the CPU: finds the addresses of the tensors, and runs small operators at
// once. Other operators run by slices.cpp. Bound operators are here too.
#include <cstring>

#include "../base/error.h"
#include "../problem/bindings.h"
#include "operator.h"

namespace hewn {

namespace {

// ---- Addresses ----

// Sets `address` to the address of a present tensor's binding. Returns false if the binding breaks
// its rule; locate_tensors then reports which one.
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

// The quick way: sets all addresses, if every binding is right, no tensor is empty, and the output
// lies apart from all inputs or in place. That is the usual case. It needs few instructions, which
// are most of what a small call takes. Returns false if the bindings need a closer look.
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
            // The rule of a tensor that is not bound is never fulfilled.
            if (!fulfils(rule, inputs[i], in)) return false;
            // The tensors overlap if in - out lies between -bytes and the output's bytes. It is
            // computed in 64 bits, because a difference of 32-bit addresses could wrap.
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

// The quick way for an operator with any number of inputs.
bool locate(const CpuOperator &op, const hewn_buffer_binding *inputs,
            const hewn_buffer_binding &output, Addresses &addresses) {
#define HEWN_TENSOR(...) +1
#define HEWN_COUNT(...) (-1 __VA_ARGS__)
#define HEWN_OPERATOR(name, kernels, type, dml_name, command, formula, onnx, in_place, wraps, \
                      one_width, as_f32, signature, tensors, levels) \
    if constexpr (is_built(#kernels)) { \
        if (op.problem.info->input_count == HEWN_COUNT tensors) \
            return locate<HEWN_COUNT tensors>(op, inputs, output, addresses); \
    }
#include "operators.inc"
#undef HEWN_COUNT
    return false;
}

// The full checks: sets all addresses, or reports what is wrong with a binding. `output` is the
// first of the outputs' bindings.
__attribute__((cold, noinline)) hewn_status read_addresses(const CpuOperator &op,
                                                           const Bindings &inputs,
                                                           const hewn_buffer_binding &output,
                                                           Addresses &addresses,
                                                           hewn_error *error) {
    Place unbound[kMaxInputs], places[kMaxTensors];
    for (int i = 0; i < kMaxInputs; i++) unbound[i] = {0, reinterpret_cast<uintptr_t>(op.fixed[i])};
    HEWN_CHECK(locate_tensors(op.problem, inputs, Bindings(&output), {nullptr, nullptr, unbound},
                              places, error));
    for (int t = 0; t < tensor_count(*op.problem.info); t++)
        addresses[t] = reinterpret_cast<void *>(uintptr_t(places[t].address));
    return HEWN_STATUS_OK;
}

// Executes an operator that is not small.
__attribute__((cold, noinline)) hewn_status execute_passes(const CpuOperator &op,
                                                           const Addresses &addresses,
                                                           const hewn_execute_options *options,
                                                           hewn_error *error) {
    Executors executors;
    choose_executors(op, options, executors);
    return run_passes(op, addresses, executors, error);
}

// Adds the address of the operator's format of small floats, which passes read as a zero point.
inline void add_format(const CpuOperator &op, Addresses &addresses) {
    if (kHasFormats) addresses[kFormatPlace] = const_cast<uint32_t *>(&op.problem.format);
}

// Sets the addresses of a pass's operands, if they begin where their tensors do.
inline void list_addresses(const CpuPass &pass, const Addresses &addresses, void **operands) {
#pragma GCC unroll 8
    for (int o = 0; o < kMaxOperands; o++)  // all of them: counting costs more
        operands[o] = addresses[pass.operand_at[o]];
}

}  // namespace

bool is_located_at_once(const hewn_operator &op, const hewn_buffer_binding *inputs,
                        const hewn_buffer_binding &output) {
    Addresses addresses;
    return locate(static_cast<const CpuOperator &>(op), inputs, output, addresses);
}

hewn_status execute_on_cpu(const hewn_operator &base, Bindings inputs,
                           const hewn_buffer_binding &output, const hewn_execute_options *options,
                           hewn_error *error) {
    const CpuOperator &op = static_cast<const CpuOperator &>(base);
    Addresses addresses;
    const hewn_buffer_binding *const plain = inputs.plain();
    if (!plain || !locate(op, plain, output, addresses))
        HEWN_CHECK(read_addresses(op, inputs, output, addresses, error));
    if (!op.small) return execute_passes(op, addresses, options, error);
    // Small operators run here, because another call would cost 7 %.
    const CpuPass &pass = *op.passes();
    void *operands[kMaxOperands];
    add_format(op, addresses);
    list_addresses(pass, addresses, operands);
    KernelErrors errors;
    CpuCall call(pass.kernel, addresses, &errors);
    call.output_is_read_next = read_next(options) != 0;
    const int failed = run_boxes_of(pass, operands, 0, pass.plan.box_count, call);
    return failed == 0 ? hewn_status(HEWN_STATUS_OK) : report(op, failed, errors, error);
}

// ---- Bound executions ----

namespace {

struct CpuBoundOperator : hewn_bound_operator {
    // For a plan with one box: copies of all that its run reads. In a program that runs many
    // operators, a small run takes as long as the cache lines that it reads.
    CpuKernel kernel;
    Addresses addresses;
    halide_buffer_t buffers[kMaxOperands];
    halide_dimension_t dims[kMaxOperands][2];

    Executors executors;
};

const CpuOperator &operator_of(const hewn_bound_operator &bound) {
    return static_cast<const CpuOperator &>(*bound.op);
}

hewn_status run_passes_bound(const hewn_bound_operator &base, hewn_error *error) {
    const CpuBoundOperator &bound = static_cast<const CpuBoundOperator &>(base);
    return run_passes(operator_of(bound), bound.addresses, bound.executors, error);
}

// One call of a kernel on buffers that are ready, which is all that small work needs.
hewn_status run_one_box_bound(const hewn_bound_operator &base, hewn_error *error) {
    const CpuBoundOperator &bound = static_cast<const CpuBoundOperator &>(base);
    KernelErrors errors;
    CpuCall call(bound.kernel, bound.addresses, &errors);
    const FloatingPointMode mode(bound.kernel.subnormals);
    call.flushes = mode.flushes();
    call.maybe_invalid = mode.began_invalid();
    // The call only reads the buffers.
    const int failed = bound.kernel.call(call, const_cast<halide_buffer_t *>(bound.buffers));
    return failed == 0 ? hewn_status(HEWN_STATUS_OK)
                       : report(operator_of(bound), failed, errors, error);
}

}  // namespace

__attribute__((cold)) hewn_status bind_on_cpu(const hewn_operator &base, Bindings inputs,
                                              const hewn_buffer_binding &output,
                                              const hewn_execute_options *options,
                                              hewn_bound_operator **result, hewn_error *error) {
    const CpuOperator &op = static_cast<const CpuOperator &>(base);
    Addresses addresses = {};
    HEWN_CHECK(read_addresses(op, inputs, output, addresses, error));
    add_format(op, addresses);
    CpuBoundOperator *bound = op.allocator.allocate<CpuBoundOperator>();
    if (!bound)
        return fail(error, HEWN_STATUS_OUT_OF_MEMORY, "%s: no memory for the bound operator",
                    op.problem.info->dml_name);
    bound->op = &op;
    std::memcpy(bound->addresses, addresses, sizeof addresses);
    choose_executors(op, options, bound->executors);
    bound->run = run_passes_bound;
    const CpuPass &pass = *op.passes();
    if (op.small && pass.plan.one_box) {
        bound->run = run_one_box_bound;
        bound->kernel = pass.kernel;
        std::memcpy(bound->buffers, pass.buffers, sizeof bound->buffers);
        std::memcpy(bound->dims, pass.plan.dims, sizeof bound->dims);
        for (int o = 0; o < pass.plan.operands; o++) {
            bound->buffers[o].host = static_cast<uint8_t *>(addresses[pass.operand_at[o]]);
            bound->buffers[o].dim = bound->dims[o];
        }
    }
    *result = bound;
    return HEWN_STATUS_OK;
}

}  // namespace hewn
