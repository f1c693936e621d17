// The reference of GGUF_QUANTIZE and GGUF_DEQUANTIZE: ggml's block formats. A block is a fixed
// number of bytes, which hold its scales and the codes of its elements; scales of two bytes are
// binary16 in little-endian order. The bits are those of ggml's reference quantizers and
// dequantizers, except where ggml's C is undefined or depends on the C library.
#pragma once

#include "reference.h"

namespace reference {

enum class GgufFormat { q4_0, q4_1, q5_0, q5_1, q8_0, mxfp4, iq4_nl, q4_k, q6_k };

struct GgufBlock {
    int elements, bytes;
};
// The blocks, in the order of GgufFormat.
constexpr GgufBlock kGgufBlocks[] = {{32, 18}, {32, 20}, {32, 22},   {32, 24},  {32, 34},
                                     {32, 17}, {32, 18}, {256, 144}, {256, 210}};

// ---- How blocks hold their numbers --------------------------------------------------------------

inline f16 gguf_half(const uint8_t *bytes) { return {uint16_t(bytes[0] | bytes[1] << 8)}; }
inline void set_gguf_half(uint8_t *bytes, float value) {
    const f16 half = to_f16(value);
    bytes[0] = uint8_t(half.bits & 0xff);
    bytes[1] = uint8_t(half.bits >> 8);
}

// Code i of a block of 32: byte j has the codes j, in its low half, and j + 16.
inline int gguf_code4(const uint8_t *codes, int i) { return codes[i % 16] >> i / 16 * 4 & 15; }
// The same with a fifth bit, which is bit i of the four bytes before the others.
inline int gguf_code5(const uint8_t *codes, int i) {
    return gguf_code4(codes + 4, i) | (codes[i / 8] >> i % 8 & 1) << 4;
}

// Adds code i, of 4 or 5 bits, to bytes that are 0.
inline void add_gguf_code(uint8_t *codes, int bits, int i, int code) {
    if (bits == 5) {
        codes[i / 8] = uint8_t(codes[i / 8] | (code >> 4) << i % 8);
        codes += 4;
    }
    codes[i % 16] = uint8_t(codes[i % 16] | (code & 15) << i / 16 * 4);
}

// Scale or minimum j of Q4_K's eight. The first four of each have the low 6 bits of a byte. The
// high 2 bits of these bytes belong to the last four, whose low 4 bits share a byte.
inline int gguf_q4_k_scale(const uint8_t *scales, int j) {
    return j < 4 ? scales[j] & 63 : (scales[j + 4] & 15) | scales[j - 4] >> 6 << 4;
}
inline int gguf_q4_k_minimum(const uint8_t *scales, int j) {
    return j < 4 ? scales[j + 4] & 63 : scales[j + 4] >> 4 | scales[j] >> 6 << 4;
}

// ---- Dequantizing -------------------------------------------------------------------------------

constexpr int8_t kGgufIq4Nl[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                 1,    13,   25,  38,  53,  69,  89,  113};

// Twice the numbers of f4e2m1, and +0 for the code of -0.
constexpr int8_t kGgufMxfp4[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Element i of a block in f32. Every product is exact, so only the sums of Q4_1, Q5_1 and Q4_K
// round. An output of f16 or bf16 is from_f32 of the element.
inline float gguf_dequantize(GgufFormat format, const uint8_t *block, int i) {
    const auto half = [&](int at) { return to_f32(gguf_half(block + at)); };
    switch (format) {
    case GgufFormat::q4_0: return float(gguf_code4(block + 2, i) - 8) * half(0);
    case GgufFormat::q4_1: {
        const float product = float(gguf_code4(block + 4, i)) * half(0);
        return product + half(2);
    }
    case GgufFormat::q5_0: return float(gguf_code5(block + 2, i) - 16) * half(0);
    case GgufFormat::q5_1: {
        const float product = float(gguf_code5(block + 4, i)) * half(0);
        return product + half(2);
    }
    case GgufFormat::q8_0: return float(int8_t(block[2 + i])) * half(0);
    case GgufFormat::mxfp4:
        // The byte 255 is 2^128, not NaN. Half of the scale is in the range of f32 for any byte.
        return float(kGgufMxfp4[gguf_code4(block + 1, i)]) * std::ldexp(1.0f, block[0] - 128);
    case GgufFormat::iq4_nl: return float(kGgufIq4Nl[gguf_code4(block + 2, i)]) * half(0);
    case GgufFormat::q4_k: {
        // d, dmin, the scales and minima of eight groups of 32, and the codes. The codes of two
        // groups share 32 bytes: the first group has the low halves.
        const int group = i / 32, code = block[16 + i / 64 * 32 + i % 32] >> group % 2 * 4 & 15;
        const float scale = half(0) * float(gguf_q4_k_scale(block + 4, group)),
                    minimum = half(2) * float(gguf_q4_k_minimum(block + 4, group));
        const float product = scale * float(code);
        return product - minimum;
    }
    case GgufFormat::q6_k: {
        // The low 4 bits of the codes, their high 2 bits, a scale for each 16 elements, and d. Each
        // half of the block has 64 bytes of low bits, whose low halves are the first 64 elements,
        // and 32 bytes of high bits, each for four elements that are 32 apart.
        const int high_half = i / 128, quarter = i / 32 % 4;
        const int low = block[high_half * 64 + i % 64] >> quarter / 2 * 4 & 15,
                  high = block[128 + high_half * 32 + i % 32] >> quarter * 2 & 3;
        const float scale = half(208) * float(int8_t(block[192 + i / 16]));
        return scale * float((low | high << 4) - 32);
    }
    }
    return 0;
}

// ---- Quantizing ---------------------------------------------------------------------------------

// The inverse of a scale; 0 of 0. It is infinite for magnitudes of 2^-128 and less.
inline float gguf_inverse(float scale) { return scale == 0 ? 0 : 1 / scale; }

// `value` without its fraction, in [0, most]; `zero` if it is NaN.
inline int gguf_truncated(float value, int most, int zero) {
    if (std::isnan(value)) return zero;
    return int(std::clamp(value, 0.0f, float(most)));
}

// Q4_0 and Q5_0: the first element of the largest magnitude, e, gets the code 0, which means
// -2^(bits - 1). d = e / -2^(bits - 1) and code = trunc(x * (1 / d) + 2^(bits - 1) + 0.5).
inline void gguf_quantize_signed(int bits, const float *x, uint8_t *block) {
    const int middle = 1 << (bits - 1);
    float e = 0;
    for (int i = 0; i < 32; i++) {
        if (std::fabs(x[i]) > std::fabs(e)) e = x[i];
    }
    const float d = e / float(-middle), inverse = gguf_inverse(d);
    set_gguf_half(block, d);
    for (int i = 0; i < 32; i++) {
        const float product = x[i] * inverse, sum = product + (float(middle) + 0.5f);
        add_gguf_code(block + 2, bits, i, gguf_truncated(sum, 2 * middle - 1, middle));
    }
}

// Q4_1 and Q5_1: low is the least element and high the largest. d = (high - low) / (2^bits - 1) and
// code = trunc((x - low) * (1 / d) + 0.5). Unlike Range, the range does not always include 0; it is
// only 0 if all elements are NaN.
inline void gguf_quantize_range(int bits, const float *x, uint8_t *block) {
    const int most = (1 << bits) - 1;
    float low = HUGE_VALF, high = -HUGE_VALF;
    for (int i = 0; i < 32; i++) {
        if (x[i] <= low) low = x[i];
        if (x[i] >= high) high = x[i];
    }
    if (low > high) low = high = 0;
    // A zero becomes +0, so that neither low nor d depends on the order of +0 and -0.
    low += 0.0f;
    high += 0.0f;
    const float extent = high - low, d = extent / float(most), inverse = gguf_inverse(d);
    set_gguf_half(block, d);
    set_gguf_half(block + 2, low);
    for (int i = 0; i < 32; i++) {
        const float difference = x[i] - low, product = difference * inverse;
        add_gguf_code(block + 4, bits, i, gguf_truncated(product + 0.5f, most, 0));
    }
}

// Q8_0: d = max|x| / 127 and code = x * (1 / d), rounded, halves away from zero; 0 if it is NaN.
inline void gguf_quantize_q8_0(const float *x, uint8_t *block) {
    float a = 0;
    for (int i = 0; i < 32; i++) {
        if (std::fabs(x[i]) > a) a = std::fabs(x[i]);
    }
    const float d = a / 127, inverse = gguf_inverse(d);
    set_gguf_half(block, d);
    for (int i = 0; i < 32; i++) {
        const float code = std::round(x[i] * inverse);
        block[2 + i] = std::isnan(code) ? 0 : uint8_t(int(std::clamp(code, -128.0f, 127.0f)));
    }
}

// MXFP4: the scale is the power of two that MX_QUANTIZE's mode `floor` chooses. An element is the
// nearest number of f4e2m1, a middle becoming the smaller magnitude, and a zero is +0. NaN is 0,
// and an infinity counts as the largest f32.
inline void gguf_quantize_mxfp4(const float *x, uint8_t *block) {
    constexpr double middles[] = {0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5};
    float a = 0;
    for (int i = 0; i < 32; i++) {
        if (std::fabs(x[i]) > a) a = std::fabs(x[i]);
    }
    a = std::min(a, std::numeric_limits<float>::max());
    block[0] = uint8_t(std::max(int(to_bits(a) >> 23) - 2, 0));
    for (int i = 0; i < 32; i++) {
        const double quotient = std::ldexp(double(std::fabs(x[i])), 127 - block[0]);
        int code = 0;
        for (const double middle : middles) code += quotient > middle;
        add_gguf_code(block + 1, 4, i, code != 0 && x[i] < 0 ? code | 8 : code);
    }
}

// Quantizes the 32 elements of a block. IQ4_NL, Q4_K and Q6_K have no quantizer, since ggml
// searches for their scales in ways that do not define bits.
inline void gguf_quantize(GgufFormat format, const float *x, uint8_t *block) {
    std::fill_n(block, kGgufBlocks[int(format)].bytes, uint8_t(0));
    switch (format) {
    case GgufFormat::q4_0: return gguf_quantize_signed(4, x, block);
    case GgufFormat::q4_1: return gguf_quantize_range(4, x, block);
    case GgufFormat::q5_0: return gguf_quantize_signed(5, x, block);
    case GgufFormat::q5_1: return gguf_quantize_range(5, x, block);
    case GgufFormat::q8_0: return gguf_quantize_q8_0(x, block);
    case GgufFormat::mxfp4: return gguf_quantize_mxfp4(x, block);
    default: return;
    }
}

}  // namespace reference
