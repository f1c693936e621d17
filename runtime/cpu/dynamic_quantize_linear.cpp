// The first two passes of DYNAMIC_QUANTIZE_LINEAR on the CPU: the range, by the form `range`, and
// the parameters, which need no form.
#include "dynamic_quantize_linear.h"

#include "chosen.h"
#include "kernel.h"

namespace hewn {

namespace {

// Calls the form on a box, which gives the range of the box, and adds that to the pass's output, a
// Range.
int call_range(BoxCall &context, halide_buffer_t *operands) {
    const CpuCall &call = static_cast<CpuCall &>(context);
    const Problem &problem = *call.kernel.problem;
    const bool half = kernel_type(*problem.info, problem.inputs[0]) == HEWN_DATA_TYPE_FLOAT16;
    uint32_t words[2];
    uint16_t halves[2];
    halide_dimension_t two = {0, 2, 1, 0};
    halide_buffer_t box;
    if (kKernelAssertions) {
        box = {};
        box.type = halide_type_t(halide_type_uint, half ? 16 : 32);
        box.dimensions = 1;
    }
    box.host = half ? reinterpret_cast<uint8_t *>(halves) : reinterpret_cast<uint8_t *>(words);
    box.dim = &two;
    if (const int code = call_kernel(*call.kernel.form, call, &operands[0], &box)) return code;
    for (int i = 0; i < 2 && half; i++) words[i] = bits_of(half_to_float(halves[i]));
    Range &range = *static_cast<Range *>(call.tensors[1]);
    range.include(words[0], words[1]);
    return 0;
}

// Subnormal numbers are kept, because minima must not be flushed. Comparisons with NaN are invalid
// operations, but nothing here looks at the flag.
__attribute__((cold)) int list_modes(const Space &, const Variant &variant, CpuKernel &kernel,
                                     CpuMode *modes) {
    kernel.form = variant.form("range");
    modes[0] = {0, nullptr, call_range, {kernel.form->layouts, 0, true}};  // nothing to stream
    return 1;
}

}  // namespace

void write_parameters(const Problem &problem, void *const *tensors) {
    enum { kRanges, kScale, kZeroPoint };
    const Range &range = *static_cast<const Range *>(tensors[kRanges]);
    const Tensor &scale = tensor(problem, kScale), &zero_point = tensor(problem, kZeroPoint);
    const uint32_t below[4] = {range.below}, above[4] = {range.above};
    float scales[4];
    int32_t zero_points[4];
    const FloatingPointMode mode;
    choose_parameters({problem.attributes, scale.type, zero_point.type}, below, above, 4, scales,
                      zero_points);
    write_scales({scale, tensors[kScale], 0, 0}, scales, 1);
    write_zero_points({zero_point, tensors[kZeroPoint], 0, 0}, zero_points, 1);
}

const CpuForms forms_of_dynamic_quantize_linear = {list_modes, nullptr, nullptr};

}  // namespace hewn
