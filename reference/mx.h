// The reference of MX_QUANTIZE and MX_DEQUANTIZE: the OCP MX formats, in which each block has a
// scale that is a power of two (f8e8m0). An int8 element i means i / 64. For a block of elements x,
// which are widened to f32 first:
//
//     Magnitude largest;  largest.add(x) for each x
//     s = mx_scale<Element>(largest, mode)
//     y = mx_quantize<Element>(x, s)
#pragma once

#include "reference.h"

namespace reference {

// The largest magnitude of a block, as the bits of an f32 without its sign. They are compared as
// integers, in which infinity and NaN are larger than all numbers, so that one of them shows.
struct Magnitude {
    uint32_t bits = 0;

    void add(float x) { bits = std::max(bits, to_bits(x) & 0x7fffffff); }
    // Whether the block has an infinity or a NaN. Then all of it is lost.
    bool poisoned() const { return bits >= 0x7f800000; }
    float value() const { return from_bits(bits); }
};

enum class MxScaleMode { floor, ceil, even };

// An element type's fraction bits, and its largest number: (1 + top / 2^23) * 2^emax.
struct MxElement {
    int fraction_bits, emax;
    uint32_t top;
};
template<class Element>
constexpr MxElement mx_element() {
    if constexpr (std::is_same_v<Element, int8_t>) {
        return {6, 0, 0x7e0000};  // 127 / 64
    } else {
        constexpr SmallFloat format = Element::format;
        constexpr int one = 1 << format.mantissa;
        return {format.mantissa, format.largest / one - format.bias,
                uint32_t(format.largest % one) << (23 - format.mantissa)};
    }
}

// The scale, 2^(byte - 127). With E the exponent field of the largest magnitude and m its fraction:
//
//     floor    byte = E - emax: the exponents of the largest magnitude and of the largest element
//              become equal, so a magnitude between them saturates
//     ceil     byte = E + (m > top) - emax: the smallest power of two by which no element exceeds
//              the type's range
//     even     as floor, after the magnitude is rounded to the precision of the element type
//
// in [0, 254]. The byte is 255, which is NaN, if the block is poisoned.
template<class Element>
f8e8m0 mx_scale(Magnitude largest, MxScaleMode mode) {
    if (largest.poisoned()) return {255};
    constexpr MxElement element = mx_element<Element>();
    const uint32_t fraction = largest.bits & 0x7fffff;
    int exponent = int(largest.bits >> 23);
    switch (mode) {
    case MxScaleMode::floor: break;
    case MxScaleMode::ceil:
        // A subnormal magnitude is 2 * fraction / 2^23 times 2^-127, the least scale: it has no
        // leading 1. This matters to int8 only, since all others have an emax of 2 or more.
        if (exponent == 0) exponent = 2 * fraction > element.top + (1 << 23);
        else exponent += fraction > element.top;
        break;
    case MxScaleMode::even:
        // Rounding half up is enough. Only a carry into the exponent counts, and a tie that
        // carries is a tie between an odd fraction and the next power of two.
        exponent = int((largest.bits + (1u << (22 - element.fraction_bits))) >> 23);
        break;
    }
    return {uint8_t(std::clamp(exponent - element.emax, 0, 254))};
}

// x / s, rounded once to nearest even. It saturates, f8e5m2 to its largest number too, and int8 at
// -127. The quotient is exact in f32, or so small that the element is a zero in any case. In a
// poisoned block an element is NaN, or 0 if its type has no NaN.
template<class Element>
Element mx_quantize(float x, f8e8m0 s) {
    const bool poisoned = s.bits == 255;
    if constexpr (std::is_same_v<Element, int8_t>) {
        const float steps = 64 * (x / to_f32(s));
        return poisoned ? 0 : int8_t(std::clamp(std::nearbyint(steps), -127.0f, 127.0f));
    } else {
        if (poisoned) return {uint8_t(Element::format.nan)};  // `nan` is 0 if there is none
        return quantize_linear(x, s, Element());
    }
}

// element * s, exact in f32 unless it overflows, then rounded to Out. Float elements are those of
// DEQUANTIZE_LINEAR.
template<class Out, class Element>
Out mx_dequantize(Element x, f8e8m0 s) {
    if constexpr (std::is_same_v<Element, int8_t>) return from_f32<Out>(float(x) / 64 * to_f32(s));
    else return dequantize_linear_to<Out>(x, s, Element());
}

}  // namespace reference
