// How an operator runs on the CPU: which of a variant's forms it uses, and how it calls one on a box. Each operator has its own
// <operator>.cpp.
#ifndef HEWN_RUNTIME_CPU_KERNEL_H
#define HEWN_RUNTIME_CPU_KERNEL_H

#include <HalideRuntime.h>

#include "../dispatch/chip.h"
#include "../dispatch/dispatch.h"
#include "../problem/operators.h"
#include "boxes.h"
#include "folding.h"
#include "fp_mode.h"
#include "scales.h"

namespace hewn {

#if defined(HEWN_KERNEL_ASSERTIONS)
// Kernels with assertions check what the runtime otherwise proves: each buffer's type and dimension count.
constexpr bool kKernelAssertions = true;
#else
constexpr bool kKernelAssertions = false;
#endif

// QUANTIZED_LINEAR_ADD's parameters in one slice. They depend on values that are read at execution.
struct QuantizedAddParameters {
    const Form *form = nullptr;  // fits the values; null: nothing is prepared
    float r0, r1;                // r0 + r1 ~ 1 / the output's scale
    Quantization quantization;
    FoldedFactors factors;
    bool undecided;  // not known yet whether `folded` gives the formula's outputs
};

// QUANTIZE_LINEAR's parameters for the scales of a box's rows. A slice keeps them from box to box while the scales' address
// stays. Such scales are always read in place (KernelTraits::uniform), never from scratch memory, which would be filled anew.
struct RowParameters {
    const void *from = nullptr;  // the scales' address; null: nothing is prepared
    const Form *form;            // fits all of the scales
    int32_t count;               // one scale, or one a row
    float r0[kMaxUniformRows], r1[kMaxUniformRows];
};

// The longest row of scales that is prepared, with 32 KiB of reciprocals.
constexpr int kMaxColumns = 4096;

// The reciprocals of a row of scales, for QUANTIZE_LINEAR. A slice keeps them while the scales stay at their address and are not
// filled anew in scratch memory (BoxCall::filled).
struct Columns {
    const char *from;   // the scales that were prepared
    int32_t count = 0;  // 0: none, and the other members mean nothing
    bool fit;           // for the form `columns`: all scales are ordinary
    alignas(64) float r0[kMaxColumns], r1[kMaxColumns];
};

// Which boxes of a slice QUANTIZE_LINEAR divides at once, as it had to compute earlier ones again. Values that need division come
// alone or in most boxes: after the first such box the next one is tried, after the second one is left out, then 3, 7 and so on.
class InvalidBoxes {
public:
    void met() {
        left_out_ = (1 << met_) - 1;
        if (met_ < 30) met_++;
    }
    // Asked once for each box.
    bool leave_out() { return left_out_ > 0 && left_out_-- > 0; }

private:
    int32_t met_ = 0, left_out_ = 0;
};

// What is known of a row of zero points, or of the parts of it that boxes have brought so far. Kept as Columns are.
struct ZeroPointRow {
    const uint8_t *from;
    int64_t count = 0;  // 0: none, and the other members mean nothing
    bool compared, equal;
};

// One slice of an execution on the CPU.
struct CpuCall : BoxCall {
    const struct CpuKernel &kernel;
    void *const *inputs;  // all of the operator's, in order; absent ones point to zeros
    QuantizedAddParameters parameters;
    Columns *columns = nullptr;  // set if the kernel has that form
    bool flushes = false;        // subnormals, at present (FloatingPointMode)
    bool maybe_invalid = true;   // the thread's flag of invalid operations may be set (see InvalidOperationFlag)
    InvalidBoxes invalid_boxes;
    ZeroPointRow zero_points;
    RowParameters rows;

    CpuCall(const CpuKernel &kernel, void *const *inputs, void *user_context)
        : BoxCall(user_context), kernel(kernel), inputs(inputs) {}
};

// The layout of QUANTIZE_LINEAR and DEQUANTIZE_LINEAR with a scale a column and one zero point (see Form).
constexpr uint32_t kOneZeroPoint = 1u << 0b110;

// How the CPU runs a problem with a variant.
struct CpuKernel {
    const Problem *problem;
    const Form *form, *reciprocal, *folded, *columns, *repeating;  // all but `form`: null if not used
    uint32_t uniform;                                              // as KernelTraits has it
    bool compute_bound;                                            // as KernelTraits has it
    int32_t distinct_scales;                 // for `columns`: the period after which a row of scales repeats
    PrefetchShare prefetch_share;            // of the last-level cache, up to which prefetching pays
    int32_t prefetch_distance;               // in elements, for kernels that can prefetch; 0: they do not
    CallBox call;                            // its context is a CpuCall
    CallBox call_after_joining;              // what call_joining_zero_points calls
    Subnormals subnormals;                   // in a slice; a call that needs them otherwise keeps them
    bool one_scale;                          // QUANTIZE_LINEAR by reciprocals: one for all elements
    mutable LastReciprocal last_reciprocal;  // for one_scale
    mutable Foldings foldings;               // for `folded`
    QuantizedAddParameters settled;          // QUANTIZED_LINEAR_ADD's, where they are constants

    // `repeating` reads rows of both parameters. So one zero point beside a scale a column is gathered into a row for it.
    KernelTraits traits() const { return {repeating ? form->layouts & ~kOneZeroPoint : form->layouts, uniform, compute_bound}; }
};

// Calls a CPU kernel on a box. The arguments have the types and order of its generator's inputs, then its output. Halide's
// uniform entry point takes an array of pointers to them instead; writing and reading it costs a small QUANTIZED_LINEAR_ADD a
// tenth more instructions.
template<class... Arguments>
int call_kernel(const Form &form, const CpuCall &call, Arguments... arguments) {
    return reinterpret_cast<int (*)(const void *, Arguments...)>(form.entry)(call.user_context, arguments...);
}

// How an operator's forms are chosen: forms_of_<operator> in <operator>.cpp.
struct CpuForms {
    // Chooses the forms for the merged space, before it is planned.
    void (*choose)(const Space &space, const Variant &variant, CpuKernel &kernel);
    // Drops forms that do not pay if the plan runs in `slices` slices, and tells the plan what the others read. False: plan
    // again, for the forms that are left. Null: nothing to do.
    bool (*fit)(Plan &plan, int32_t slices, const Variant &variant, CpuKernel &kernel);
    // Once the plan is made: prepares what constants alone decide. `inputs` are where inputs that are not bound lie. May run
    // kernels with the user context. Returns 0 or a kernel's error. Null: nothing to do.
    int (*settle)(CpuKernel &kernel, void *const *inputs, void *user_context);
};
#define HEWN_OPERATOR(name, ...) extern const CpuForms forms_of_##name;
#include "operators.inc"
#undef HEWN_OPERATOR
// Of an operator that this build has kernels of.
const CpuForms &forms_of(const OperatorInfo &info);

// What an execution may use.
struct Threads {
    int32_t most;  // slices; 0: no limit
    int32_t cpus;
};

// Chooses the forms of kernel.problem's operator and plans for those that pay, again as often as its `fit` drops one. Then
// chooses how far ahead kernels prefetch. Returns how many plans that took; 0: no memory.
int plan_kernel(const Space &space, const Variant &variant, const Chip &chip, Threads threads, const Allocator &allocator,
                Plan &plan, CpuKernel &kernel);

}  // namespace hewn

#endif  // HEWN_RUNTIME_CPU_KERNEL_H
