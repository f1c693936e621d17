#include "dynamic_quantize_linear.h"

#include <algorithm>
#include <cstring>

#include "kernel.h"
#include "linear.h"

namespace hewn {

namespace {

void raise(std::atomic<uint32_t> &most, uint32_t magnitude) {
    uint32_t seen = most.load(std::memory_order_relaxed);
    while (magnitude > seen &&
           !most.compare_exchange_weak(seen, magnitude, std::memory_order_relaxed)) {
    }
}

// Calls the kernel on a box of the first pass, whose second tensor is the Range.
int call_range(BoxCall &context, halide_buffer_t *operands) {
    const CpuCall &call = static_cast<CpuCall &>(context);
    const bool half = call.kernel.problem->inputs[0].type == HEWN_DATA_TYPE_FLOAT16;
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
    if (half) std::copy(halves, halves + 2, words);
    Range &range = *static_cast<Range *>(call.inputs[1]);
    raise(range.below, words[0]);
    raise(range.above, words[1]);
    return 0;
}

// Comparisons with NaN are invalid operations, which nothing here asks for. As minima must not be
// flushed, subnormals are kept.
__attribute__((cold)) void choose_range_form(const Space &, const Variant &variant,
                                             CpuKernel &kernel) {
    kernel.form = variant.form("range");
    kernel.compute_bound = true;  // nothing is stored
    kernel.call = call_range;
}

float magnitude(uint32_t bits, hewn_data_type type) {
    return type == HEWN_DATA_TYPE_FLOAT16 ? half_to_float(uint16_t(bits)) : float_of(bits);
}

// Nearest even, below 2^22.
float rounded(float number) { return (number + 0x1.8p23f) - 0x1.8p23f; }

struct Parameters {
    float scale;
    int32_t zero_point;
};

// Each operation rounds in f32, in the mode that its caller has set. Apart, so that none is moved
// out of that mode.
__attribute__((noinline)) Parameters parameters_of(float low, float high, float min, float max) {
    const float scale = low == high ? 1.0f : (high - low) / (max - min);
    const float zero_point = min - low / scale;
    const float clamped = zero_point > min ? std::min(zero_point, max) : min;  // NaN: min
    return {scale, int32_t(rounded(clamped))};
}

}  // namespace

void write_parameters(const Problem &problem, const Range &range, void *scale, void *zero_point) {
    const hewn_data_type type = problem.inputs[0].type;
    const bool is_signed = problem.output.type == HEWN_DATA_TYPE_INT8;
    const FloatingPointMode mode;
    const Parameters p = parameters_of(-magnitude(range.below, type), magnitude(range.above, type),
                                       is_signed ? -128.0f : 0.0f, is_signed ? 127.0f : 255.0f);
    if (scale) std::memcpy(scale, &p.scale, sizeof p.scale);
    if (zero_point) *static_cast<uint8_t *>(zero_point) = uint8_t(p.zero_point);
}

const CpuForms forms_of_dynamic_quantize_linear = {choose_range_form, nullptr, nullptr};

}  // namespace hewn
