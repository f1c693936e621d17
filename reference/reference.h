// The reference: the operators' formulas in scalar C++. Every variant must equal it bit for bit
// (any NaN equals any NaN). It is computed in IEEE-754 binary32, with one rounding to nearest even
// for each written operation, so it must be compiled with -ffp-contract=off and run in the default
// floating-point mode. The formulas are those of DirectML's operator reference; docs/numerics.md
// gives the order of the roundings.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "small_floats.h"

namespace reference {

// IEEE-754 binary16, kept as its bits.
struct f16 {
    uint16_t bits;
};

// The upper half of an IEEE-754 binary32, kept as its bits.
struct bf16 {
    uint16_t bits;
};

// An integer of fewer bits than T, kept in a T.
template<int Bits, class T>
struct Narrow {
    static constexpr int bits = Bits;
    T value = 0;

    Narrow() = default;
    // The lowest bits of `integer`.
    template<class Integer>
    Narrow(Integer integer)
        : value(T(T(uint64_t(int64_t(integer)) << (8 * sizeof(T) - Bits)) >>
                  (8 * sizeof(T) - Bits))) {}
    operator T() const { return value; }
};
using i4 = Narrow<4, int8_t>;
using u4 = Narrow<4, uint8_t>;
using i2 = Narrow<2, int8_t>;
using u2 = Narrow<2, uint8_t>;

inline float from_bits(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline uint32_t to_bits(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

// f32(h), exact.
inline float to_f32(f16 h) {
    const uint32_t sign = uint32_t(h.bits & 0x8000) << 16, exponent = (h.bits >> 10) & 31,
                   mantissa = h.bits & 0x3ff;
    if (exponent == 31) return from_bits(sign | 0x7f800000 | mantissa << 13);
    if (exponent != 0) return from_bits(sign | (exponent + 112) << 23 | mantissa << 13);
    const float magnitude = float(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
}
// f32(b), exact.
inline float to_f32(bf16 b) { return from_bits(uint32_t(b.bits) << 16); }
inline float to_f32(float x) { return x; }
// f32(i), nearest even.
inline float to_f32(int32_t i) { return float(i); }

// f16(x), nearest even; infinity from 65520 on.
inline f16 to_f16(float x) {
    const uint32_t bits = to_bits(x), magnitude = bits & 0x7fffffff;
    const uint16_t sign = uint16_t(bits >> 16 & 0x8000);
    if (magnitude > 0x7f800000) return {uint16_t(sign | 0x7e00)};
    if (magnitude >= 0x477ff000) return {uint16_t(sign | 0x7c00)};
    // Below 2^-14 the result is a multiple of 2^-24: adding 0.5 (whose ulp is 2^-24) rounds to it.
    if (magnitude < 0x38800000)
        return {uint16_t(sign | (to_bits(from_bits(magnitude) + 0.5f) - 0x3f000000))};
    return {uint16_t(sign | ((magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13))};
}

// bf16(x), nearest even; infinity beyond the range of bf16.
inline bf16 to_bf16(float x) {
    const uint32_t bits = to_bits(x);
    if (std::isnan(x)) return {uint16_t(bits >> 16 | 0x40)};
    return {uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

// x rounded once to T, nearest even. A small float saturates.
template<class T>
T from_f32(float x) {
    if constexpr (std::is_same_v<T, f16>) return to_f16(x);
    else if constexpr (std::is_same_v<T, bf16>) return to_bf16(x);
    else if constexpr (is_small_float<T>) return to_small_float<T>(x, true);
    else return x;
}

// a + b: floats are rounded once, to T; integers wrap modulo 2^n.
template<class T>
T add(T a, T b) {
    // f32 has 24 significant bits, f16 has 11 and bf16 has 8. As 24 >= 2 * 11 + 2, rounding to f32
    // and then to T is the same as rounding once.
    if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>)
        return from_f32<T>(to_f32(a) + to_f32(b));
    else if constexpr (std::is_floating_point_v<T>) return a + b;
    else return T(std::make_unsigned_t<T>(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b)));
}

// The maximum and the minimum of IEEE 754-2019: NaN stays NaN, and -0 is less than +0.
inline float maximum(float a, float b) {
    if (std::isnan(a) || std::isnan(b)) return a + b;
    if (a == b) return std::signbit(a) ? b : a;
    return a > b ? a : b;
}
inline float minimum(float a, float b) { return -maximum(-a, -b); }

// The parameters of ADD1's activation, in the order of hewn_add1_desc.
struct ActivationParameters {
    float alpha, beta, bias, threshold, min, max;
};
// The activations, in the order of hewn_activation.
enum class Activation {
    identity,
    linear,
    relu,
    leaky_relu,
    thresholded_relu,
    hard_sigmoid,
    softsign,
    shrink,
    clip
};

// The activation of x. Each operation is rounded to f32. In `clip` a bound of -0 is a +0.
inline float activated(Activation activation, const ActivationParameters &p, float x) {
    const auto linear = [&] {
        const float product = p.alpha * x;
        return product + p.beta;
    };
    switch (activation) {
    case Activation::identity: return x;
    case Activation::linear: return linear();
    case Activation::relu: return maximum(0, x);
    case Activation::leaky_relu: return x >= 0 ? x : p.alpha * x;
    case Activation::thresholded_relu: return x > p.alpha ? x : 0;
    case Activation::hard_sigmoid: return maximum(0, minimum(linear(), 1));
    case Activation::softsign: {
        const float divisor = 1 + std::fabs(x);
        return x / divisor;
    }
    case Activation::shrink:
        return x < -p.threshold ? x + p.bias : x > p.threshold ? x - p.bias : 0;
    case Activation::clip: return minimum(maximum(x, p.min + 0.0f), p.max + 0.0f);
    }
    return x;
}

// ADD1: the sum, rounded to T, and its activation, rounded to T.
template<class T>
T add1(T a, T b, Activation activation, const ActivationParameters &parameters) {
    return from_f32<T>(activated(activation, parameters, to_f32(add(a, b))));
}

// The range of an integer type.
template<class T>
struct Limits {
    static constexpr T min = std::numeric_limits<T>::min(), max = std::numeric_limits<T>::max();
};
template<int Bits, class T>
struct Limits<Narrow<Bits, T>> {
    static constexpr int half = 1 << (Bits - 1), min = std::is_signed_v<T> ? -half : 0,
                         max = min + 2 * half - 1;
};

// The value of an absent zero point in DirectML's QUANTIZE and DEQUANTIZE: the middle of an
// unsigned type's range, 0 for a signed type.
template<class T>
constexpr int middle = [] {
    if constexpr (is_small_float<T>) return 0;
    else return Limits<T>::min < 0 ? 0 : Limits<T>::max / 2 + 1;
}();

// clamp(roundToIntegralTiesToEven(q) + z, Min, Max); z if q is NaN. For a small float the code of
// q, which saturates or not; it has no zero point.
template<class Out>
Out quantize_quotient(float q, Out z, bool saturate = true) {
    if constexpr (is_small_float<Out>) {
        return to_small_float<Out>(q, saturate);
    } else {
        if (std::isnan(q)) return z;
        constexpr double min = Limits<Out>::min, max = Limits<Out>::max;
        const double r = double(std::nearbyint(q)) + z;  // exact wherever it decides
        return Out(r < min ? min : r > max ? max : r);
    }
}

// QUANTIZE_LINEAR: clamp(round(x / s) + z, Min, Max).
template<class Out, class In, class Scale>
Out quantize_linear(In x, Scale s, Out z, bool saturate = true) {
    return quantize_quotient<Out>(to_f32(x) / to_f32(s), z, saturate);
}

// A float format with `bits` significant bits, or fewer below 2^least_exponent.
struct FloatFormat {
    int bits, least_exponent;
    double largest;
};
// The formats, in the order of hewn_precision.
constexpr FloatFormat kPrecisions[] = {
    {24, -126, 0x1.fffffep127}, {11, -14, 65504}, {8, -126, 0x1.fep127}};

// x rounded to the nearest number of the format, ties to even. `step` is the distance between
// numbers of the format next to x.
inline float rounded_to(const FloatFormat &format, float x) {
    if (!std::isfinite(x) || x == 0) return x;
    const int exponent = std::max(std::ilogb(x), format.least_exponent);
    const double step = std::ldexp(1.0, exponent - format.bits + 1),
                 rounded = std::nearbyint(double(x) / step) * step;  // both exact
    return std::fabs(rounded) > format.largest ? std::copysign(HUGE_VALF, x) : float(rounded);
}

// QUANTIZE_LINEAR with the attribute `precision`: x and s are rounded to the format, and then their
// quotient is.
template<class Out, class In, class Scale>
Out quantize_linear(In x, Scale s, Out z, const FloatFormat &precision, bool saturate = true) {
    const float dividend = rounded_to(precision, to_f32(x)),
                divisor = rounded_to(precision, to_f32(s));
    return quantize_quotient<Out>(rounded_to(precision, dividend / divisor), z, saturate);
}

// DEQUANTIZE_LINEAR: (x - z) * s. The difference is exact and is rounded once to f32. The product
// is rounded to f32, and for an output of f16 or bf16 once more. A small float is exact in f32, and
// has no zero point.
template<class Out, class Scale, class In>
Out dequantize_linear_to(In x, Scale s, In z) {
    if constexpr (is_small_float<In>) return from_f32<Out>(to_f32(x) * to_f32(s));
    else return from_f32<Out>(float(int64_t(x) - int64_t(z)) * to_f32(s));
}
template<class Scale, class In>
Scale dequantize_linear(In x, Scale s, In z) {
    return dequantize_linear_to<Scale>(x, s, z);
}

// The bounds of QUANTIZED_LINEAR_ADD's activations, in the order of hewn_quantized_activation.
constexpr float kActivationBounds[][2] = {{-HUGE_VALF, HUGE_VALF}, {0, HUGE_VALF}, {0, 6}, {-1, 1}};

// q, clamped to the activation's quantized bounds. An infinite bound is none.
template<class Out>
Out quantized_activation(Out q, int activation, float os, Out oz) {
    const auto &[low, high] = kActivationBounds[activation];
    const Out least = std::isinf(low) ? Out(Limits<Out>::min) : quantize_linear<Out>(low, os, oz),
              most = std::isinf(high) ? Out(Limits<Out>::max) : quantize_linear<Out>(high, os, oz);
    return std::min(std::max(q, least), most);
}

// QUANTIZED_LINEAR_ADD: clamp(round(((a - az) * as + (b - bz) * bs) / os) + oz, Min, Max).
template<class Out, class A, class B>
Out quantized_linear_add(A a, float as, A az, B b, float bs, B bz, float os, Out oz) {
    const float a_value = float(int(a) - int(az)) * as, b_value = float(int(b) - int(bz)) * bs;
    return quantize_quotient<Out>((a_value + b_value) / os, oz);
}

// QUANTIZED_LINEAR_MUL: clamp(round((a - az) * (b - bz) * (as * bs / os)) + oz, Min, Max). The
// product of the differences is exact.
template<class Out, class In>
Out quantized_linear_mul(In a, float as, In az, In b, float bs, In bz, float os, Out oz) {
    const float ratio = as * bs / os;
    return quantize_quotient<Out>(float((int(a) - int(az)) * (int(b) - int(bz))) * ratio, oz);
}

// REQUANTIZE: quantize_linear of the f32 that dequantize_linear gives.
template<class Out, class In>
Out requantize(In x, float scale, In zero_point, float os, Out oz) {
    return quantize_linear<Out>(dequantize_linear<float>(x, scale, zero_point), os, oz);
}

// Whether a and b have equal bits or are both NaN.
template<class T>
bool same(T a, T b) {
    if constexpr (std::is_same_v<T, f16>)
        return a.bits == b.bits || ((a.bits & 0x7fff) > 0x7c00 && (b.bits & 0x7fff) > 0x7c00);
    else if constexpr (std::is_same_v<T, bf16>)
        return a.bits == b.bits || ((a.bits & 0x7fff) > 0x7f80 && (b.bits & 0x7fff) > 0x7f80);
    else if constexpr (is_small_float<T>)
        return a.bits == b.bits || (std::isnan(to_f32(a)) && std::isnan(to_f32(b)));
    else if constexpr (std::is_same_v<T, float>)
        return to_bits(a) == to_bits(b) || (std::isnan(a) && std::isnan(b));
    else return a == b;
}

}  // namespace reference
