// Small floats: types of at most 8 bits, which are kept as their codes. Their numbers come from
// lists/data_types.py, and SmallFloat in lists/declarations.py says what each number means.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace reference {

struct SmallFloat {
    int bits, mantissa, bias, largest, nan, sign;

    // The exponent of the least normal number. Without a sign there are no subnormal numbers, so
    // that the exponent 0 is a normal one.
    constexpr int least_exponent() const { return (sign != 0 ? 1 : 0) - bias; }
    constexpr bool has_infinity() const { return nan > largest + 1; }
};

#define HEWN_SMALL_FLOAT(word, name, numpy, bits_, ...) \
    struct word { \
        static constexpr SmallFloat format = {bits_, __VA_ARGS__}; \
        uint8_t bits; \
    };
#include "types.inc"

template<class T, class = void>
inline constexpr bool is_small_float = false;
template<class T>
inline constexpr bool is_small_float<T, std::void_t<decltype(T::format)>> = true;

// The value of a code, exact.
inline float value_of_code(const SmallFloat &format, int code) {
    const int magnitude = code % (format.sign != 0 ? format.sign : 1 << format.bits);
    if (format.nan != 0 && code == format.nan) return std::numeric_limits<float>::quiet_NaN();
    float value;
    if (magnitude > format.largest) {
        const bool infinite = format.has_infinity() && magnitude == format.largest + 1;
        value = infinite ? HUGE_VALF : std::numeric_limits<float>::quiet_NaN();
    } else {
        const int one = 1 << format.mantissa, exponent = magnitude / one;
        const bool subnormal = format.sign != 0 && exponent == 0;
        value =
            std::ldexp(float(magnitude % one + (subnormal ? 0 : one)),
                       std::max(exponent - format.bias, format.least_exponent()) - format.mantissa);
    }
    return magnitude == code ? value : -value;
}

// The code of x, rounded once to nearest even. Numbers beyond the largest one and infinity become
// the largest one if `saturate` is true or the type has no NaN. Otherwise they become infinity if
// the type has that, and NaN if not. Without NaN, NaN becomes the largest number. Without a sign,
// numbers that are not positive become NaN, and those below the least one become that.
inline uint8_t code_of_value(const SmallFloat &format, double x, bool saturate) {
    if (std::isnan(x)) return uint8_t(format.nan != 0 ? format.nan : format.largest);
    if (format.sign == 0 && !(x > 0)) return uint8_t(format.nan);
    // Codes count numbers from 0 on, also from one exponent to the next. So the code is the number
    // of steps from 0 to x, where a step is the distance between the numbers next to x, and
    // 2^mantissa steps for each exponent below that of x.
    const double one = std::ldexp(1.0, format.mantissa);
    double code = format.largest + 1;
    if (std::isfinite(x)) {
        const int least = format.least_exponent(),
                  exponent = x == 0 ? least : std::max(std::ilogb(x), least);
        const double steps = std::nearbyint(std::fabs(x) / std::ldexp(1.0, exponent) * one);
        code = std::max(0.0, steps + one * (exponent - least) - (format.sign != 0 ? 0 : one));
    }
    if (code > format.largest)
        code = saturate || format.nan == 0 ? format.largest : format.largest + 1;
    const bool no_negative_zero = format.nan == format.sign;
    if (!std::signbit(x) || (code == 0 && no_negative_zero)) return uint8_t(code);
    return uint8_t(int(code) | format.sign);
}

// f32(x), exact.
template<class T, std::enable_if_t<is_small_float<T>, int> = 0>
float to_f32(T x) {
    return value_of_code(T::format, x.bits);
}

template<class T>
T to_small_float(float x, bool saturate) {
    return {code_of_value(T::format, x, saturate)};
}

}  // namespace reference
