// QUANTIZED_LINEAR_MUL on the CPU. The ratio of the scales is computed for each box and decides
// which form runs.
#include <cmath>

#include "kernel.h"

namespace hewn {

namespace {

// Indices of the inputs.
enum { kA, kAScale, kAZeroPoint, kB, kBScale, kBZeroPoint, kOutputScale, kOutputZeroPoint };

// 255 * 255 times this ratio is below 2^30. A ratio of NaN is not bounded.
constexpr float kBoundedRatio = 0x1p14f;

int call_quantized_mul(BoxCall &context, halide_buffer_t *operands) {
    const CpuCall &call = static_cast<CpuCall &>(context);
    const float ratio =
        scale_of(call, kAScale) * scale_of(call, kBScale) / scale_of(call, kOutputScale);
    const bool bounded = call.kernel.quick && std::fabs(ratio) <= kBoundedRatio;
    return call_kernel(*(bounded ? call.kernel.quick : call.kernel.form), call, &operands[0],
                       &operands[1], zero_point_of(call, kOutputZeroPoint),
                       zero_point_of(call, kAZeroPoint), zero_point_of(call, kBZeroPoint), ratio,
                       &operands[2]);
}

// The form `bounded` takes bounded ratios, if there are enough elements.
__attribute__((cold)) int list_modes(const Space &space, const Variant &variant, CpuKernel &kernel,
                                     CpuMode *modes) {
    const bool enough = element_count(space) >= variant.plan->reciprocal_elements;
    kernel.form = variant.form("general");
    modes[0] = {0,
                enough ? variant.form("bounded") : nullptr,
                call_quantized_mul,
                {kernel.form->layouts, 0, true}};
    return 1;
}

}  // namespace

const CpuForms forms_of_quantized_linear_mul = {list_modes, nullptr, nullptr};

}  // namespace hewn
