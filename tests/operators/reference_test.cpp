// Tests the reference, with which all other tests compare results. It is compared with arithmetic
// that is made another way: exact values in double or in integers, rounded once, and values worked
// out by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "../../reference/values.h"

namespace hewn_test {
namespace {

// The value of an f16 by the type's definition, in double.
double value_of(f16 h) {
    const int exponent = h.bits >> 10 & 31, mantissa = h.bits & 1023;
    const double magnitude =
        exponent == 31  ? (mantissa ? std::nan("") : std::numeric_limits<double>::infinity())
        : exponent == 0 ? std::ldexp(mantissa, -24)
                        : std::ldexp(1024 + mantissa, exponent - 25);
    return h.bits & 0x8000 ? -magnitude : magnitude;
}

TEST(Reference, F16ToF32IsExact) {
    for (int bits = 0; bits < 65536; bits++) {
        const f16 h{uint16_t(bits)};
        const float f = reference::to_f32(h);
        if (std::isnan(value_of(h))) EXPECT_TRUE(std::isnan(f)) << bits;
        else
            EXPECT_TRUE(double(f) == value_of(h) && std::signbit(f) == bool(bits & 0x8000)) << bits;
    }
}

TEST(Reference, F32ToF16RoundsToNearestEven) {
    for (int bits = 0; bits < 0x7c00; bits++) {
        const f16 low{uint16_t(bits)}, high{uint16_t(bits + 1)};
        // 0x7c00 is infinity. Here it has the value that would follow, because from the middle on,
        // values overflow.
        const double above = bits + 1 == 0x7c00 ? 65536.0 : value_of(high);
        const float middle = float((value_of(low) + above) / 2);  // exact
        const f16 even = bits & 1 ? high : low;
        for (const float sign : {1.0f, -1.0f}) {
            const auto expect = [&](float x, f16 want) {
                EXPECT_EQ(reference::to_f16(sign * x).bits, want.bits | (sign < 0 ? 0x8000 : 0))
                    << x;
            };
            expect(float(value_of(low)), low);
            expect(std::nextafter(float(value_of(low)), 1e9f), low);
            expect(std::nextafter(middle, 0.0f), low);
            expect(middle, even);
            expect(std::nextafter(middle, 1e9f), high);
            expect(std::nextafter(float(above), 0.0f), high);
        }
    }
    EXPECT_EQ(reference::to_f16(std::numeric_limits<float>::infinity()).bits, 0x7c00);
    EXPECT_EQ(reference::to_f16(std::numeric_limits<float>::max()).bits, 0x7c00);
    EXPECT_EQ(reference::to_f16(-0.0f).bits, 0x8000);
    EXPECT_EQ(reference::to_f16(0x1p-149f).bits, 0);
    EXPECT_GT(reference::to_f16(std::nanf("")).bits & 0x7fff, 0x7c00);
    EXPECT_GT(reference::to_f16(reference::from_bits(0x7f800001)).bits & 0x7fff, 0x7c00)
        << "a NaN stays one";
    EXPECT_GT(reference::to_f16(reference::from_bits(0xffffffff)).bits & 0x7fff, 0x7c00);
}

#if defined(__FLT16_MAX__) && defined(__x86_64__)
// Compares with the compiler's own conversions, for a sample that runs through all of f32.
TEST(Reference, F16AgreesWithTheCompiler) {
    for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += 4093) {
        const float f = reference::from_bits(uint32_t(bits));
        const _Float16 h = _Float16(f);
        ASSERT_TRUE(reference::same(reference::to_f16(f), load<f16>(&h))) << std::hex << bits;
    }
}
#endif

// ---- Small floats ----

template<class... Ts, class F>
void for_each_type(F &&f) {
    (f(Ts{}), ...);
}

template<class T>
float value_of_code(int code) {
    return reference::to_f32(T{uint8_t(code)});
}

// Codes and values from the definitions of the types, worked out by hand.
TEST(Reference, SmallFloatsByHand) {
    const auto expect = [](auto tag, std::initializer_list<std::pair<int, float>> known) {
        using T = decltype(tag);
        for (const auto &[code, value] : known) {
            const float got = value_of_code<T>(code);
            if (std::isnan(value)) EXPECT_TRUE(std::isnan(got)) << text_of(T{uint8_t(code)});
            else
                EXPECT_EQ(reference::to_bits(got), reference::to_bits(value))
                    << text_of(T{uint8_t(code)});
        }
    };
    const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
    expect(f8e4m3fn{}, {{0x00, 0.0f},
                        {0x01, 0x1p-9f},
                        {0x07, 0x1.cp-7f},
                        {0x08, 0x1p-6f},
                        {0x38, 1.0f},
                        {0x39, 1.125f},
                        {0x7e, 448.0f},
                        {0x7f, nan},
                        {0x80, -0.0f},
                        {0xb8, -1.0f},
                        {0xfe, -448.0f},
                        {0xff, nan}});
    expect(f8e4m3fnuz{}, {{0x00, 0.0f},
                          {0x01, 0x1p-10f},
                          {0x08, 0x1p-7f},
                          {0x40, 1.0f},
                          {0x7f, 240.0f},
                          {0x80, nan},
                          {0x81, -0x1p-10f},
                          {0xff, -240.0f}});
    expect(f8e5m2{}, {{0x01, 0x1p-16f},
                      {0x03, 0x1.8p-15f},
                      {0x04, 0x1p-14f},
                      {0x3c, 1.0f},
                      {0x3d, 1.25f},
                      {0x7b, 57344.0f},
                      {0x7c, inf},
                      {0x7d, nan},
                      {0x7e, nan},
                      {0x7f, nan},
                      {0x80, -0.0f},
                      {0xfc, -inf},
                      {0xfd, nan}});
    expect(f8e5m2fnuz{}, {{0x01, 0x1p-17f},
                          {0x04, 0x1p-15f},
                          {0x40, 1.0f},
                          {0x7f, 57344.0f},
                          {0x80, nan},
                          {0xc0, -1.0f}});
    expect(f6e2m3{}, {{0x01, 0.125f}, {0x08, 1.0f}, {0x1f, 7.5f}, {0x20, -0.0f}, {0x3f, -7.5f}});
    expect(f6e3m2{}, {{0x01, 0.0625f}, {0x04, 0.25f}, {0x0c, 1.0f}, {0x1f, 28.0f}, {0x3f, -28.0f}});
    expect(f4e2m1{}, {{0, 0.0f},
                      {1, 0.5f},
                      {2, 1.0f},
                      {3, 1.5f},
                      {4, 2.0f},
                      {5, 3.0f},
                      {6, 4.0f},
                      {7, 6.0f},
                      {8, -0.0f},
                      {9, -0.5f},
                      {15, -6.0f}});
    expect(f8e8m0{},
           {{0x00, 0x1p-127f}, {0x7f, 1.0f}, {0x80, 2.0f}, {0xfe, 0x1p127f}, {0xff, nan}});
}

// What a type does beyond its largest number without saturation.
enum class Beyond { Largest, Infinity, NotANumber };

// Every code becomes itself again. So do all numbers nearest to it, which are tried up to the
// middle between two neighbours; a middle goes to the even code.
template<class T>
void expect_nearest_even(Beyond beyond, bool has_negative_zero) {
    const int sign = 1 << (T::format.bits - 1);
    std::vector<float> values;  // of the codes from 0 on
    for (int code = 0; code < sign && std::isfinite(value_of_code<T>(code)); code++) {
        values.push_back(value_of_code<T>(code));
        if (code > 0) {
            ASSERT_LT(values[size_t(code) - 1], values.back());
        }
    }
    const float inf = std::numeric_limits<float>::infinity();
    const int count = int(values.size()), largest = count - 1;
    // Checks that x and -x become the code and its negative.
    const auto expect = [&](float x, int code) {
        for (const bool saturate : {false, true}) {
            for (const bool negative : {false, true}) {
                const T got = reference::to_small_float<T>(negative ? -x : x, saturate);
                const std::string text = text_of(negative ? -x : x) + " became " + text_of(got);
                const float value = reference::to_f32(got);
                if (code > largest && !saturate && beyond == Beyond::NotANumber) {
                    EXPECT_TRUE(std::isnan(value)) << text;
                } else if (code > largest && !saturate && beyond == Beyond::Infinity) {
                    EXPECT_EQ(value, negative ? -inf : inf) << text;
                } else {
                    const bool signed_ = negative && (code > 0 || has_negative_zero);
                    EXPECT_EQ(got.bits, std::min(code, largest) | (signed_ ? sign : 0)) << text;
                }
            }
        }
    };
    for (int code = 0; code < count; code++) {
        // After the largest number the distance to the next one stays the same.
        const float low = values[size_t(code)],
                    high = code < largest ? values[size_t(code) + 1]
                                          : low + (low - values[size_t(code) - 1]),
                    middle = (low + high) / 2;  // exact
        for (const float x : {low, std::nextafter(low, inf), std::nextafter(middle, 0.0f)})
            expect(x, code);
        expect(middle, code % 2 == 0 ? code : code + 1);
        for (const float x : {std::nextafter(middle, inf), std::nextafter(high, 0.0f)})
            expect(x, code + 1);
    }
    expect(0x1p-149f, 0);
    expect(std::numeric_limits<float>::max(), count);
    expect(inf, count);
    for (const bool saturate : {false, true}) {
        for (const float nan : {std::nanf(""), -std::nanf("")}) {
            const T got = reference::to_small_float<T>(nan, saturate);
            if (beyond == Beyond::Largest) EXPECT_EQ(got.bits, largest);
            else EXPECT_TRUE(std::isnan(reference::to_f32(got)));
        }
    }
}

TEST(Reference, SmallFloatsRoundToNearestEven) {
    expect_nearest_even<f8e4m3fn>(Beyond::NotANumber, true);
    expect_nearest_even<f8e4m3fnuz>(Beyond::NotANumber, false);
    expect_nearest_even<f8e5m2>(Beyond::Infinity, true);
    expect_nearest_even<f8e5m2fnuz>(Beyond::NotANumber, false);
    expect_nearest_even<f6e2m3>(Beyond::Largest, true);
    expect_nearest_even<f6e3m2>(Beyond::Largest, true);
    expect_nearest_even<f4e2m1>(Beyond::Largest, true);
    const auto e4m3fn = [](float x) {
        return int(reference::to_small_float<f8e4m3fn>(x, false).bits);
    };
    EXPECT_EQ(e4m3fn(464), 0x7e) << "the middle after 448, which is even";
    EXPECT_EQ(e4m3fn(-465), 0xff);
    const auto e5m2 = [](float x) { return int(reference::to_small_float<f8e5m2>(x, false).bits); };
    EXPECT_EQ(e5m2(61440), 0x7c) << "the middle after 57344, which is odd";
    EXPECT_EQ(e5m2(61439), 0x7b);
}

// A scale of f8e8m0 is a power of two.
TEST(Reference, PowersOfTwo) {
    const auto code_of = [](float x, bool saturate = false) {
        return int(reference::to_small_float<f8e8m0>(x, saturate).bits);
    };
    for (int code = 0; code < 255; code++) {
        EXPECT_EQ(value_of_code<f8e8m0>(code), std::ldexp(1.0f, code - 127));
        EXPECT_EQ(code_of(value_of_code<f8e8m0>(code)), code);
    }
    EXPECT_EQ(code_of(1.49f), 127);
    EXPECT_EQ(code_of(1.5f), 128);
    for (const float x : {0.0f, -0.0f, -1.0f, std::nanf("")}) EXPECT_EQ(code_of(x), 255);
    EXPECT_EQ(code_of(std::numeric_limits<float>::infinity()), 255);
    EXPECT_EQ(code_of(std::numeric_limits<float>::infinity(), true), 254);
    EXPECT_EQ(code_of(0x1p-149f), 0);
}

TEST(Reference, SameOfSmallFloats) {
    const auto same = [](auto tag, int a, int b) {
        using T = decltype(tag);
        return reference::same(T{uint8_t(a)}, T{uint8_t(b)});
    };
    EXPECT_TRUE(same(f8e5m2{}, 0x7d, 0xfe)) << "two NaNs";
    EXPECT_FALSE(same(f8e5m2{}, 0x7c, 0x7d));
    EXPECT_TRUE(same(f8e4m3fn{}, 0x7f, 0xff));
    EXPECT_FALSE(same(f8e4m3fn{}, 0x00, 0x80)) << "zeros of two signs";
    EXPECT_FALSE(same(f8e4m3fnuz{}, 0x80, 0xff));
    EXPECT_FALSE(same(f6e2m3{}, 0x1f, 0x3f));
}

// The first element is in the lowest bits of the first byte. Elements of 6 bits lie in two bytes.
TEST(Reference, ElementsOfSubByteTypes) {
    std::vector<uint8_t> bytes(6, 0xff);
    const int codes[] = {5, 45, 25, 31, 63, 31, 2};
    for (int i = 0; i < 7; i++) set_element(bytes.data(), i, f6e2m3{uint8_t(codes[i])});
    EXPECT_EQ(bytes, (std::vector<uint8_t>{0x45, 0x9b, 0x7d, 0xff, 0x27, 0xfc}));
    for (int i = 0; i < 7; i++) EXPECT_EQ(element<f6e2m3>(bytes.data(), i).bits, codes[i]);
    EXPECT_EQ(memory_bytes(HEWN_DATA_TYPE_FLOAT6E2M3, 7), 6u);
    EXPECT_EQ(memory_bytes(HEWN_DATA_TYPE_FLOAT6E3M2, 4), 3u);
    EXPECT_EQ(memory_bytes(HEWN_DATA_TYPE_FLOAT4E2M1, 3), 2u);
    for_each_type<i4, u4, i2, u2, f6e2m3, f6e3m2, f4e2m1>([](auto tag) {
        using T = decltype(tag);
        std::vector<uint8_t> memory(32);
        std::vector<T> values;
        Random random("Reference.Elements");
        for (int i = 0; i < 40; i++) {
            values.push_back(from_lowest<T>(random.bits()));
            set_element(memory.data(), i, values.back());
        }
        for (int i = 0; i < 40; i++)
            EXPECT_TRUE(reference::same(element<T>(memory.data(), i), values[size_t(i)]));
    });
}

// rounded_to() rounds like to_f16 and to_bf16. For bf16, some values are also compared with their
// neighbours in that type, which are the numbers of f32 whose lower half is 0.
TEST(Reference, RoundedTo) {
    const auto same = [](float a, float b) { return reference::same(a, b); };
    for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += 4093) {
        const float f = reference::from_bits(uint32_t(bits));
        ASSERT_TRUE(
            same(reference::rounded_to(reference::kPrecisions[HEWN_PRECISION_FLOAT32], f), f))
            << std::hex << bits;
        ASSERT_TRUE(same(reference::rounded_to(reference::kPrecisions[HEWN_PRECISION_FLOAT16], f),
                         reference::to_f32(reference::to_f16(f))))
            << std::hex << bits;
        ASSERT_TRUE(same(reference::rounded_to(reference::kPrecisions[HEWN_PRECISION_BFLOAT16], f),
                         reference::to_f32(reference::to_bf16(f))))
            << std::hex << bits;
    }
    const auto rounded = [](uint32_t bits) {
        return reference::to_bits(reference::rounded_to(
            reference::kPrecisions[HEWN_PRECISION_BFLOAT16], reference::from_bits(bits)));
    };
    EXPECT_EQ(rounded(0x3f808000), 0x3f800000u) << "a tie";
    EXPECT_EQ(rounded(0x3f818000), 0x3f820000u) << "a tie";
    EXPECT_EQ(rounded(0xbf808001), 0xbf810000u);
    EXPECT_EQ(rounded(0x3f817fff), 0x3f810000u);
    EXPECT_EQ(rounded(0x00018000), 0x00020000u) << "a subnormal tie";
    EXPECT_EQ(rounded(0x80000001), 0x80000000u);
    EXPECT_EQ(rounded(0x7f7f7fff), 0x7f7f0000u);
    EXPECT_EQ(rounded(0x7f7f8000), 0x7f800000u) << "infinity";
    EXPECT_EQ(rounded(0xff800000), 0xff800000u);
    EXPECT_TRUE(std::isnan(reference::from_bits(rounded(0x7fffffff)))) << "a NaN stays one";
}

