// The reference of DYNAMIC_QUANTIZE, which chooses a scale and a zero point for each block of its
// input. DYNAMIC_QUANTIZE_LINEAR is the mode `asymmetric` with one block, the whole tensor, and a
// scale of f32. For a block of elements x, which are widened to f32 first:
//
//     Range range;  range.add(x) for each x
//     s = dynamic_scale<Out, Scale>(range, mode, min_scale)
//     z = dynamic_zero_point<Out>(range, s, mode)
//     y = quantize_linear(x, s, z)
//
// z and y use the scale as it is written, after its rounding to Scale. So the elements are what
// QUANTIZE_LINEAR makes of them with the written parameters, and consumers need to know no more.
#pragma once

#include "reference.h"

namespace reference {

enum class DynamicMode {
    asymmetric,  // From the least to the largest element; for integer types only.
    symmetric,   // The largest magnitude is Max. This is the only mode for float8.
    full         // The element of the largest magnitude is Min; for integer types only.
};

// The range of a block. It always includes 0; NaN does not count. A bound of zero is +0.
struct Range {
    float low = 0, high = 0;

    void add(float x) {
        if (x < low) low = x;
        if (x > high) high = x;
    }
};

// The number by which a mode divides its extent of the range.
template<class Out>
float dynamic_divisor([[maybe_unused]] DynamicMode mode) {
    if constexpr (is_small_float<Out>) {
        return value_of_code(Out::format, Out::format.largest);
    } else {
        constexpr int min = Limits<Out>::min, max = Limits<Out>::max;
        switch (mode) {
        case DynamicMode::asymmetric: return float(max - min);
        case DynamicMode::symmetric: return float(max - middle<Out>);
        case DynamicMode::full: return float(min - middle<Out>);
        }
        return 0;
    }
}

// The scale. `extent` is the part of the range that the mode maps to integers:
//
//     asymmetric    (high - low) / (Max - Min)
//     symmetric     max(high, -low) / (Max - middle)
//     full          (high > -low ? high : low) / (Min - middle), which may be negative
//
// If the range is only 0 the scale is 1. `min_scale` is a lower bound for the modes asymmetric and
// symmetric; 0 is none. With a bound, a range that is only 0 has the bound as its scale. The scale
// is rounded to its type last, so it may still become 0 or infinite in f16.
template<class Out, class Scale = float>
Scale dynamic_scale(const Range &range, DynamicMode mode = DynamicMode::asymmetric,
                    float min_scale = 0) {
    float extent = 0;
    switch (mode) {
    case DynamicMode::asymmetric: extent = range.high - range.low; break;
    case DynamicMode::symmetric: extent = std::max(range.high, -range.low); break;
    case DynamicMode::full: extent = range.high > -range.low ? range.high : range.low; break;
    }
    float s = extent / dynamic_divisor<Out>(mode);
    if (mode != DynamicMode::full && min_scale > 0) s = std::max(s, min_scale);
    else if (extent == 0) s = 1;
    return from_f32<Scale>(s);
}

// The zero point: roundToIntegralTiesToEven(clamp(Min - low / s, Min, Max)), or Min if that is NaN.
// The other modes have none; theirs is the middle of the type's range, which is not written.
template<class Out, class Scale>
Out dynamic_zero_point(const Range &range, Scale s, DynamicMode mode = DynamicMode::asymmetric) {
    if constexpr (is_small_float<Out>) {
        return {};
    } else {
        if (mode != DynamicMode::asymmetric) return Out(middle<Out>);
        constexpr float min = Limits<Out>::min, max = Limits<Out>::max;
        const float quotient = range.low / to_f32(s), z = min - quotient;
        if (std::isnan(z) || z < min) return Out(min);
        return Out(std::nearbyint(z > max ? max : z));
    }
}

}  // namespace reference
