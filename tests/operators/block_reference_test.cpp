// Tests the references of MX_QUANTIZE, NVFP4_QUANTIZE, GGUF_QUANTIZE, their dequantizers, and
// REQUANTIZE_FIXED. No kernels use these references yet. They are compared with arithmetic that is
// made another way: the definitions in double, in which all products here are exact, and numbers
// that were worked out by hand. docs/lab/block_formats.md explains the numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "../../reference/dynamic_quantize.h"
#include "../../reference/fixed_point.h"
#include "../../reference/gguf.h"
#include "../../reference/mx.h"
#include "../../reference/nvfp4.h"

namespace hewn_test {
namespace {

using namespace reference;

constexpr float INF = std::numeric_limits<float>::infinity(),
                NOT_A_NUMBER = std::numeric_limits<float>::quiet_NaN();

class Random {
public:
    int64_t integer(int64_t low, int64_t high) {
        return low + int64_t(engine_() % uint64_t(high - low + 1));
    }
    // A number of at most 24 bits, of either sign, and a little less than 2^exponent.
    float number(int exponent) {
        const float magnitude = std::ldexp(float(integer(1, (1 << 24) - 1)), exponent - 24);
        return integer(0, 1) ? magnitude : -magnitude;
    }

private:
    std::mt19937_64 engine_{68};
};

// ---- Elements -----------------------------------------------------------------------------------

// The magnitudes of an element type in ascending order. The index of a magnitude is its code.
template<class Element>
const std::vector<double> &magnitudes() {
    static const std::vector<double> NUMBERS = [] {
        std::vector<double> numbers;
        if constexpr (std::is_same_v<Element, int8_t>) {
            for (int i = 0; i <= 127; i++) numbers.push_back(i / 64.0);
        } else {
            for (int code = 0; code <= Element::format.largest; code++)
                numbers.push_back(double(value_of_code(Element::format, code)));
        }
        return numbers;
    }();
    return NUMBERS;
}

// The code of the magnitude nearest to x, which must not be negative. A tie goes to the even code,
// and x saturates.
template<class Element>
int nearest(double x) {
    const std::vector<double> &numbers = magnitudes<Element>();
    int code = 0;
    while (code + 1 < int(numbers.size())) {
        const double middle = (numbers[size_t(code)] + numbers[size_t(code + 1)]) / 2;
        if (x < middle || (x == middle && code % 2 == 0)) break;
        code++;
    }
    return code;
}

// An element by its magnitude's code and its sign.
template<class Element>
Element element(int code, bool negative) {
    if constexpr (std::is_same_v<Element, int8_t>) return int8_t(negative ? -code : code);
    else return {uint8_t(negative ? code | Element::format.sign : code)};
}

int bits_of(int8_t x) { return x; }
template<class T, class = decltype(T::bits)>
int bits_of(T x) {
    return x.bits;
}

// ---- MX -----------------------------------------------------------------------------------------

template<class Element>
class MxReference : public testing::Test {};
using MxElements = testing::Types<f8e4m3fn, f8e5m2, f6e2m3, f6e3m2, f4e2m1, int8_t>;
TYPED_TEST_SUITE(MxReference, MxElements);

// All magnitudes at which a mode may choose another scale are multiples of 2^15 as bits, or the
// numbers after these.
TYPED_TEST(MxReference, ScalesByTheirDefinitions) {
    const double largest_element = magnitudes<TypeParam>().back();
    const int emax = std::ilogb(largest_element);
    int fraction_bits = 6;
    if constexpr (is_small_float<TypeParam>) fraction_bits = TypeParam::format.mantissa;
    // `ceil` is the smallest power of two by which no element exceeds the range. The magnitudes
    // grow, and so does this byte.
    int ceil = 0;
    for (uint32_t multiple = 0; multiple <= 0x7f800000; multiple += 1 << 15) {
        for (const uint32_t bits : {multiple - 1, multiple, multiple + 1}) {
            if (bits == 0 || bits >= 0x7f800000) continue;
            const double a = double(from_bits(bits));
            const auto byte = [&](MxScaleMode mode) {
                return int(mx_scale<TypeParam>({bits}, mode).bits);
            };
            // The scale by which a number of `magnitude` has the exponent of the largest element.
            const auto floor = [&](double magnitude) {
                return std::clamp(std::ilogb(magnitude) - emax + 127, 0, 254);
            };
            while (ceil < 254 && a > std::ldexp(largest_element, ceil - 127)) ceil++;
            // `even` rounds to the element's precision first, as if it had the exponents of f32.
            const double step = std::ldexp(1.0, std::max(std::ilogb(a), -126) - fraction_bits);
            const double rounded = std::nearbyint(a / step) * step;
            ASSERT_EQ(byte(MxScaleMode::floor), floor(a)) << bits;
            ASSERT_EQ(byte(MxScaleMode::ceil), ceil) << bits;
            ASSERT_EQ(byte(MxScaleMode::even), rounded == 0 ? 0 : floor(rounded)) << bits;
        }
    }
}

TYPED_TEST(MxReference, BlocksOfZerosAndPoisonedBlocks) {
    for (const MxScaleMode mode : {MxScaleMode::floor, MxScaleMode::ceil, MxScaleMode::even}) {
        Magnitude zeros;
        zeros.add(-0.0f);
        EXPECT_EQ(mx_scale<TypeParam>(zeros, mode).bits, 0);
        for (const float lost : {INF, -INF, NOT_A_NUMBER, -NOT_A_NUMBER}) {
            Magnitude block;
            for (const float x : {3.0f, lost, -1e30f}) block.add(x);
            EXPECT_EQ(mx_scale<TypeParam>(block, mode).bits, 255) << lost;
        }
    }
    for (const float x : {0.0f, 1.0f, -1.0f, INF, NOT_A_NUMBER}) {
        const TypeParam got = mx_quantize<TypeParam>(x, {255});
        EXPECT_TRUE(std::isnan(mx_dequantize<float>(got, {255})));
        if constexpr (std::is_same_v<TypeParam, f8e4m3fn> || std::is_same_v<TypeParam, f8e5m2>)
            EXPECT_TRUE(std::isnan(to_f32(got))) << x;
        else EXPECT_EQ(bits_of(got), 0) << x;
    }
}

// Quantizes each number of the type times each scale, each middle between two, and the numbers of
// f32 next to these.
TYPED_TEST(MxReference, ElementsAreTheNearest) {
    const std::vector<double> &numbers = magnitudes<TypeParam>();
    for (int byte = 0; byte < 255; byte++) {
        const f8e8m0 s = {uint8_t(byte)};
        const double scale = std::ldexp(1.0, byte - 127);
        const auto check = [&](float x) {
            for (const bool negative : {false, true}) {
                const TypeParam want = element<TypeParam>(nearest<TypeParam>(x / scale), negative);
                ASSERT_EQ(bits_of(mx_quantize<TypeParam>(negative ? -x : x, s)), bits_of(want))
                    << x << ", scale 2^" << byte - 127;
            }
        };
        for (size_t i = 0; i < numbers.size(); i++) {
            const double above = i + 1 < numbers.size() ? numbers[i + 1] : 2 * numbers[i];
            for (const double number : {numbers[i], (numbers[i] + above) / 2}) {
                const double exact = number * scale;
                if (exact > double(std::numeric_limits<float>::max())) continue;
                const float x = float(exact);
                ASSERT_EQ(double(x), exact);
                if (x > 0) check(std::nextafter(x, 0.0f));
                check(x);
                if (x < std::numeric_limits<float>::max()) check(std::nextafter(x, INF));
            }
        }
        check(0x1p-149f);
        check(std::numeric_limits<float>::max());
        if (testing::Test::HasFatalFailure()) return;
    }
}

// The product is exact in f32, unless it overflows.
TYPED_TEST(MxReference, DequantizedElementsAreExact) {
    for (int byte = 0; byte < 255; byte++) {
        const f8e8m0 s = {uint8_t(byte)};
        const auto check = [&](TypeParam x, float number) {
            const float exact = std::ldexp(number, byte - 127);
            ASSERT_EQ(to_bits(mx_dequantize<float>(x, s)), to_bits(exact)) << number << " " << byte;
            ASSERT_EQ(mx_dequantize<f16>(x, s).bits, to_f16(exact).bits) << number << " " << byte;
            ASSERT_EQ(mx_dequantize<bf16>(x, s).bits, to_bf16(exact).bits) << number << " " << byte;
        };
        for (int code = 0; code < int(magnitudes<TypeParam>().size()); code++) {
            const float number = float(magnitudes<TypeParam>()[size_t(code)]);
            check(element<TypeParam>(code, false), number);
            if (std::is_same_v<TypeParam, int8_t> && code == 0) continue;  // has no -0
            check(element<TypeParam>(code, true), -number);
        }
        if constexpr (std::is_same_v<TypeParam, int8_t>) check(-128, -2);
        if (testing::Test::HasFatalFailure()) return;
    }
}

// ---- NVFP4 --------------------------------------------------------------------------------------

// A quotient of two numbers of f32, rounded once: 53 bits are enough to round a quotient twice.
float quotient(float a, float b) { return float(double(a) / double(b)); }

TEST(Nvfp4Reference, ScalesAndElementsByTheirDefinitions) {
    Random random;
    for (int i = 0; i < 200000; i++) {
        const float ts = std::fabs(random.number(int(random.integer(-60, 40))));
        const float a = std::fabs(ts * random.number(int(random.integer(-14, 13))));
        const Magnitude block = {to_bits(a)};
        const f8e4m3fn s = nvfp4_scale(block, ts);
        ASSERT_EQ(s.bits, nearest<f8e4m3fn>(double(quotient(quotient(a, 6), ts))))
            << a << " " << ts;
        ASSERT_EQ(nvfp4_tensor_scale(block), quotient(a, 2688)) << a;
        const float x = random.integer(0, 9) ? a * random.number(0) : -0x1p-149f,
                    factor = float(double(to_f32(s)) * double(ts));
        const int code = factor == 0 ? 0 : nearest<f4e2m1>(double(quotient(std::fabs(x), factor)));
        ASSERT_EQ(nvfp4_quantize(x, s, ts).bits, element<f4e2m1>(code, x < 0).bits)
            << x << ", factor " << factor;
    }
}

TEST(Nvfp4Reference, DequantizingIsTwoDequantizeLinear) {
    Random random;
    for (int i = 0; i < 100000; i++) {
        const float ts = std::fabs(random.number(int(random.integer(-140, 120))));
        const f8e4m3fn s = {uint8_t(random.integer(0, 127))};
        const f4e2m1 y = {uint8_t(random.integer(0, 15))};
        const float factor = dequantize_linear<float>(s, ts, f8e4m3fn()),
                    p = dequantize_linear<float>(y, factor, f4e2m1());
        ASSERT_TRUE(same(nvfp4_dequantize<float>(y, s, ts), p));
        ASSERT_TRUE(same(nvfp4_dequantize<f16>(y, s, ts), to_f16(p)));
        ASSERT_TRUE(same(nvfp4_dequantize<bf16>(y, s, ts), to_bf16(p)));
    }
}

TEST(Nvfp4Reference, ZerosAndPoisonedBlocks) {
    Magnitude tensor;
    EXPECT_EQ(nvfp4_tensor_scale(tensor), 1);
    for (const uint32_t poisoned : {0x7f800000u, 0x7fc00000u}) nvfp4_add(tensor, {poisoned});
    EXPECT_EQ(nvfp4_tensor_scale(tensor), 1);
    nvfp4_add(tensor, {to_bits(2 * 448 * 6)});
    nvfp4_add(tensor, {to_bits(5)});
    EXPECT_EQ(nvfp4_tensor_scale(tensor), 2);
    EXPECT_EQ(nvfp4_scale({}, 0).bits, 0);            // not 0 / 0
    EXPECT_EQ(nvfp4_scale({1}, 0).bits, 0x7f);        // a / 6 underflows: 0 / 0
    EXPECT_EQ(nvfp4_quantize(-1, {0}, INF).bits, 7);  // the factor is NaN, but not the scale
    EXPECT_EQ(nvfp4_quantize(-0.0f, {0}, 1).bits, 8);
    EXPECT_EQ(nvfp4_quantize(-1, {0}, 1).bits, 8);
    EXPECT_EQ(nvfp4_quantize(-0x1p-140f, {0x7e}, 0x1p20f).bits, 8);  // the quotient is -0
    for (const uint32_t bits : {0x7f800000u, 0x7f800001u, 0x7fffffffu})
        EXPECT_EQ(nvfp4_scale({bits}, 1).bits, 0x7f);
    for (const float x : {1.0f, -1.0f, INF, NOT_A_NUMBER})
        EXPECT_EQ(nvfp4_quantize(x, {0x7f}, 1).bits, 0);
}

// ---- GGUF ---------------------------------------------------------------------------------------

// A block's elements, computed in double in the order in which ggml stores its bytes. The double is
// exact: rounded to f32 it is what gguf_dequantize must give.
std::vector<double> dequantized(GgufFormat format, const std::vector<uint8_t> &block) {
    std::vector<double> y(size_t(kGgufBlocks[int(format)].elements));
    const auto half = [&](size_t at) {
        return double(to_f32(f16{uint16_t(block[at] + 256 * block[at + 1])}));
    };
    const auto fifth_bit = [&](size_t at, size_t i) {
        return (block[at + i / 8] >> i % 8) % 2 * 16;
    };
    const auto signed_byte = [](uint8_t byte) { return byte < 128 ? byte : byte - 256; };
    const double d = half(0);
    for (size_t j = 0; j < 16; j++) {
        for (const size_t i : {j, j + 16}) {
            const auto code = [&](size_t at) {
                return i < 16 ? block[at + j] % 16 : block[at + j] / 16;
            };
            switch (format) {
            case GgufFormat::q4_0: y[i] = d * (code(2) - 8); break;
            case GgufFormat::q4_1: y[i] = d * code(4) + half(2); break;
            case GgufFormat::q5_0: y[i] = d * (code(6) + fifth_bit(2, i) - 16); break;
            case GgufFormat::q5_1: y[i] = d * (code(8) + fifth_bit(4, i)) + half(2); break;
            case GgufFormat::q8_0: y[i] = d * signed_byte(block[2 + i]); break;
            case GgufFormat::iq4_nl: {
                const int numbers[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                       1,    13,   25,  38,  53,  69,  89,  113};
                y[i] = d * numbers[code(2)];
                break;
            }
            case GgufFormat::mxfp4: {
                // -0 is read as +0.
                const f4e2m1 number = {uint8_t(code(1) == 8 ? 0 : code(1))};
                y[i] = std::ldexp(double(to_f32(number)), block[0] - 127);
                break;
            }
            default: break;
            }
        }
    }
    if (format == GgufFormat::q4_k) {
        const uint8_t *const q = block.data() + 4, *codes = block.data() + 16;
        for (size_t group = 0; group < 8; group++) {
            int scale = q[group] % 64, minimum = q[group + 4] % 64;
            if (group >= 4) {
                scale = q[group + 4] % 16 + q[group - 4] / 64 * 16;
                minimum = q[group + 4] / 16 + q[group] / 64 * 16;
            }
            for (size_t l = 0; l < 32; l++) {
                const int code = group % 2 == 0 ? codes[l] % 16 : codes[l] / 16;
                y[group * 32 + l] = d * scale * code - half(2) * minimum;
            }
            if (group % 2 == 1) codes += 32;
        }
    }
    if (format == GgufFormat::q6_k) {
        const uint8_t *low = block.data(), *high = low + 128, *scales = high + 64;
        for (size_t n = 0; n < 256; n += 128, low += 64, high += 32, scales += 8) {
            for (size_t l = 0; l < 32; l++) {
                const int codes[] = {
                    low[l] % 16 + high[l] % 4 * 16, low[l + 32] % 16 + high[l] / 4 % 4 * 16,
                    low[l] / 16 + high[l] / 16 % 4 * 16, low[l + 32] / 16 + high[l] / 64 * 16};
                for (size_t k = 0; k < 4; k++)
                    y[n + 32 * k + l] =
                        half(208) * signed_byte(scales[l / 16 + 2 * k]) * (codes[k] - 32);
            }
        }
    }
    return y;
}

TEST(GgufReference, DequantizesRandomBytes) {
    Random random;
    for (int format = 0; format <= int(GgufFormat::q6_k); format++) {
        for (int n = 0; n < 1000; n++) {
            std::vector<uint8_t> block(size_t(kGgufBlocks[format].bytes));
            for (uint8_t &byte : block) byte = uint8_t(random.integer(0, 255));
            if (format == int(GgufFormat::mxfp4)) {
                block[0] = uint8_t(n % 252);  // greater ones overflow
            } else {
                for (const size_t at : {1, 3, 209})
                    if (at < block.size()) block[at] &= 0xbf;  // the scales are finite
            }
            const std::vector<double> want = dequantized(GgufFormat(format), block);
            for (size_t i = 0; i < want.size(); i++)
                ASSERT_EQ(gguf_dequantize(GgufFormat(format), block.data(), int(i)), float(want[i]))
                    << "format " << format << ", element " << i;
        }
    }
}

TEST(GgufReference, Mxfp4ScalesAtTheEndsOfTheirRange) {
    const auto number = [](int byte, int code) {
        const uint8_t block[17] = {uint8_t(byte), uint8_t(code)};
        return gguf_dequantize(GgufFormat::mxfp4, block, 0);
    };
    EXPECT_EQ(number(0, 1), 0x1p-128f);
    EXPECT_EQ(number(254, 3), 0x1.8p127f);
    EXPECT_EQ(number(254, 4), INF);
    EXPECT_EQ(number(255, 0), 0);  // the byte 255 is 2^128, not NaN
    EXPECT_EQ(number(255, 9), -0x1p127f);
    EXPECT_EQ(number(255, 10), -INF);
    EXPECT_EQ(to_bits(number(127, 8)), 0u);
}

// The sums are 1 + 2^-8 + 2^-24 and 2 + 2^-10 + 2^-24. Rounded to f32 first, they are in the middle
// of two numbers of the output, and the even one is below. One rounding would give the one above.
TEST(GgufReference, SumsAreRoundedToF32First) {
    const uint8_t q4_1[20] = {1, 0, 0x04, 0x3c, 1}, q5_1[24] = {0x35, 2, 0, 0x40, 1, 0, 0, 0, 13};
    EXPECT_EQ(to_bf16(gguf_dequantize(GgufFormat::q4_1, q4_1, 0)).bits, 0x3f80);
    EXPECT_EQ(to_f16(gguf_dequantize(GgufFormat::q5_1, q5_1, 0)).bits, 0x4000);
}

// The bytes of a block that begins with `first` and otherwise has `others`.
std::vector<uint8_t> quantized(GgufFormat format, std::vector<float> first, float others = 0) {
    first.resize(32, others);
    std::vector<uint8_t> block(size_t(kGgufBlocks[int(format)].bytes), 0xaa);
    gguf_quantize(format, first.data(), block.data());
    return block;
}

// Every element is within half a step of x. Where codes saturate at one end, within a step.
TEST(GgufReference, QuantizedElementsAreNearTheirInputs) {
    Random random;
    for (const GgufFormat format : {GgufFormat::q4_0, GgufFormat::q4_1, GgufFormat::q5_0,
                                    GgufFormat::q5_1, GgufFormat::q8_0, GgufFormat::mxfp4}) {
        for (int n = 0; n < 2000; n++) {
            std::vector<float> x(32);
            for (float &one : x) one = random.number(n % 14);
            const auto [low, high] = std::minmax_element(x.begin(), x.end());
            const float a = std::max(*high, -*low);
            const float bounds[] = {
                a / 8, (*high - *low) / 30, a / 16, (*high - *low) / 62, a / 254, a / 4};
            const std::vector<uint8_t> block = quantized(format, x);
            for (int i = 0; i < 32; i++)  // d and the minimum are rounded to f16
                ASSERT_LE(std::fabs(gguf_dequantize(format, block.data(), i) - x[size_t(i)]),
                          bounds[int(format)] * 1.001f + a * 0x1p-9f)
                    << "format " << int(format);
        }
    }
}

using Bytes = std::vector<uint8_t>;
// The first bytes of a block.
Bytes start(size_t count, const Bytes &block) {
    return {block.begin(), block.begin() + long(count)};
}

TEST(GgufReference, Q4_0AndQ5_0ByHand) {
    const auto q4_0 = [](std::vector<float> x, float others = 0) {
        return start(4, quantized(GgufFormat::q4_0, std::move(x), others));
    };
    // The scale, then the codes of the elements 0 and 16, then 1 and 17. Elements of 0 have code 8.
    EXPECT_EQ(q4_0({-8, 7}), (Bytes{0x00, 0x3c, 0x80, 0x8f}));
    // If two elements have the largest magnitude, the first one counts.
    EXPECT_EQ(q4_0({8, -8}), (Bytes{0x00, 0xbc, 0x80, 0x8f}));
    // Halves go up.
    EXPECT_EQ(q4_0({-8, 0.5f}), (Bytes{0x00, 0x3c, 0x80, 0x89}));
    EXPECT_EQ(q4_0({-8, -0.5f}), (Bytes{0x00, 0x3c, 0x80, 0x88}));
    // Zeros have a scale of -0. NaN does not count, and its code is that of 0.
    EXPECT_EQ(q4_0({-0.0f, 0}), (Bytes{0x00, 0x80, 0x88, 0x88}));
    EXPECT_EQ(q4_0({NOT_A_NUMBER}, NOT_A_NUMBER), (Bytes{0x00, 0x80, 0x88, 0x88}));
    EXPECT_EQ(q4_0({NOT_A_NUMBER, -8}, 4), (Bytes{0x00, 0x3c, 0xc8, 0xc0}));
    // x * (1 / d) is less than 4.5, and x / d is not.
    EXPECT_EQ(q4_0({-1.5f, -0x1.500002p-1f})[3], 0x84);
    // The product is rounded before 8.5 is added. Fused, the code is 1.
    EXPECT_EQ(q4_0({-1.5f, -1.21875f})[3], 0x82);
    // The codes use d before it is rounded to f16. After it, the code is 9.
    EXPECT_EQ(q4_0({-4.033203125f, 0.251953125f})[3], 0x88);

    const auto q5_0 = [](std::vector<float> x, float others = 0) {
        return start(8, quantized(GgufFormat::q5_0, std::move(x), others));
    };
    // The scale, the fifth bits of all codes, and the low bits as in Q4_0. 0 has code 16.
    EXPECT_EQ(q5_0({-16, -15}), (Bytes{0x00, 0x3c, 0xfc, 0xff, 0xff, 0xff, 0, 1}));
    // With an infinite d all products are zeros, or NaN for infinities: all codes are 16.
    EXPECT_EQ(q5_0({INF, 1}, -1), (Bytes{0x00, 0xfc, 0xff, 0xff, 0xff, 0xff, 0, 0}));
    EXPECT_EQ(q5_0({-1.75f, -1.2578125f})[7], 4);
    EXPECT_EQ(q5_0({-1.4375f, -0x1.4d8p+0f})[7], 2);
}

TEST(GgufReference, Q4_1AndQ5_1ByHand) {
    const auto q4_1 = [](std::vector<float> x, float others) {
        return start(8, quantized(GgufFormat::q4_1, std::move(x), others));
    };
    // d, the minimum, and the codes. The range need not include 0. NaN is code 0.
    EXPECT_EQ(q4_1({18, 3}, 3), (Bytes{0x00, 0x3c, 0x00, 0x42, 15, 0, 0, 0}));
    EXPECT_EQ(q4_1({-18, NOT_A_NUMBER}, -3),
              (Bytes{0x00, 0x3c, 0x80, 0xcc, 0xf0, 0xf0, 0xff, 0xff}));
    // Halves go up.
    EXPECT_EQ(q4_1({0, 15, 0.5f, 2.5f}, 0), (Bytes{0x00, 0x3c, 0, 0, 0, 15, 1, 3}));
    EXPECT_EQ(q4_1({NOT_A_NUMBER}, NOT_A_NUMBER), Bytes(8));
    // Zeros of any sign have a d and a minimum of +0.
    EXPECT_EQ(q4_1({0}, -0.0f), Bytes(8));
    EXPECT_EQ(q4_1({-0.0f}, 0), Bytes(8));
    // (x - minimum) * (1 / d) is 7.5, and (x - minimum) / d is less.
    EXPECT_EQ(q4_1({4.625f, 5.75f}, 3.5f)[4], 8);
    // The codes use the minimum before it is rounded to f16. After it, the code is 9.
    EXPECT_EQ(q4_1({2.18249512f, 2.20214844f}, 2.14746094f)[4], 10);
    // d is the difference divided by 15, not a difference of quotients, by which the code is 8.
    EXPECT_EQ(q4_1({2.875f, 3}, 2.75f)[4], 7);

    const auto q5_1 = [](std::vector<float> x, float others) {
        return start(10, quantized(GgufFormat::q5_1, std::move(x), others));
    };
    EXPECT_EQ(q5_1({34, 3, 19, 4}, 3), (Bytes{0x00, 0x3c, 0x00, 0x42, 5, 0, 0, 0, 15, 0}));
    // The codes use d before it is rounded to f16. After it, the code is 15.
    EXPECT_EQ(q5_1({0.75f, 1.5f}, 0)[4], 3);
}

TEST(GgufReference, Q8_0ByHand) {
    const auto q8_0 = [](std::vector<float> x) {
        return start(5, quantized(GgufFormat::q8_0, std::move(x)));
    };
    // Halves go away from zero.
    EXPECT_EQ(q8_0({-127, 2.5f, -2.5f}), (Bytes{0x00, 0x3c, 0x81, 3, 0xfd}));
    EXPECT_EQ(q8_0({NOT_A_NUMBER, -127, 1}), (Bytes{0x00, 0x3c, 0, 0x81, 1}));
    // x * (1 / d) is 63.5, and x / d is less.
    EXPECT_EQ(q8_0({1.125f, 0.5625f})[3], 64);
    // d is not 0, but 1 / d is infinite. Then d is 0, and so is its inverse.
    EXPECT_EQ(q8_0({0x1p-140f, -0x1p-140f}), (Bytes{0, 0, 127, 0x80, 0}));
    EXPECT_EQ(q8_0({0x1p-149f, -0x1p-149f}), Bytes(5));
    EXPECT_EQ(q8_0({INF, 1, -INF}), (Bytes{0x00, 0x7c, 0, 0, 0}));
}

TEST(GgufReference, Mxfp4ByHand) {
    const auto mxfp4 = [](std::vector<float> x) {
        return start(8, quantized(GgufFormat::mxfp4, std::move(x)));
    };
    // A middle becomes the smaller magnitude, and a zero is +0.
    EXPECT_EQ(mxfp4({4, -0.25f, 0.75f, -1.25f, 1.75f, -2.5f, 3.5f}),
              (Bytes{127, 6, 0, 1, 10, 3, 12, 5}));
    EXPECT_EQ(mxfp4({7, -0.26f, 0.76f, -1.26f, 1.76f, -2.51f, 3.51f}),
              (Bytes{127, 7, 9, 2, 11, 4, 13, 6}));
    EXPECT_EQ(mxfp4({5, -0.0f, -5.1f}), (Bytes{127, 6, 0, 15, 0, 0, 0, 0}));
    // The scale is exact. By log2f the byte is 128 here, and 251 in the next line.
    EXPECT_EQ(mxfp4({7.9999995f})[0], 127);
    EXPECT_EQ(mxfp4({1e-39f})[0], 0);
    EXPECT_EQ(mxfp4({INF, -INF, NOT_A_NUMBER}), (Bytes{252, 7, 15, 0, 0, 0, 0, 0}));
}

// ---- Fixed point --------------------------------------------------------------------------------

// number / 2^bits as the integer below or equal to it.
int64_t floor_divided(int64_t number, int bits) {
    const int64_t divisor = int64_t(1) << bits, remainder = number % divisor;
    return number / divisor - (remainder < 0);
}

// number / 2^bits, rounded, halves upwards. No sum is made that could overflow.
int64_t rounded_up(int64_t number, int bits) {
    const int64_t floor = floor_divided(number, bits), divisor = int64_t(1) << bits;
    return floor + (number - floor * divisor >= divisor / 2);
}

TEST(FixedPointReference, ProductsByTheirDefinitions) {
    Random random;
    for (int i = 0; i < 1000000; i++) {
        const int64_t v = random.integer(-(int64_t(1) << random.integer(1, 32)) + 1,
                                         (int64_t(1) << random.integer(1, 32)) - 1);
        const int64_t multiplier =
            random.integer(0, i % 2 == 0 ? 0x7fffffff : int64_t(1) << random.integer(0, 30));
        const int shift = int(random.integer(-31, 30));
        const FixedFactor factor = {int32_t(multiplier), shift};
        ASSERT_EQ(fixed_product(v, factor, FixedRounding::once),
                  rounded_up(v * multiplier, 31 - shift))
            << v << " * " << multiplier << ", shift " << shift;
        // Both steps are exact in double. std::round rounds halves away from zero.
        const double saturated =
            std::clamp(std::ldexp(double(v), std::max(shift, 0)), -0x1p31, 0x1p31 - 1);
        const int64_t high = rounded_up(int64_t(saturated) * multiplier, 31);
        ASSERT_EQ(double(fixed_product(v, factor, FixedRounding::twice)),
                  std::round(std::ldexp(double(high), std::min(shift, 0))))
            << v << " * " << multiplier << ", shift " << shift;
    }
}

// The last inputs are in docs/lab/block_formats.md. The two roundings differ for -1695. For -1398
// TFLite's NEON code gives -85.
TEST(FixedPointReference, HalvesByHand) {
    constexpr FixedRounding ONCE = FixedRounding::once, TWICE = FixedRounding::twice;
    const FixedFactor half = {1 << 30, 0}, quarter = {1 << 30, -1};
    EXPECT_EQ(fixed_product(-1, half, ONCE), 0);
    EXPECT_EQ(fixed_product(-1, half, TWICE), 0);
    EXPECT_EQ(fixed_product(-6, quarter, ONCE), -1);   // -1.5
    EXPECT_EQ(fixed_product(-6, quarter, TWICE), -2);  // -3 is exact, then -1.5
    EXPECT_EQ(fixed_product(-7, quarter, TWICE), -2);  // -3.5 becomes -3, then -1.5
    EXPECT_EQ(fixed_product(-1695, {2096702552, -1}, TWICE), -828);
    EXPECT_EQ(fixed_product(-1695, {2096702552, -1}, ONCE), -827);
    EXPECT_EQ(fixed_product(-1398, {2102125345, -4}, TWICE), -86);
}

TEST(FixedPointReference, ZeroPointsAndBounds) {
    const FixedFactor one = {1 << 30, 1};
    const auto bounded = [&](int x) {
        return int(requantize_fixed<int8_t>(x, 100, one, FixedRounding::twice, 3, -5, 9));
    };
    EXPECT_EQ(bounded(101), 4);
    EXPECT_EQ(bounded(107), 9);
    EXPECT_EQ(bounded(91), -5);
    const auto whole = [&](auto x, auto z) {
        return int(requantize_fixed<uint8_t>(x, z, one, FixedRounding::once, uint8_t(7)));
    };
    EXPECT_EQ(whole(int8_t(127), int8_t(-128)), 255);
    EXPECT_EQ(whole(int8_t(-100), int8_t(0)), 0);
    // The difference has 33 bits.
    const int32_t least = std::numeric_limits<int32_t>::min(), most = 0x7fffffff;
    EXPECT_EQ(
        requantize_fixed<int16_t>(most, least, {1 << 30, -18}, FixedRounding::once, int16_t(0)),
        0x2000);
}

TEST(FixedPointReference, FactorsAreNormalizedAndNearest) {
    Random random;
    for (int i = 0; i < 200000; i++) {
        const int exponent = int(random.integer(-31, 29));
        const double factor = std::ldexp(
            1 + double(random.integer(0, (int64_t(1) << 52) - 1)) * 0x1p-52, exponent - 1);
        for (const FixedRounding rounding : {FixedRounding::twice, FixedRounding::once}) {
            const FixedFactor f = fixed_factor(factor, rounding);
            ASSERT_GE(f.multiplier, 1 << 30) << factor;
            ASSERT_LE(std::fabs(std::ldexp(double(f.multiplier), f.shift - 31) - factor),
                      std::ldexp(0.5, exponent - 31))
                << factor;
        }
    }
}

TEST(FixedPointReference, FactorsByHand) {
    const auto expect = [](double factor, FixedRounding rounding, int multiplier, int shift) {
        const FixedFactor f = fixed_factor(factor, rounding);
        EXPECT_EQ(f.multiplier, multiplier) << factor;
        EXPECT_EQ(f.shift, shift) << factor;
    };
    for (const FixedRounding rounding : {FixedRounding::twice, FixedRounding::once}) {
        expect(0.5, rounding, 1 << 30, 0);
        expect(1, rounding, 1 << 30, 1);
        expect(std::nextafter(1.0, 0.0), rounding, 1 << 30, 1);  // 2^31 does not fit
        expect(0x1.00000002p-1, rounding, (1 << 30) + 1, 0);     // a tie goes up
        expect(0x1p29, rounding, 1 << 30, 30);
        expect(0x1p-32, rounding, 1 << 30, -31);
        expect(std::nextafter(0x1p-32, 0.0), rounding, 1 << 30, -31);
        expect(0x1p-33, rounding, 0, 0);
        expect(0, rounding, 0, 0);
    }
    expect(0x1p30, FixedRounding::once, 0x7fffffff, 30);
    expect(0x1p60, FixedRounding::once, 0x7fffffff, 30);
    expect(0x1p30, FixedRounding::twice, 1 << 30, 31);
}

// ---- Where other implementations differ ---------------------------------------------------------

// Inputs for which other libraries' formulas give other results (docs/lab/block_formats.md). They
// show that a formula was not replaced by one that is nearly the same.
TEST(BlockReferences, DynamicQuantizeWhereOthersDiffer) {
    const auto symmetric = [](float a, float x) {
        Range range;
        range.add(a);
        return int(
            quantize_linear(x, dynamic_scale<int8_t>(range, DynamicMode::symmetric), int8_t(0)));
    };
    EXPECT_EQ(symmetric(1.1171875f, 0.55859375f), 63);  // x * (127 / a) gives 64
    EXPECT_EQ(symmetric(1.125f, 0.5625f), 63);          // x * (1 / s) gives 64
    EXPECT_EQ(symmetric(1.984375f, 1.0078125f), 64);    // halves away from zero give 65
    EXPECT_EQ(symmetric(1.0078125f, 0.7578125f), 95);   // a scale of bf16 gives 96
    const auto zero_point = [](float low, float high) {
        Range range;
        range.add(low);
        range.add(high);
        return int(dynamic_zero_point<int8_t>(range, dynamic_scale<int8_t>(range)));
    };
    EXPECT_EQ(zero_point(-1, 1), -1);                     // PyTorch and XNNPACK: 0
    EXPECT_EQ(zero_point(-0.5390625f, 1.8515625f), -70);  // Min - rint(low / s) gives -71
    Range range;
    range.add(1.078125f);
    const float s = dynamic_scale<f8e4m3fn>(range, DynamicMode::symmetric);
    EXPECT_EQ(to_f32(quantize_linear(0.80859375f, s, f8e4m3fn())), 320);  // x * (1 / s): 352
}

TEST(BlockReferences, MxAndNvfp4WhereOthersDiffer) {
    Magnitude block;
    block.add(6.01f);
    EXPECT_EQ(to_f32(mx_scale<f4e2m1>(block, MxScaleMode::floor)), 1);  // and 6.01 saturates to 6
    EXPECT_EQ(to_f32(mx_scale<f4e2m1>(block, MxScaleMode::ceil)), 2);
    EXPECT_EQ(mx_quantize<int8_t>(-1.9938f, {127}), -127);  // ONNX's QuantizeLinear: -128
    Magnitude tensor, small;
    tensor.add(65);
    small.add(48.75f);
    // 336 is a tie. Transformer Engine's product with a reciprocal gives 352.
    EXPECT_EQ(to_f32(nvfp4_scale(small, nvfp4_tensor_scale(tensor))), 320);
    // a / 6 is below the tie of 1.1875. a * (1 / 6) is the tie, which gives 1.25.
    EXPECT_EQ(to_f32(nvfp4_scale({to_bits(0x1.c7fffep2f)}, 1)), 1.125f);
    // (a / 6) * (1 / ts) is above the tie and gives 1.875.
    EXPECT_EQ(to_f32(nvfp4_scale({to_bits(19.03125f)}, 1.75f)), 1.75f);
    // x * (1 / ts) is above the tie and gives 1.5. The code 0x38 is a scale of 1.
    EXPECT_EQ(to_f32(nvfp4_quantize(2.34375f, {0x38}, 1.875f)), 1);
    // x / ts / s is 3.5, which gives 4.
    const f8e4m3fn s = to_small_float<f8e4m3fn>(0.0234375f, true);
    EXPECT_EQ(to_f32(nvfp4_quantize(0.0019836426f, s, 0.024181549f)), 3);
}

}  // namespace
}  // namespace hewn_test