// The sum of two f16 is exact in double. How it is rounded to f16 is tested by value_of() above.
TEST(Reference, AddF16RoundsOnce) {
    Random random("Reference.AddF16");
    for (int i = 0; i < 300000; i++) {
        const f16 a{uint16_t(random.bits())}, b{uint16_t(random.bits())},
            sum = reference::add(a, b);
        const double exact = value_of(a) + value_of(b);
        if (std::isnan(exact) || std::isinf(exact)) {
            const double got = value_of(sum);
            EXPECT_TRUE(std::isnan(exact) ? std::isnan(got) : got == exact);
            continue;
        }
        if (std::abs(exact) >= 65520) {
            EXPECT_TRUE(std::isinf(value_of(sum)));
            continue;
        }
        // No other f16 is nearer, and if two are equally near, the even one was taken.
        const double error = std::abs(value_of(sum) - exact);
        for (const int step : {-1, 1}) {
            const int neighbour = (sum.bits & 0x7fff) + step;
            if (neighbour < 0 || neighbour >= 0x7c00) continue;
            const double other =
                std::abs(value_of({uint16_t(neighbour | (sum.bits & 0x8000))}) - exact);
            ASSERT_TRUE(error < other || (error == other && sum.bits % 2 == 0))
                << text_of(a) << " + " << text_of(b);
        }
    }
}

