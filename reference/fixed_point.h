// The reference of REQUANTIZE_FIXED: requantization by integers only. A real factor is a
// multiplier of 31 bits and a shift, as in TFLite and CMSIS-NN. `>>` of a negative number is
// floor(number / 2^n) with every compiler that builds hewn.
#pragma once

#include "reference.h"

namespace reference {

// The factor multiplier * 2^(shift - 31), with a multiplier of at least 0 and a shift from -31 to
// 30.
struct FixedFactor {
    int32_t multiplier, shift;
};

enum class FixedRounding {
    twice,  // `double`: TFLite's and CMSIS-NN's default.
    once    // `single`: TFLITE_SINGLE_ROUNDING and CMSIS_NN_USE_SINGLE_ROUNDING.
};

// number / 2^bits, rounded; halves away from zero.
inline int64_t divided_halves_away(int64_t number, int bits) {
    const int64_t half = (int64_t(1) << bits) / 2;
    return number < 0 ? -((half - number) >> bits) : (number + half) >> bits;
}

// number / 2^bits, rounded; halves upwards. `bits` is at least 1. This is
// floor((number + 2^(bits - 1)) / 2^bits), but the sum could overflow.
inline int64_t divided_halves_up(int64_t number, int bits) {
    return (number >> bits) + (number >> (bits - 1) & 1);
}

// v * factor, rounded. v is the difference of two integers of at most 32 bits. With two roundings,
// v * 2^shift saturates to 32 bits where the shift is to the left.
inline int64_t fixed_product(int64_t v, FixedFactor factor, FixedRounding rounding) {
    if (rounding == FixedRounding::once)
        return divided_halves_up(v * factor.multiplier, 31 - factor.shift);
    constexpr int64_t min = Limits<int32_t>::min, max = Limits<int32_t>::max;
    const int left = std::max(factor.shift, 0), right = std::max(-factor.shift, 0);
    const int64_t shifted = std::clamp(v * (int64_t(1) << left), min, max);
    return divided_halves_away(divided_halves_up(shifted * factor.multiplier, 31), right);
}

// REQUANTIZE_FIXED: clamp((x - z) * factor + oz, low, high). The bounds are those of Out unless a
// fused activation has narrower ones.
template<class Out, class In>
Out requantize_fixed(In x, In z, FixedFactor factor, FixedRounding rounding, Out oz,
                     Out low = Limits<Out>::min, Out high = Limits<Out>::max) {
    const int64_t r = fixed_product(int64_t(x) - int64_t(z), factor, rounding);
    return Out(std::clamp(r + oz, int64_t(low), int64_t(high)));
}

// The fixed-point form of a positive factor. A factor that is too small becomes 0. With one
// rounding, a factor that is too large becomes the largest one. With two roundings the result has
// a shift above 30 then, with which fixed_product must not be called.
inline FixedFactor fixed_factor(double factor, FixedRounding rounding) {
    int shift;
    int64_t multiplier = int64_t(std::floor(std::frexp(factor, &shift) * 0x1p31 + 0.5));
    if (multiplier == int64_t(1) << 31) {
        multiplier /= 2;
        shift++;
    }
    if (shift < -31) return {0, 0};
    if (rounding == FixedRounding::once && shift > 30) return {0x7fffffff, 30};
    return {int32_t(multiplier), shift};
}

}  // namespace reference
