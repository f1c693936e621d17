// How an operator runs on the CPU: the forms that it chooses of a variant, and the call of one on a box. Each operator has its
// own in cpu_<operator>.cpp.
#ifndef HEWN_RUNTIME_CPU_KERNEL_H
#define HEWN_RUNTIME_CPU_KERNEL_H

#include <HalideRuntime.h>

#include "boxes.h"
#include "dispatch.h"
#include "folding.h"
#include "operators.h"
#include "scales.h"

namespace hewn {

#if defined(HEWN_KERNEL_ASSERTIONS)
// With assertions the kernels look at what the runtime otherwise proves: type and dimension count of each buffer.
constexpr bool kKernelAssertions = true;
#else
constexpr bool kKernelAssertions = false;
#endif

// QUANTIZED_LINEAR_ADD's parameters, which depend on values read at execution: of one slice.
struct QuantizedAddParameters {
    const Form *form = nullptr;  // that fits the values; null: nothing is prepared
    float r0, r1;                // r0 + r1 ~ 1 / the output's scale
    Quantization quantization;
    FoldedFactors factors;
    bool undecided;  // whether `folded` gives the formula's outputs
};

// QUANTIZE_LINEAR's of the scales of a box's rows, kept from box to box of one slice while the scales' address stays: they are
// always read in place (KernelTraits::uniform), never from scratch memory, which would be filled anew.
struct RowParameters {
    const void *from = nullptr;  // the scales' address; null: nothing is prepared
    const Form *form;            // that fits all of them
    int32_t count;               // one scale, or one a row
    float r0[kMaxUniformRows], r1[kMaxUniformRows];
};

// The longest row of scales that is prepared: 32 KiB of reciprocals.
constexpr int kMaxColumns = 4096;

// QUANTIZE_LINEAR's of a row of scales, its reciprocals, kept in a slice while the scales stay at their address and are not
// filled anew in scratch memory (BoxCall::filled).
struct Columns {
    const char *from;   // the scales prepared from
    int32_t count = 0;  // 0: none are, and the others say nothing
    bool fit;           // for the form `columns`: all are ordinary
    alignas(64) float r0[kMaxColumns], r1[kMaxColumns];
};

// What is known of a row of zero points, or of the parts of one that boxes have brought so far, kept as Columns are.
struct ZeroPointRow {
    const uint8_t *from;
    int64_t count = 0;  // 0: nothing is, and the others say nothing
    bool compared, equal;
};

// One slice of an execution on the CPU.
struct CpuCall : BoxCall {
    const struct CpuKernel &kernel;
    void *const *inputs;  // all of the operator's, in order; absent ones point to zeros
    void *user_context;
    QuantizedAddParameters parameters;
    Columns *columns = nullptr;  // set where the kernel has that form
    bool maybe_invalid = true;   // the thread's flag of invalid operations may be set (see InvalidOperationFlag)
    ZeroPointRow zero_points;
    RowParameters rows;

    CpuCall(const CpuKernel &kernel, void *const *inputs, void *user_context)
        : kernel(kernel), inputs(inputs), user_context(user_context) {}
};

// Of QUANTIZE_LINEAR and DEQUANTIZE_LINEAR the layout of a scale a column and one zero point (see Form).
constexpr uint32_t kOneZeroPoint = 1u << 0b110;

// How the CPU runs a problem with a variant.
struct CpuKernel {
    const Problem *problem;
    const Form *form, *reciprocal, *folded, *columns, *repeating;  // all but the first: null where not used
    Foldings *foldings;                                            // with `folded`
    uint32_t uniform;                                              // as KernelTraits has it
    bool compute_bound;                                            // as KernelTraits has it
    int32_t distinct_scales;                 // with `columns`: the period after which a row of scales repeats
    int32_t prefetch_l3_64ths;               // of the last-level cache, up to which prefetching pays (prefetch_distance_bytes)
    int32_t prefetch_distance;               // in elements, of kernels that can prefetch; 0: they do not
    CallBox call;                            // its context is a CpuCall
    CallBox call_after_joining;              // what call_joining_zero_points calls
    bool one_scale;                          // QUANTIZE_LINEAR by reciprocals: of all elements
    mutable LastReciprocal last_reciprocal;  // with one_scale

    // `repeating` reads rows of both parameters, and so has one zero point gathered beside a scale a column.
    KernelTraits traits() const { return {repeating ? form->layouts & ~kOneZeroPoint : form->layouts, uniform, compute_bound}; }
};

// A CPU kernel on a box, its arguments of the types and in the order of its generator's inputs, then its output. By Halide's
// uniform entry point, with an array of pointers to fill in here and to read there, a small QUANTIZED_LINEAR_ADD takes a tenth
// more instructions.
template<class... Arguments>
int call_kernel(const Form &form, const CpuCall &call, Arguments... arguments) {
    return reinterpret_cast<int (*)(const void *, Arguments...)>(form.entry)(call.user_context, arguments...);
}

// Of the last-level cache, up to which prefetching pays: a quarter and a little more, so that operands of just a quarter count
// with their parameters (DEQUANTIZE_LINEAR i32 to f32 of 1 Mi elements: 1.22 times as fast).
constexpr int32_t kPrefetchL3_64ths = 17;

// Each operator's choose_forms and fit (OperatorInfo).
void choose_add_form(const Space &space, const Variant &variant, CpuKernel &kernel);
bool fit_add(Plan &plan, int32_t slices, const Variant &variant, CpuKernel &kernel);
void choose_quantize_forms(const Space &space, const Variant &variant, CpuKernel &kernel);
bool fit_quantize(Plan &plan, int32_t slices, const Variant &variant, CpuKernel &kernel);
void choose_dequantize_forms(const Space &space, const Variant &variant, CpuKernel &kernel);
bool fit_dequantize(Plan &plan, int32_t slices, const Variant &variant, CpuKernel &kernel);
void choose_quantized_add_forms(const Space &space, const Variant &variant, CpuKernel &kernel);

// Calls the operator's `fit`, whose result it returns, and then chooses how far ahead kernels prefetch with the plan in
// `slices` slices on `cpus` CPUs of a chip.
bool fit_to_plan(Plan &plan, int32_t slices, int32_t cpus, const Chip &chip, const Variant &variant, CpuKernel &kernel);

}  // namespace hewn

#endif  // HEWN_RUNTIME_CPU_KERNEL_H