TEST(Reference, AddWraps) {
    EXPECT_EQ(reference::add<int8_t>(127, 1), -128);
    EXPECT_EQ(reference::add<uint8_t>(255, 1), 0);
    EXPECT_EQ(reference::add<int16_t>(-32768, -1), 32767);
    EXPECT_EQ(reference::add<int32_t>(INT32_MAX, INT32_MAX), -2);
    EXPECT_EQ(reference::add<int64_t>(INT64_MIN, -1), INT64_MAX);
    EXPECT_EQ(reference::add<uint64_t>(UINT64_MAX, 2), 1u);
    EXPECT_EQ(reference::add<int64_t>((int64_t(1) << 53) + 1, 1), (int64_t(1) << 53) + 2);
}

// The expected values were worked out by hand.
TEST(Reference, QuantizeLinear) {
    const auto u8 = [](float x, float s, uint8_t z) {
        return int(reference::quantize_linear<uint8_t>(x, s, z));
    };
    const auto i8 = [](float x, float s, int8_t z) {
        return int(reference::quantize_linear<int8_t>(x, s, z));
    };
    const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
    EXPECT_EQ(u8(0.5f, 1, 0), 0);
    EXPECT_EQ(u8(1.5f, 1, 0), 2);
    EXPECT_EQ(u8(2.5f, 1, 0), 2);
    EXPECT_EQ(u8(2.5f, 1, 3), 5) << "rounds before the zero point is added";
    EXPECT_EQ(i8(-2.5f, 1, 0), -2);
    EXPECT_EQ(u8(2.5f, -1, 3), 1);
    EXPECT_EQ(u8(254.5f, 1, 0), 254);
    EXPECT_EQ(u8(255.5f, 1, 0), 255);
    EXPECT_EQ(u8(-1, 1, 0), 0);
    EXPECT_EQ(u8(-255, 1, 255), 0);
    EXPECT_EQ(i8(200, 1, -128), 72);
    for (const int8_t z : {-128, -1, 0, 77, 127}) {
        EXPECT_EQ(i8(nan, 1, z), z);
        EXPECT_EQ(i8(0, 0, z), z) << "0 / 0";
        EXPECT_EQ(i8(1, nan, z), z);
        EXPECT_EQ(i8(inf, inf, z), z);
        EXPECT_EQ(i8(inf, 1, z), 127);
        EXPECT_EQ(i8(-inf, 1, z), -128);
        EXPECT_EQ(i8(1, 0, z), 127);
        EXPECT_EQ(i8(1, -0.0f, z), -128);
        EXPECT_EQ(i8(1e38f, 1e-38f, z), 127);
        EXPECT_EQ(i8(1, inf, z), z);
    }
    EXPECT_EQ(int(reference::quantize_linear<int8_t>(int32_t(INT32_MAX), 0x1p31f, int8_t(0))), 1)
        << "2^31 - 1 widens to 2^31";
    EXPECT_EQ(
        int(reference::quantize_linear<uint8_t>(int32_t(16777217), 16777216.0f * 2, uint8_t(0))), 0)
        << "a tie, as 2^24 + 1 widens to 2^24";
    EXPECT_EQ(int(reference::quantize_linear<uint8_t>(f16{0x3c00}, f16{0x0001}, uint8_t(0))), 255)
        << "a subnormal f16 scale counts";
}

