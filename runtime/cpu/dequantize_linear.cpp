// DEQUANTIZE_LINEAR on the CPU: its form `general` serves everything; `repeating` and `blocks` are
// faster for scales and zero points that lie so.
#include "../base/kernel_contract.h"
#include "linear.h"

namespace hewn {

namespace {

// Calls `general`, or `repeating` if the box suits it.
int call_dequantize(BoxCall &context, halide_buffer_t *operands) {
    const CpuCall &call = static_cast<CpuCall &>(context);
    const CpuKernel &kernel = call.kernel;
    const bool repeating = takes_repeating(kernel, operands[kScale]);
    return call_kernel(*(repeating ? kernel.quick : kernel.form), call, &operands[0], &operands[1],
                       &operands[2], kernel.prefetch_distance, &operands[3]);
}

// Calls `blocks` for as many blocks as it takes, and `general` for the others.
int call_dequantize_blocks(BoxCall &context, halide_buffer_t *operands) {
    const CpuCall &call = static_cast<CpuCall &>(context);
    BlockRows rows(*call.kernel.problem, operands);
    while (rows.next()) {
        halide_buffer_t *const o = rows.operands;
        const int code =
            call_kernel(*call.kernel.quick, call, &o[0], &o[1], &o[2], rows.shift, &o[3]);
        if (code != 0) return code;
    }
    return rows.has_left() ? call_dequantize(context, rows.operands) : 0;
}

// The factor of a pass's scales: 1 / 64 for the int8 elements of MX, and NVFP4's scale of the
// tensor.
float scale_factor(const CpuCall &call) {
    const bool is_nvfp4 = tensor(*call.kernel.problem, kScaledBy).present;
    return is_nvfp4 ? read_scale(call.tensors[kScaledBy], HEWN_DATA_TYPE_FLOAT32) : 0x1p-6f;
}

// Multiplies the scales, which are in scratch memory, before it calls what the mode calls.
int call_dequantize_scaled(BoxCall &context, halide_buffer_t *operands) {
    CpuCall &call = static_cast<CpuCall &>(context);
    const halide_buffer_t &scales = operands[kScale];
    if (call.filled >> kScale & 1) {
        const float factor = scale_factor(call);
        const halide_dimension_t *const step = scales.dim;
        for (int32_t y = 0; y < (step[1].stride == 0 ? 1 : step[1].extent); y++)
            for (int32_t x = 0; x < (step[0].stride == 0 ? 1 : step[0].extent); x++)
                reinterpret_cast<float *>(scales.host)[y * step[1].stride + x * step[0].stride] *=
                    factor;
    }
    return (call.kernel.mode == kBlocks ? call_dequantize_blocks : call_dequantize)(context,
                                                                                    operands);
}

// Whether the scales of a pass have a factor (multiplies_scales).
bool has_scale_factor(const Problem &pass) { return kHasOwnLevel && pass.info->output_count > 1; }

// Calls `packed4` or `packed2`.
int call_dequantize_packed(BoxCall &context, halide_buffer_t *operands) {
    const CpuCall &call = static_cast<CpuCall &>(context);
    PackedRows rows(call, operands, kInput);
    if (!rows.fit()) return rows.compute_bytes(context, call_dequantize);
    halide_buffer_t *const o = rows.operands;
    return call_kernel(*call.kernel.quick, call, &o[0], &o[1], rows.zero_point, &o[3]);
}

__attribute__((cold)) int list_modes(const Space &space, const Variant &variant, CpuKernel &kernel,
                                     CpuMode *modes) {
    const bool scaled = has_scale_factor(*kernel.problem);
    const Form *const repeating =
        may_repeat(space) && !scaled ? variant.form("repeating") : nullptr;
    // A format of 0 is that of integers.
    const bool blocks_serve =
        field_of(kernel.problem->format, kFormatBias) <= unsigned(kMostBiasAsF16);
    const Form *const blocks = blocks_serve ? variant.form("blocks") : nullptr;
    kernel.form = variant.form("general");
    kernel.prefetch_share = PrefetchShare::Usual;
    const uint32_t layouts = kernel.form->layouts;
    const PackedForm packed = packed_form(space, *kernel.problem, variant, kInput);
    int count = 0;
    if (packed.form)
        modes[count++] = {kPacked,
                          packed.form,
                          call_dequantize_packed,
                          {layouts, kParameters, false},
                          packed.together};
    if (repeating) modes[count++] = {kRepeating, repeating, call_dequantize, reading_rows(layouts)};
    if (blocks)
        modes[count++] = {kBlocks,
                          blocks,
                          scaled ? call_dequantize_scaled : call_dequantize_blocks,
                          {layouts, 0, false}};
    modes[count++] = {kAnyParameters,
                      nullptr,
                      scaled ? call_dequantize_scaled : call_dequantize,
                      {layouts, 0, false}};
    return count;
}

__attribute__((cold)) bool suits(Plan &plan, int32_t, const Variant &, CpuKernel &kernel) {
    if (kernel.mode == kPacked) return packed_rows_fit(plan, *kernel.problem, kInput);
    if (kernel.mode == kBlocks) return has_blocks(plan);
    if (kernel.mode != kRepeating) return true;
    if (!has_repeating_rows(plan)) return false;
    read_a_vector(plan);
    return true;
}

}  // namespace

const CpuForms forms_of_dequantize_linear = {list_modes, suits, nullptr};

}  // namespace hewn
