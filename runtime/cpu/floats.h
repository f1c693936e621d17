// Conversions between f32 and f16 or bf16, four numbers at a time, in vectors of GCC and Clang. The
// runtime uses them where it converts elements or rounds quotients itself.
#pragma once

#include <cstdint>

namespace hewn {

typedef float Floats __attribute__((vector_size(16)));
typedef int32_t Ints __attribute__((vector_size(16)));
typedef uint32_t Words32 __attribute__((vector_size(16)));
// Magnitudes are compared as Ints, because SSE has no comparison of unsigned integers.

// Returns f16 numbers as f32, exactly. Subnormal f16 numbers are right even if the processor
// flushes subnormal f32 numbers.
inline Words32 widened(Words32 h) {
    const Words32 magnitude = h & 0x7fff, sign = (h & 0x8000) << 16;
    const Floats small = __builtin_convertvector((Ints)magnitude, Floats) * 0x1p-24f;
    const Words32 bias =
        (Ints)magnitude >= 0x7c00 ? Words32{} + (224u << 23) : Words32{} + (112u << 23);
    return sign | ((Ints)magnitude < 0x400 ? (Words32)small : (magnitude << 13) + bias);
}

// Returns f32 numbers, given as their bits, rounded to f16, to nearest even. NaN stays NaN. Below
// 2^-14 results are multiples of 2^-24, which is the distance between neighbouring floats at 0.5:
// adding 0.5 rounds to it.
inline Words32 narrowed(Words32 bits) {
    const Words32 magnitude = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
    const Words32 normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    const Words32 small = (Words32)((Floats)magnitude + 0.5f) - 0x3f000000;
    const Words32 beyond = (Ints)magnitude > 0x7f800000 ? Words32{} + 0x7e00u : Words32{} + 0x7c00u;
    const Words32 finite = (Ints)magnitude < 0x38800000 ? small : normal;
    return sign | ((Ints)magnitude >= 0x477ff000 ? beyond : finite);
}

// Returns f32 numbers, given as their bits, rounded to nearest even to numbers that f16 or bf16 can
// represent. NaN stays NaN.
inline Words32 rounded_to_f16(Words32 bits) { return widened(narrowed(bits)); }
inline Words32 rounded_to_bf16(Words32 bits) {
    const Words32 rounded = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    return (Ints)(bits & 0x7fffffff) > 0x7f800000 ? bits : rounded;
}

}  // namespace hewn