// The exact difference has 33 bits and is rounded once to f32, by the definition. The product is
// rounded once more.
TEST(Reference, DequantizeLinear) {
    EXPECT_EQ(reference::dequantize_linear(uint32_t(0xffffffff), 1.0f, uint32_t(0)), 4294967296.0f);
    EXPECT_EQ(reference::dequantize_linear(uint32_t(0), 1.0f, uint32_t(0xffffffff)),
              -4294967296.0f);
    EXPECT_EQ(reference::dequantize_linear(int32_t(INT32_MAX), 1.0f, int32_t(INT32_MIN)),
              4294967296.0f);
    EXPECT_EQ(reference::dequantize_linear(uint8_t(3), 0.5f, uint8_t(255)), -126.0f);
    EXPECT_EQ(reference::dequantize_linear(int32_t(16777217), 1.0f, int32_t(0)), 16777216.0f);
    EXPECT_EQ(reference::dequantize_linear(int32_t(16777219), 1.0f, int32_t(0)), 16777220.0f);
    EXPECT_EQ(reference::dequantize_linear(int32_t(INT32_MIN), 1.0f, int32_t(1)), -2147483648.0f);
    EXPECT_EQ(reference::dequantize_linear(int32_t(65520), f16{0x3c00}, int32_t(0)).bits, 0x7c00)
        << "f16 overflows";
    EXPECT_EQ(reference::dequantize_linear(int32_t(65519), f16{0x3c00}, int32_t(0)).bits, 0x7bff);
    EXPECT_EQ(reference::dequantize_linear(int8_t(5), f16{0x0001}, int8_t(2)).bits, 3)
        << "subnormals are kept";
    EXPECT_TRUE(std::isnan(reference::dequantize_linear(
        uint8_t(7), std::numeric_limits<float>::infinity(), uint8_t(7))));
    EXPECT_EQ(reference::to_bits(reference::dequantize_linear(uint8_t(7), -1.0f, uint8_t(7))),
              0x80000000u);
    Random random("Reference.Dequantize");
    for (int i = 0; i < 200000; i++) {
        const uint32_t x = uint32_t(random.bits()), z = random.one_in(2)
                                                            ? x + uint32_t(random.integer(-9, 9))
                                                            : uint32_t(random.bits());
        const float s = random_ordinary_scale(random, 0);
        // A difference of 33 bits is exact in double. So is the product of the scale and the
        // difference rounded to f32 (48 bits).
        const float difference = float(double(x) - double(z)),
                    want = float(double(difference) * double(s));
        ASSERT_EQ(reference::to_bits(reference::dequantize_linear(x, s, z)),
                  reference::to_bits(want));
    }
}

