// An operator on the CPU: its passes with their plans and kernels, and what else its executions
// read. compile.cpp makes it, execute.cpp finds the tensors of an execution, slices.cpp runs the
// passes.
#pragma once

#include <HalideRuntime.h>

#include "../dispatch/device.h"
#include "../problem/lowering.h"
#include "kernel.h"

namespace hewn {

// The conditions for the binding of one tensor.
struct BindingRule {
    // Bytes that the tensor needs. kUnbound: the tensor is absent or a constant, and its binding
    // has no buffer.
    uint64_t bytes;
    // The highest address at which the tensor still ends within the address space; 0 if the tensor
    // is larger than the address space.
    uint64_t highest;
    // The bits of an address that must be 0, so that it is aligned.
    uint64_t misaligned;
    // For inputs: the size of the address window in which this tensor would overlap the output.
    uint64_t overlapping;
    // The struct_size that a binding may have if it states its type: that of the tensor's type, or
    // of the type that may stand in for it.
    uint32_t typed[2];
    // For inputs: whether it may lie exactly where the output lies.
    bool in_place;
};
constexpr uint64_t kUnbound = UINT64_MAX;  // more than any memory has

// The addresses of an execution's tensors: the inputs in order, then the outputs. After them comes
// that of the format of small floats.
using Addresses = void * [kFormatPlace + 1];

// A pass with its plan. If the last block of a dimension is short, one pass of the lowering becomes
// two of these: one for the whole blocks, and one for the short blocks.
struct CpuPass {
    Plan plan;
    CpuKernel kernel;
    // The places of the problem's tensors (lowering.h).
    uint8_t places[kMaxTensors];
    uint8_t operand_at[kMaxOperands];  // the places of the operands
    // Bytes from an operand's first element to this pass's first element.
    int64_t first_bytes[kMaxOperands];
    // Types and ranks for kernels with assertions; otherwise unused.
    halide_buffer_t buffers[kMaxOperands];
    PassProblem::Kind kind;
};
// The most passes of an operator. NVFP4_QUANTIZE may have three for each part, and one besides: the
// maxima of its blocks, the tensor's scale, the blocks' scales, and their elements.
constexpr int kMaxPasses = 3 * kMaxParts + 1;
static_assert(kMaxPasses >= kMaxPassProblems + kMaxParts - 1);

// In memory it is followed by its passes, and then by the problems of passes that do not have the
// operator's own problem.
struct alignas(CpuPass) CpuOperator : hewn_operator {
    BindingRule inputs[kMaxInputs];
    BindingRule output;  // all zeros if there are several outputs
    // The addresses of inputs that are not bound; null for all others.
    void *fixed[kMaxInputs];
    void *constants;  // the memory of constant inputs
    int32_t pass_count;
    // Whether there is one pass, which runs on the calling thread and keeps a small state.
    bool small;
    int32_t max_threads;  // 0: no limit
    // How many CPUs an execution may run on: with the operator's executor, and with the caller's.
    int32_t cpus;
    int32_t online;
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
// Whether an execution with these bindings takes the quick way to its addresses. For tests, because
// nothing but the speed tells otherwise.
bool is_located_at_once(const hewn_operator &op, const hewn_buffer_binding *inputs,
                        const hewn_buffer_binding &output);

// ---- slices.cpp ----

// How many slices a pass has, and who runs them if there are several.
struct Executor {
    int32_t slices;
    hewn_parallel_for_fn parallel_for;
    void *context;
    // As the caller's options say.
    bool output_is_read_next;
};
using Executors = Executor[kMaxPasses];
// Chooses the executor of each pass.
void choose_executors(const CpuOperator &op, const hewn_execute_options *options,
                      Executors &executors);

// Runs all passes, one after the other.
hewn_status run_passes(const CpuOperator &op, const Addresses &addresses,
                       const Executors &executors, hewn_error *error);

// Runs blocks [first, last) of a pass of the kind BlockParameters or BlockMaxima, whose input
// begins at operands[0]. `tensors` are those of the pass. (block_scales.cpp)
int run_blocks(const CpuPass &pass, void *const *tensors, void *const *operands, int64_t first,
               int64_t last, KernelErrors &errors);

// Reports the error of a kernel that returned the code `failed`.
hewn_status report(const CpuOperator &op, int failed, const KernelErrors &errors,
                   hewn_error *error);

// Runs boxes [first, last) of a pass whose operands begin at `operands`, in the floating-point mode
// that the pass needs. Returns 0, or the code of the first error, whose message is then in call's
// user context. It is inline because every small call pays for it.
inline int run_boxes_of(const CpuPass &pass, void *const *operands, int64_t first, int64_t last,
                        CpuCall &call) {
    const FloatingPointMode mode(pass.kernel.subnormals);
    call.flushes = mode.flushes();
    call.maybe_invalid = mode.began_invalid();
    halide_buffer_t buffers[kMaxOperands];
    if (kKernelAssertions) __builtin_memcpy(buffers, pass.buffers, sizeof buffers);
#pragma GCC unroll 8
    for (int o = 0; o < kMaxOperands; o++)  // all of them: counting costs more
        buffers[o].host = static_cast<uint8_t *>(operands[o]);
    return run_boxes(pass.plan, first, last, buffers, pass.kernel.call, call);
}

}  // namespace hewn
