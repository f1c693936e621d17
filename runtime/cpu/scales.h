// Scales and zero points as the CPU's kernels take them: scales as f32 or as reciprocals
// (docs/numerics.md), zero points as i32.
#pragma once

#include <hewn/hewn.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#include "../base/bits.h"

namespace hewn {

// Returns an f16 number, given as its bits, as f32; exactly.
inline float half_to_float(uint16_t bits) {
    const uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = bits >> 10 & 31,
                   mantissa = bits & 0x3ff;
    if (exponent == 0) return float_of(sign | bits_of(float(mantissa) * 0x1p-24f));  // exact
    return float_of(sign | (exponent == 31 ? 0x7f800000 : (exponent + 112) << 23) | mantissa << 13);
}

// Returns a scale of f16 or f32 as f32, exactly.
inline float read_scale(const void *scale, hewn_data_type type) {
    if (type == HEWN_DATA_TYPE_FLOAT16) {
        uint16_t bits;
        std::memcpy(&bits, scale, sizeof bits);
        return half_to_float(bits);
    }
    float value;
    std::memcpy(&value, scale, sizeof value);
    return value;
}

// Returns a zero point of 8 or 16 bits, or of i32.
inline int32_t read_zero_point(const void *zero_point, hewn_data_type type) {
    switch (type) {
    case HEWN_DATA_TYPE_INT8: return *static_cast<const int8_t *>(zero_point);
    case HEWN_DATA_TYPE_UINT8: return *static_cast<const uint8_t *>(zero_point);
    case HEWN_DATA_TYPE_INT16: return *static_cast<const int16_t *>(zero_point);
    case HEWN_DATA_TYPE_INT32: return *static_cast<const int32_t *>(zero_point);
    default: return *static_cast<const uint16_t *>(zero_point);
    }
}

// Whether both parts of a reciprocal have the same sign. It is so on ARM, which has no flag that an
// inf - inf would raise: parts of one sign cannot cancel (docs/numerics.md).
#if defined(__aarch64__)
constexpr bool kOneSign = true;
#else
constexpr bool kOneSign = false;
#endif

// Whether a scale is ordinary: times_reciprocal (generators/numerics.h) is proved to round as
// division does. False for NaN.
inline bool ordinary(float scale) {
    // If both parts have one sign, the proof fails for twelve mantissas. All of them end in these
    // bits, so every scale that ends so is divided by.
    const bool fails = kOneSign && (bits_of(scale) & 0xffff) >= 0xfffd;
    const bool large = std::fabs(scale) >= 0x1p-60f,
               small = std::fabs(scale) <= 0x1p60f;  // both are false for NaN
    return large & small & !fails;
}

// Sets r0 + r1 ~ 1 / scale in twice the precision of f32. It computes in double: r0 = RN(1 / scale)
// and r1 = RN(1 / scale - r0). With kOneSign, r0 is the largest float below 1 / scale in magnitude,
// so that r1 has the same sign and is not 0.
inline void set_reciprocal(float scale, float &r0, float &r1) {
    const double reciprocal = 1.0 / double(scale);
    r0 = float(reciprocal);
    if (kOneSign && std::fabs(double(r0)) >= std::fabs(reciprocal))
        r0 = float_of(bits_of(r0) - 1);  // the next float toward 0
    r1 = float(reciprocal - double(r0));
}

}  // namespace hewn