TEST(Reference, QuantizedLinearAdd) {
    const auto add = [](int a, float as, int az, int b, float bs, int bz, float os, int oz) {
        return int(reference::quantized_linear_add(uint8_t(a), as, uint8_t(az), uint8_t(b), bs,
                                                   uint8_t(bz), os, uint8_t(oz)));
    };
    EXPECT_EQ(add(10, 1, 0, 20, 1, 0, 1, 0), 30);
    EXPECT_EQ(add(1, 0.5f, 0, 2, 0.5f, 0, 1, 0), 2) << "1.5";
    EXPECT_EQ(add(1, 0.5f, 0, 4, 0.5f, 0, 1, 0), 2) << "2.5";
    EXPECT_EQ(add(1, 0.5f, 0, 4, 0.5f, 0, 1, 1), 3)
        << "2.5, odd zero point: rounded before it is added";
    EXPECT_EQ(add(1, 0.5f, 0, 4, 0.5f, 0, -1, 9), 7);
    EXPECT_EQ(add(255, 1, 0, 255, 1, 0, 1, 0), 255);
    EXPECT_EQ(add(0, 1, 255, 0, 1, 255, 1, 255), 0);
    EXPECT_EQ(add(5, 0, 0, 5, 0, 0, 0, 77), 77) << "0 / 0";
    EXPECT_EQ(add(5, std::nanf(""), 0, 5, 1, 0, 1, 77), 77);
    // 1 + 2^-24 is rounded to 1 before the division: there are two roundings, not one.
    EXPECT_EQ(add(1, 1, 0, 1, 0x1p-24f, 0, 2, 0), 0);
}

}  // namespace
}  // namespace hewn_test
