// The reference of NVFP4_QUANTIZE and NVFP4_DEQUANTIZE: elements of f4e2m1, a scale of f8e4m3fn for
// each block of 16, and a scale of f32 for the tensor. Elements are widened to f32 first:
//
//     Magnitude block;                   block.add(x) for each x of a block
//     Magnitude tensor;                  nvfp4_add(tensor, block) for each block
//     ts = nvfp4_tensor_scale(tensor)    unless it is given
//     s = nvfp4_scale(block, ts)
//     y = nvfp4_quantize(x, s, ts)
//
// Dequantizing is two DEQUANTIZE_LINEAR: of the scales by ts, then of the elements by the result.
#pragma once

#include "mx.h"

namespace reference {

// Adds a block to the tensor's largest magnitude. Poisoned blocks do not count.
inline void nvfp4_add(Magnitude &tensor, Magnitude block) {
    if (!block.poisoned()) tensor.add(block.value());
}

// The tensor's scale, with which the largest magnitude has the largest scale and the largest
// element: A / (448 * 6), or 1 if A is 0.
inline float nvfp4_tensor_scale(Magnitude tensor) {
    return tensor.bits == 0 ? 1 : tensor.value() / 2688;
}

// A block's scale: (a / 6) / ts, saturating; 0 for a block of zeros. There is no lower bound, so a
// small block may have a scale of 0 too. A poisoned block has NaN.
inline f8e4m3fn nvfp4_scale(Magnitude block, float ts) {
    if (block.poisoned()) return {uint8_t(f8e4m3fn::format.nan)};
    if (block.bits == 0) return {0};
    const float quotient = block.value() / 6;
    return to_small_float<f8e4m3fn>(quotient / ts, true);
}

// The factor of a block's elements.
inline float nvfp4_factor(f8e4m3fn s, float ts) { return to_f32(s) * ts; }

// x / factor, rounded to nearest even, saturating. Where the factor is 0 it is 0 with the sign of
// x. Where the scale is NaN it is 0.
inline f4e2m1 nvfp4_quantize(float x, f8e4m3fn s, float ts) {
    if (std::isnan(to_f32(s))) return {0};
    const float factor = nvfp4_factor(s, ts);
    return to_small_float<f4e2m1>(factor == 0 ? std::copysign(0.0f, x) : x / factor, true);
}

// y * factor, rounded to f32 and then to Out.
template<class Out>
Out nvfp4_dequantize(f4e2m1 y, f8e4m3fn s, float ts) {
    return from_f32<Out>(to_f32(y) * nvfp4_factor(s, ts));
}

}  // namespace reference
