// An operator on the CPU: its passes, and what else its executions read.
#pragma once

#include <HalideRuntime.h>

#include "../dispatch/device.h"
#include "../problem/lowering.h"
#include "kernel.h"

namespace hewn {

// What a binding of a tensor must fulfil.
struct BindingRule {
    uint64_t bytes;    // kUnbound: the tensor is absent or a constant, its binding has no buffer
    uint64_t highest;  // address at which it still ends within the address space; 0: it is larger
                       // than that
    uint64_t misaligned;  // bits of an address that must be 0
    uint64_t
        overlapping;  // an input's: at how many addresses it would share a byte with the output
    uint32_t
        typed[2];   // struct_size of a binding that says its type: the tensor's, or its stand-in's
    bool in_place;  // an input's: but it may lie where the output lies
};
constexpr uint64_t kUnbound = UINT64_MAX;  // no memory has so many

// Where the tensors of an execution lie: the inputs in order, then the outputs.
using Addresses = void *[kMaxTensors];

// A pass as it is planned. One of the lowering is two of these where the last block of a dimension
// is short: the whole blocks have a plan, and the short ones.
struct CpuPass {
    Plan plan;
    CpuKernel kernel;
    uint8_t places[kMaxTensors];            // of its problem's tensors
    uint8_t operand_at[kMaxOperands];       // the places of its operands
    int64_t first_bytes[kMaxOperands];      // from the tensor's first element to the pass's
    halide_buffer_t buffers[kMaxOperands];  // what a kernel with assertions looks at; else unused
    bool writes_parameters;                 // that follow from a range, instead of running boxes
};
constexpr int kMaxPasses = kMaxPassProblems + kMaxParts - 1;

// Behind it in memory are its passes, then the problems of passes that are not the operator's own.
struct alignas(CpuPass) CpuOperator : hewn_operator {
    BindingRule inputs[kMaxInputs];
    BindingRule output;       // all zeros where there are several outputs
    void *fixed[kMaxInputs];  // where inputs that are not bound lie; null of the others
    void *constants;          // the memory of those that are constants
    int32_t pass_count;
    bool small;           // one pass, on the calling thread, with a small state
    int32_t max_threads;  // 0: no limit
    int32_t cpus;         // that an execution of the operator's executor may run on
    int32_t online;       // that one of a caller's may
    hewn_parallel_for_fn parallel_for;
    void *parallel_for_context;

    CpuPass *passes() { return reinterpret_cast<CpuPass *>(this + 1); }
    const CpuPass *passes() const { return reinterpret_cast<const CpuPass *>(this + 1); }
};
static_assert(sizeof(CpuPass) % alignof(Problem) == 0);

// ---- compile.cpp ----

hewn_status compile_for_cpu(const hewn_device &device, const Problem &problem,
                            const hewn_compile_options &options, hewn_operator **op,
                            hewn_error *error);
void destroy_cpu_operator(hewn_operator *op);

// ---- execute.cpp ----

hewn_status execute_on_cpu(const hewn_operator &op, Bindings inputs,
                           const hewn_buffer_binding &output, const hewn_execute_options *options,
                           hewn_error *error);
hewn_status bind_on_cpu(const hewn_operator &op, Bindings inputs, const hewn_buffer_binding &output,
                        const hewn_execute_options *options, hewn_bound_operator **bound,
                        hewn_error *error);
// Whether an execution with these bindings takes the short way to its addresses. For tests: only
// speed tells otherwise.
bool is_located_at_once(const hewn_operator &op, const hewn_buffer_binding *inputs,
                        const hewn_buffer_binding &output);

// ---- slices.cpp ----

// How many slices a pass has, who runs them if they are several, and how.
struct Executor {
    int32_t slices;
    hewn_parallel_for_fn parallel_for;
    void *context;
    bool output_is_read_next;
};
using Executors = Executor[kMaxPasses];
void choose_executors(const CpuOperator &op, const hewn_execute_options *options,
                      Executors &executors);

// Runs all passes.
hewn_status run_passes(const CpuOperator &op, const Addresses &addresses,
                       const Executors &executors, hewn_error *error);

// The error of a kernel that returned the code `failed`.
hewn_status report(const CpuOperator &op, int failed, const KernelErrors &errors,
                   hewn_error *error);

// Boxes [first, last) of a pass whose operands begin at `operands`. 0, or the code of the first
// error, which is noted in call's user context. Inline: every small call pays for it.
inline int run_boxes_of(const CpuPass &pass, void *const *operands, int64_t first, int64_t last,
                        CpuCall &call) {
    const FloatingPointMode mode(pass.kernel.subnormals);
    call.flushes = mode.flushes();
    call.maybe_invalid = mode.began_invalid();
    halide_buffer_t buffers[kMaxOperands];
    if (kKernelAssertions) __builtin_memcpy(buffers, pass.buffers, sizeof buffers);
#pragma GCC unroll 8
    for (int o = 0; o < kMaxOperands; o++)  // all, whatever their number: counting costs more
        buffers[o].host = static_cast<uint8_t *>(operands[o]);
    return run_boxes(pass.plan, first, last, buffers, pass.kernel.call, call);
}

}  // namespace hewn
