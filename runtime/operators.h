// The operators: what a valid description is, and how their CPU kernels are called on a box.
#ifndef HEWN_RUNTIME_OPERATORS_H
#define HEWN_RUNTIME_OPERATORS_H

#include <HalideRuntime.h>
#include <hewn/hewn.h>

#include <atomic>

#include "boxes.h"
#include "dispatch.h"
#include "folding.h"
#include "shape.h"

namespace hewn {

#if defined(HEWN_KERNEL_ASSERTIONS)
// With assertions the kernels look at what the runtime otherwise proves: type and dimension count of each buffer.
constexpr bool kKernelAssertions = true;
#else
constexpr bool kKernelAssertions = false;
#endif

constexpr int kMaxInputs = 8;

struct OperatorInfo;

// A checked description, ready for a device: an operator, its tensors, and the signature of the kernel that computes it.
struct Problem {
    const OperatorInfo *info;
    int input_count;
    Tensor inputs[kMaxInputs];
    Tensor output;
    char signature[16];
};

// QUANTIZED_LINEAR_ADD's parameters, which depend on values read at execution: of one slice.
struct SumParameters {
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
    SumParameters parameters;
    Columns *columns = nullptr;  // set where the kernel has that form
    bool maybe_invalid = true;   // the thread's flag of invalid operations may be set (see InvalidOperationFlag)
    ZeroPointRow zero_points;
    RowParameters rows;

    CpuCall(const CpuKernel &kernel, void *const *inputs, void *user_context)
        : kernel(kernel), inputs(inputs), user_context(user_context) {}
};

// The reciprocals of an operator's one scale as it was last, each with the scale's bits above it: whatever threads store, a half
// that has the scale's bits is of that scale. To divide in double instead delays a kernel's first results by 6 ns (Zen 5).
struct LastReciprocal {
    std::atomic<uint64_t> r0{0}, r1{0};
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
    int32_t distinct_scales;                                       // with `columns`: after so many a row of scales repeats
    int32_t ahead;                           // elements ahead of which kernels that can ask for memory do; 0: none
    CallBox call;                            // its context is a CpuCall
    CallBox call_after_joining;              // what call_joining_zero_points calls
    bool one_scale;                          // QUANTIZE_LINEAR by reciprocals: of all elements
    mutable LastReciprocal last_reciprocal;  // with one_scale

    // `repeating` reads rows of both parameters, and so has one zero point gathered beside a scale a column.
    KernelTraits traits() const { return {repeating ? form->layouts & ~kOneZeroPoint : form->layouts, uniform, compute_bound}; }
};

struct OperatorInfo {
    hewn_operator_type type;
    const char *name;      // "quantize_linear"
    const char *dml_name;  // "QUANTIZE_LINEAR", for messages
    int input_count;
    // The inputs that vary with the element, in the order of the kernels' buffers.
    int operand_count;
    // True if the output may be bound in place of an input of equal strides.
    bool in_place;
    // True if the kernels of signed types also serve the unsigned ones of their width (a wrapping sum).
    bool unsigned_as_signed;
    // Reads and checks the operator's own description.
    hewn_status (*read)(const void *desc, hewn_feature_level level, Problem &problem, hewn_error *error);
    // Chooses the forms for the merged space, before it is planned; null where this build has no kernel of the operator.
    void (*choose_forms)(const Space &space, const Variant &variant, CpuKernel &kernel);
    // Drops forms that do not pay with the plan in so many slices, and tells the plan what the others read; null: nothing to do.
    // False: plan again, for the forms that are left.
    bool (*fit)(Plan &plan, int32_t slices, const Variant &variant, CpuKernel &kernel);
    // Input index of each operand.
    int operands[kMaxOperands - 1];
};

// The type that the operator's kernel has for a tensor of `type`.
hewn_data_type kernel_type(const OperatorInfo &info, hewn_data_type type);

halide_type_t halide_type(hewn_data_type type);

// The operand tensors of the problem in the order of the kernel's buffers, the output last. Returns their number.
int list_operands(const Problem &problem, const Tensor **operands);

// Calls the operator's `fit`, whose result it returns, and then chooses how far ahead kernels ask for memory with the plan in so
// many slices on so many CPUs of a chip.
bool fit_to_plan(Plan &plan, int32_t slices, int32_t cpus, const Chip &chip, const Variant &variant, CpuKernel &kernel);

// Checks a whole description at a feature level.
hewn_status read_operator(const hewn_operator_desc *desc, hewn_feature_level level, Problem &problem, hewn_error *error);

}  // namespace hewn

#endif  // HEWN_RUNTIME_OPERATORS_H
