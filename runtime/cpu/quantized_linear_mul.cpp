// QUANTIZED_LINEAR_MUL on the CPU: the ratio of the scales is computed for each box, and decides
// the form.
#include <cmath>

#include "kernel.h"

namespace hewn {

namespace {

// Indices of its inputs.
enum { kA, kAScale, kAZeroPoint, kB, kBScale, kBZeroPoint, kOutputScale, kOutputZeroPoint };

// 255 * 255 times it is below 2^30. NaN is not.
constexpr float kBoundedRatio = 0x1p14f;

float scale(const CpuCall &call, int input) {
    return read_scale(call.inputs[input], HEWN_DATA_TYPE_FLOAT32);
}

int32_t zero_point(const CpuCall &call, int input) {
    return read_zero_point(call.inputs[input], call.kernel.problem->inputs[input].type);
}

int call_quantized_mul(BoxCall &context, halide_buffer_t *operands) {
    const CpuCall &call = static_cast<CpuCall &>(context);
    const float ratio = scale(call, kAScale) * scale(call, kBScale) / scale(call, kOutputScale);
    const bool bounded = call.kernel.bounded && std::fabs(ratio) <= kBoundedRatio;
    return call_kernel(*(bounded ? call.kernel.bounded : call.kernel.form), call, &operands[0],
                       &operands[1], zero_point(call, kOutputZeroPoint),
                       zero_point(call, kAZeroPoint), zero_point(call, kBZeroPoint), ratio,
                       &operands[2]);
}

__attribute__((cold)) void choose_quantized_mul_form(const Space &space, const Variant &variant,
                                                     CpuKernel &kernel) {
    kernel.form = variant.form("general");
    if (element_count(space) >= variant.plan->reciprocal_elements)
        kernel.bounded = variant.form("bounded");
    kernel.compute_bound = true;
    kernel.call = call_quantized_mul;
}

}  // namespace

const CpuForms forms_of_quantized_linear_mul = {choose_quantized_mul_form, nullptr, nullptr};

}  // namespace hewn
