// The first two passes of DYNAMIC_QUANTIZE_LINEAR on the CPU: the range, by the form `range`, and
// the parameters, which need no form.
#include "dynamic_quantize_linear.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "kernel.h"

namespace hewn {

namespace {

// How far the elements of an execution's input reach below 0 and above it: the bits of f32
// magnitudes, which have the order of the numbers. Slices raise them in any order.
struct Range {
    std::atomic<uint32_t> below{0}, above{0};
};

// Raises `most` to `magnitude` if it is smaller.
void raise(std::atomic<uint32_t> &most, uint32_t magnitude) {
    uint32_t seen = most.load(std::memory_order_relaxed);
    while (magnitude > seen &&
           !most.compare_exchange_weak(seen, magnitude, std::memory_order_relaxed)) {
    }
}

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
    raise(range.below, words[0]);
    raise(range.above, words[1]);
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

// Returns the nearest integer, ties to even, for numbers below 2^22 in magnitude.
float rounded(float number) { return (number + 0x1.8p23f) - 0x1.8p23f; }

struct Parameters {
    float scale;
    int32_t zero_point;
};

// Computes the scale and the zero point of a range [low, high] and the output type's range [min,
// max]. Each operation rounds in f32, in the mode that the caller has set. It is not inlined, so
// that no operation is moved to where another mode holds.
__attribute__((noinline)) Parameters parameters_of(float low, float high, float min, float max) {
    const float scale = low == high ? 1.0f : (high - low) / (max - min);
    const float zero_point = min - low / scale;
    const float clamped = zero_point > min ? std::min(zero_point, max) : min;  // NaN becomes min
    return {scale, int32_t(rounded(clamped))};
}

}  // namespace

void write_parameters(const Problem &problem, void *const *tensors) {
    enum { kRanges, kScale, kZeroPoint };
    const Range &range = *static_cast<const Range *>(tensors[kRanges]);
    const Tensor &zero_point = tensor(problem, kZeroPoint);
    const bool is_signed = zero_point.type == HEWN_DATA_TYPE_INT8;
    const FloatingPointMode mode;
    const Parameters p = parameters_of(-float_of(range.below), float_of(range.above),
                                       is_signed ? -128.0f : 0.0f, is_signed ? 127.0f : 255.0f);
    if (!tensor(problem, kScale).empty()) std::memcpy(tensors[kScale], &p.scale, sizeof p.scale);
    if (!zero_point.empty()) *static_cast<uint8_t *>(tensors[kZeroPoint]) = uint8_t(p.zero_point);
}

const CpuForms forms_of_dynamic_quantize_linear = {list_modes, nullptr, nullptr};

}  // namespace hewn
