// DEQUANTIZE_LINEAR on the CPU.
#include "linear.h"

namespace hewn {

namespace {

int call_dequantize(BoxCall &context, halide_buffer_t *operands) {
    const CpuCall &call = static_cast<CpuCall &>(context);
    const CpuKernel &kernel = call.kernel;
    const Form &form = takes_repeating(kernel, operands[kScale]) ? *kernel.repeating : *kernel.form;
    return call_kernel(form, call, &operands[0], &operands[1], &operands[2],
                       kernel.prefetch_distance, &operands[3]);
}

__attribute__((cold)) void choose_dequantize_forms(const Space &space, const Variant &variant,
                                                   CpuKernel &kernel) {
    kernel.form = variant.form("general");
    kernel.call = call_dequantize;
    kernel.prefetch_share = PrefetchShare::Usual;
    kernel.repeating = may_repeat(space) ? variant.form("repeating") : nullptr;
}

__attribute__((cold)) bool fit_dequantize(Plan &plan, int32_t, const Variant &, CpuKernel &kernel) {
    if (!fit_repeating(plan, kernel)) return false;
    if (kernel.repeating) read_a_vector(plan);
    return true;
}

}  // namespace

const CpuForms forms_of_dequantize_linear = {choose_dequantize_forms, fit_dequantize, nullptr};

}  // namespace hewn
