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

int call_dequantize_blocks(BoxCall &context, halide_buffer_t *operands) {
    const CpuCall &call = static_cast<CpuCall &>(context);
    BlockRows rows(*call.kernel.problem, operands);
    while (rows.next()) {
        halide_buffer_t *const o = rows.operands;
        const int code =
            call_kernel(*call.kernel.blocks, call, &o[0], &o[1], &o[2], rows.shift, &o[3]);
        if (code != 0) return code;
    }
    return rows.has_left() ? call_dequantize(context, rows.operands) : 0;
}

__attribute__((cold)) void choose_dequantize_forms(const Space &space, const Variant &variant,
                                                   CpuKernel &kernel) {
    kernel.form = variant.form("general");
    kernel.call = call_dequantize;
    kernel.prefetch_share = PrefetchShare::Usual;
    kernel.repeating = may_repeat(space) ? variant.form("repeating") : nullptr;
}

__attribute__((cold)) bool fit_dequantize(Plan &plan, int32_t, const Variant &variant,
                                          CpuKernel &kernel) {
    if (!fit_repeating(plan, kernel)) return false;
    kernel.blocks = fit_blocks(plan) ? variant.form("blocks") : nullptr;
    if (kernel.blocks) kernel.call = call_dequantize_blocks;
    if (kernel.repeating) read_a_vector(plan);
    return true;
}

}  // namespace

const CpuForms forms_of_dequantize_linear = {choose_dequantize_forms, fit_dequantize, nullptr};

}  // namespace hewn
