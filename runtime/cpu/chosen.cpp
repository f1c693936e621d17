// Chooses scales and zero points (chosen.h), and writes them. docs/numerics.md has the formulas.
#include "chosen.h"

#include <cstring>

#include "../base/bits.h"
#include "floats.h"

namespace hewn {

namespace {

// Raises `most` to `magnitude` if it is smaller.
void raise(std::atomic<uint32_t> &most, uint32_t magnitude) {
    uint32_t seen = most.load(std::memory_order_relaxed);
    while (magnitude > seen &&
           !most.compare_exchange_weak(seen, magnitude, std::memory_order_relaxed)) {
    }
}

// The numbers of an output type that its scales depend on.
struct Limits {
    float least, most, middle;
};
Limits limits_of(hewn_data_type type) {
    switch (type) {
    case HEWN_DATA_TYPE_INT8: return {-128, 127, 0};
    case HEWN_DATA_TYPE_UINT8: return {0, 255, 128};
    case HEWN_DATA_TYPE_INT4: return {-8, 7, 0};
    case HEWN_DATA_TYPE_UINT4: return {0, 15, 8};
    case HEWN_DATA_TYPE_FLOAT8E5M2: return {-57344, 57344, 0};
    default: return {-448, 448, 0};  // f8e4m3fn
    }
}

Floats larger(Floats a, Floats b) { return a > b ? a : b; }
Floats smaller(Floats a, Floats b) { return a < b ? a : b; }

// The nearest integers, ties to even, of numbers below 2^22 in magnitude.
Floats rounded(Floats x) { return (x + 0x1.8p23f) - 0x1.8p23f; }

// The scales of ranges [-below, above].
Floats scales_of(const ChoiceRule &rule, const Limits &limits, Floats below, Floats above) {
    // DYNAMIC_QUANTIZE_LINEAR has no attributes.
    const hewn_quantization_mode mode =
        kHasDynamicQuantize ? rule.attributes.dynamic_quantize_mode : 0;
    const float min_scale = kHasDynamicQuantize ? rule.attributes.dynamic_quantize_min_scale : 0;
    const bool is_full = mode == HEWN_QUANTIZATION_MODE_FULL,
               is_symmetric = mode == HEWN_QUANTIZATION_MODE_SYMMETRIC;
    const Floats extent = is_full        ? (above > below ? above : -below)
                          : is_symmetric ? larger(above, below)
                                         : above + below;
    const float steps = is_full        ? limits.middle > 0 ? -limits.middle : limits.least
                        : is_symmetric ? limits.most - limits.middle
                                       : limits.most - limits.least;
    Floats scale = extent / steps;
    if (min_scale > 0) scale = larger(scale, Floats{} + min_scale);
    else scale = extent == 0 ? Floats{} + 1 : scale;
    if (!kHasDynamicQuantize) return scale;
    if (rule.scale == HEWN_DATA_TYPE_FLOAT16) return (Floats)rounded_to_f16((Words32)scale);
    if (rule.scale == HEWN_DATA_TYPE_BFLOAT16) return (Floats)rounded_to_bf16((Words32)scale);
    return scale;
}

// Writes an element of 4 bits. Another thread may write the other half of the byte. After the
// tensor's last element, the rest of the byte is 0.
void write_4_bits(const Tensor &tensor, uint8_t *bytes, int64_t element, uint32_t value) {
    const int shift = element % 2 * 4;
    uint8_t *const byte = bytes + element / 2;
    const bool is_last = uint64_t(element / 2 + 1) == tensor.bytes;
    int64_t last = 0;
    for (int d = 0; is_last && d < tensor.rank; d++)
        last += (stored(tensor, d) - 1) * tensor.strides[d];
    const uint8_t kept =
        is_last && element == last ? uint8_t((1 << shift) - 1) : uint8_t(0xf0 >> shift);
    uint8_t before = __atomic_load_n(byte, __ATOMIC_RELAXED), after;
    do after = uint8_t((before & kept) | (value & 0xf) << shift);
    while (!__atomic_compare_exchange_n(byte, &before, after, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
}

}  // namespace

void Range::include(uint32_t magnitude_below, uint32_t magnitude_above) {
    raise(below, magnitude_below);
    raise(above, magnitude_above);
}

void choose_parameters(const ChoiceRule &rule, const uint32_t *below, const uint32_t *above,
                       int32_t count, float *scales, int32_t *zero_points) {
    const Limits limits = limits_of(rule.output);
    const Floats least = Floats{} + limits.least, most = Floats{} + limits.most;
    for (int32_t i = 0; i < count; i += 4) {
        Floats low, high;  // magnitudes
        std::memcpy(&low, below + i, sizeof low);
        std::memcpy(&high, above + i, sizeof high);
        const Floats scale = scales_of(rule, limits, low, high);
        const Floats zero_point = least + low / scale;
        // NaN becomes the least number.
        const Floats clamped = zero_point > least ? smaller(zero_point, most) : least;
        const Ints integers = __builtin_convertvector(rounded(clamped), Ints);
        std::memcpy(scales + i, &scale, sizeof scale);
        std::memcpy(zero_points + i, &integers, sizeof integers);
    }
}

void write_scales(const Elements &to, const float *scales, int32_t count) {
    if (!to.tensor.present || to.tensor.empty()) return;
    if (!kHasDynamicQuantize || to.tensor.type == HEWN_DATA_TYPE_FLOAT32) {
        float *const first = static_cast<float *>(to.memory) + to.first;
        for (int32_t i = 0; i < count; i++) first[i * to.step] = scales[i];
        return;
    }
    uint16_t *const first = static_cast<uint16_t *>(to.memory) + to.first;
    const bool is_half = to.tensor.type == HEWN_DATA_TYPE_FLOAT16;
    for (int32_t i = 0; i < count; i++) {
        const uint32_t bits = bits_of(scales[i]);  // a number of the type
        first[i * to.step] = uint16_t(is_half ? narrowed(Words32{} + bits)[0] : bits >> 16);
    }
}

void write_zero_points(const Elements &to, const int32_t *zero_points, int32_t count) {
    if (!to.tensor.present || to.tensor.empty()) return;
    uint8_t *const bytes = static_cast<uint8_t *>(to.memory);
    if (!kHasDynamicQuantize || !to.tensor.conversion) {
        for (int32_t i = 0; i < count; i++) bytes[to.first + i * to.step] = uint8_t(zero_points[i]);
        return;
    }
    for (int32_t i = 0; i < count; i++)
        write_4_bits(to.tensor, bytes, to.first + i * to.step, uint32_t(zero_points[i]));
}

}  // namespace hewn
