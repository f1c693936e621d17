// REQUANTIZE on the CPU. The values of its scales decide for each box whether it divides or
// multiplies by a reciprocal.
#include <cmath>

#include "kernel.h"

namespace hewn {

namespace {

// Indices of the inputs.
enum { kInput, kInputScale, kInputZeroPoint, kOutputScale, kOutputZeroPoint };

// Whether no quotient reaches 2^31, as the form `reciprocal` requires. False for NaN.
bool bounded(int32_t input_bytes, float input_scale, float output_scale) {
    const double difference = input_bytes == 1 ? 0xff : 0xffff;
    return difference * std::fabs(double(input_scale)) <= 0x1p30 * std::fabs(double(output_scale));
}

int call_requantize(BoxCall &context, halide_buffer_t *operands) {
    const CpuCall &call = static_cast<CpuCall &>(context);
    const CpuKernel &kernel = call.kernel;
    const float input_scale = scale_of(call, kInputScale),
                output_scale = scale_of(call, kOutputScale);
    const auto call_form = [&](const Form &form, auto... divisor) {
        return call_kernel(form, call, &operands[0], zero_point_of(call, kOutputZeroPoint),
                           zero_point_of(call, kInputZeroPoint), input_scale, divisor...,
                           &operands[1]);
    };
    if (!kernel.quick || !ordinary(output_scale) ||
        !bounded(kernel.problem->inputs[kInput].element_bytes, input_scale, output_scale))
        return call_form(*kernel.form, output_scale);
    float r0, r1;
    set_reciprocal(output_scale, r0, r1);
    return call_form(*kernel.quick, r0, r1);
}

// The form `reciprocal` takes ordinary, bounded scales, if there are enough elements.
__attribute__((cold)) int list_modes(const Space &space, const Variant &variant, CpuKernel &kernel,
                                     CpuMode *modes) {
    const bool enough = element_count(space) >= variant.plan->reciprocal_elements;
    kernel.form = variant.form("divide");
    modes[0] = {0,
                enough ? variant.form("reciprocal") : nullptr,
                call_requantize,
                {kernel.form->layouts, 0, true}};
    return 1;
}

}  // namespace

const CpuForms forms_of_requantize = {list_modes, nullptr, nullptr};

}  // namespace hewn
