// Chooses scales and zero points (chosen.h), and writes them. docs/numerics.md has the formulas.
#include "chosen.h"

#include <cstring>

#include "../base/bits.h"
#include "../base/kernel_contract.h"
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

// ---- MX and NVFP4 ----

constexpr uint32_t kInfinity = 0x7f800000, kMantissa = 0x7fffff;

// An MX element type's fraction bits, and its largest number: (1 + top / 2^23) * 2^emax. `below` is
// by how many powers of two its scale is below the number by which elements are divided.
struct MxElement {
    int32_t fraction_bits, emax;
    uint32_t top;
    int32_t below;
};
MxElement mx_element(uint32_t format) {
    if (format == 0) return {6, 0, 0x7e0000, 6};  // an int8 element i means i / 64
    const uint32_t mantissa = field_of(format, kFormatMantissa),
                   largest = field_of(format, kFormatLargest);
    return {int32_t(mantissa),
            int32_t(largest >> mantissa) - int32_t(field_of(format, kFormatBias)),
            (largest & ((1u << mantissa) - 1)) << (23 - mantissa), 0};
}

// The exponent of a block's scale before emax is subtracted. reference/mx.h has the rules.
int32_t mx_exponent(hewn_mx_scale_mode mode, const MxElement &element, uint32_t largest) {
    const uint32_t mantissa = largest & kMantissa;
    const int32_t exponent = int32_t(largest >> 23);
    if (mode == HEWN_MX_SCALE_MODE_FLOOR) return exponent;
    if (mode == HEWN_MX_SCALE_MODE_EVEN)
        return int32_t((largest + (1u << (22 - element.fraction_bits))) >> 23);
    // A subnormal magnitude is 2 * mantissa / 2^23 times 2^-127, and has no leading 1.
    if (exponent == 0) return 2 * mantissa > element.top + (1u << 23);
    return exponent + (mantissa > element.top);
}

// The f32 2^(exponent - 127) for exponents from -22 to 254, subnormal ones too.
float power_of_two(int32_t exponent) {
    return float_of(exponent > 0 ? uint32_t(exponent) << 23 : 1u << (22 + exponent));
}

// The code of the nearest f8e4m3fn, ties to even, saturating.
uint8_t to_e4m3(float number) {
    const uint32_t bits = bits_of(number) & 0x7fffffff, sign = bits_of(number) >> 31 << 7;
    const float magnitude = float_of(bits);
    if (bits > kInfinity) return kLostNvfp4;
    if (magnitude >= 448) return uint8_t(sign | 0x7e);
    // Below 2^-6 numbers are multiples of 2^-9, which is the distance between floats at 2^14.
    if (magnitude < 0x1p-6f) return uint8_t(sign | (bits_of(magnitude + 0x1p14f) & 0xff));
    return uint8_t(sign | (((bits + 0x7ffff + (bits >> 20 & 1)) >> 20) - (120 << 3)));
}
float from_e4m3(uint8_t code) {
    if (code == kLostNvfp4) return float_of(0x7fc00000);
    const int32_t magnitude = code & 0x7f;
    const float number = magnitude < 8 ? float(magnitude) * 0x1p-9f
                                       : float_of(uint32_t(magnitude + (120 << 3)) << 20);
    return code >> 7 ? -number : number;
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

void choose_mx_scales(hewn_mx_scale_mode mode, uint32_t format, const uint32_t *largest,
                      int32_t count, float *scales, uint8_t *codes) {
    const MxElement element = mx_element(format);
    for (int32_t i = 0; i < count; i++) {
        const int32_t exponent = mx_exponent(mode, element, largest[i]) - element.emax,
                      code = exponent < 0     ? 0
                             : exponent > 254 ? 254
                                              : exponent;
        const bool lost = largest[i] >= kInfinity;
        codes[i] = lost ? kLostMx : uint8_t(code);
        scales[i] = lost || largest[i] == 0 ? 1 : power_of_two(code - element.below);
    }
}

void choose_nvfp4_scales(float tensor_scale, const uint32_t *largest, int32_t count, float *scales,
                         uint8_t *codes) {
    for (int32_t i = 0; i < count; i++) {
        const float quotient = float_of(largest[i]) / 6;
        codes[i] = largest[i] >= kInfinity ? kLostNvfp4
                   : largest[i] == 0       ? 0
                                           : to_e4m3(quotient / tensor_scale);
        const bool divides = codes[i] != kLostNvfp4 && largest[i] != 0;
        scales[i] = divides ? nvfp4_factor(from_e4m3(codes[i]), tensor_scale) : 1;
    }
}

// A factor of 0 is replaced by infinity, so that the quotient is a zero with the sign of the
// element.
float nvfp4_factor(float scale, float tensor_scale) {
    const float factor = scale * tensor_scale;
    return factor == 0 ? float_of(kInfinity) : factor;
}

float nvfp4_tensor_scale(float largest) { return largest == 0 ? 1 : largest / 2688; }

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

void write_codes(const Elements &to, const uint8_t *codes, int32_t count) {
    if (!to.tensor.present || to.tensor.empty()) return;
    uint8_t *const first = static_cast<uint8_t *>(to.memory) + to.first;
    for (int32_t i = 0; i < count; i++) first[i * to.step] = codes[i];
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
