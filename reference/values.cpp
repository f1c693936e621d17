#include "values.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <type_traits>

namespace hewn_test {

// ---- Random numbers -----------------------------------------------------------------------------

namespace {
std::optional<uint64_t> given_seed;
}

void set_seed(uint64_t value) { given_seed = value; }

uint64_t seed() {
    static const uint64_t value = [] {
        if (given_seed) return *given_seed;
        const char *text = std::getenv("HEWN_SEED");
        const uint64_t chosen = text ? std::strtoull(text, nullptr, 0) : std::random_device{}();
        std::printf("HEWN_SEED=%llu (set it to repeat this run)\n",
                    static_cast<unsigned long long>(chosen));
        return chosen;
    }();
    return value;
}

namespace {
uint64_t fnv1a(const std::string &text) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3;
    return hash;
}
}  // namespace

Random::Random(const std::string &purpose)
    : engine_(seed() * 0x9e3779b97f4a7c15 + fnv1a(purpose)) {}

// ---- Special values -----------------------------------------------------------------------------

const std::vector<float> &special_f32() {
    static const std::vector<float> values = [] {
        std::vector<float> v;
        for (const float x : {0.0f,
                              0x1p-149f,
                              0x1p-127f,
                              0x1.fffffcp-127f,
                              0x1p-126f,
                              0x1p-60f,
                              0x1.fffffep-61f,
                              0x1p-25f,
                              0x1.8p-25f,
                              0x1p-24f,
                              0x1p-15f,
                              0x1p-14f,
                              0.1f,
                              0.25f,
                              0.5f,
                              0x1.000002p-1f,
                              0x1.fffffep-2f,
                              0x1.fffffep-1f,
                              1.0f,
                              1.5f,
                              0x1.7ffffep0f,
                              0x1.800002p0f,
                              2.0f,
                              2.5f,
                              3.5f,
                              126.5f,
                              127.0f,
                              127.5f,
                              128.0f,
                              128.5f,
                              254.5f,
                              255.0f,
                              255.5f,
                              256.0f,
                              2048.0f,
                              2049.0f,
                              32767.5f,
                              32768.0f,
                              65504.0f,
                              65519.996f,
                              65520.0f,
                              65536.0f,
                              0x1p22f,
                              0x1.000002p22f,
                              0x1p23f,
                              0x1p24f,
                              0x1.000002p24f,
                              0x1.fffffep30f,
                              0x1p31f,
                              0x1.000002p31f,
                              0x1p32f,
                              0x1p52f,
                              0x1p60f,
                              0x1.000002p60f,
                              0x1p63f,
                              0x1p64f,
                              0x1.fffffep127f,
                              std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()}) {
            v.push_back(x);
            v.push_back(-x);
        }
        v.push_back(reference::from_bits(0x7f800001));  // a signalling NaN
        v.push_back(reference::from_bits(0xffffffff));
        return v;
    }();
    return values;
}

const std::vector<f16> &special_f16() {
    static const std::vector<f16> values = [] {
        std::vector<f16> v;
        for (const uint16_t bits :
             {0x0000, 0x0001, 0x0002, 0x03ff, 0x0400, 0x0401, 0x1400, 0x37ff, 0x3800, 0x3801,
              0x3bff, 0x3c00, 0x3c01, 0x3e00, 0x4000, 0x4100, 0x57f0, 0x5800, 0x5bfc, 0x5c00,
              0x6400, 0x6bff, 0x7800, 0x7bfe, 0x7bff, 0x7c00, 0x7c01, 0x7e00, 0x7fff}) {
            v.push_back({bits});
            v.push_back({uint16_t(bits | 0x8000)});
        }
        return v;
    }();
    return values;
}

// The upper halves of the special f32 numbers, the ends of bf16's own ranges, and its NaNs.
const std::vector<bf16> &special_bf16() {
    static const std::vector<bf16> values = [] {
        std::vector<bf16> v;
        for (const float x : special_f32()) v.push_back({uint16_t(reference::to_bits(x) >> 16)});
        for (const uint16_t bits : {0x0001, 0x007f, 0x0080, 0x7f7f, 0x7f81, 0x7fff}) {
            v.push_back({bits});
            v.push_back({uint16_t(bits | 0x8000)});
        }
        return v;
    }();
    return values;
}

namespace {
// The ends of the ranges of subnormal, normal and infinite numbers, and the NaN that is written,
// with both signs.
template<class T>
std::vector<T> special_small_floats() {
    const reference::SmallFloat &format = T::format;
    const int normal = 1 << format.mantissa,
              most = (format.sign != 0 ? format.sign : 1 << format.bits) - 1;
    std::vector<T> v;
    for (const int code : {0, 1, normal - 1, normal, normal + 1, format.largest - 1, format.largest,
                           std::min(format.largest + 1, most), format.nan, most}) {
        v.push_back({uint8_t(code)});
        v.push_back({uint8_t(code | format.sign)});
    }
    return v;
}
}  // namespace

template<class T>
std::vector<T> special_values() {
    if constexpr (std::is_same_v<T, float>) return special_f32();
    else if constexpr (std::is_same_v<T, f16>) return special_f16();
    else if constexpr (std::is_same_v<T, bf16>) return special_bf16();
    else if constexpr (is_small_float<T>) return special_small_floats<T>();
    else {
        std::vector<T> v;
        // The ends of the range of every narrower type, and the neighbours of the powers of two
        // from which on f32 rounds integers.
        for (const uint64_t x : {0ull,
                                 1ull,
                                 2ull,
                                 127ull,
                                 128ull,
                                 255ull,
                                 256ull,
                                 32767ull,
                                 32768ull,
                                 65535ull,
                                 65536ull,
                                 0xffffffull,
                                 0x1000000ull,
                                 0x1000001ull,
                                 0x1000002ull,
                                 0x1000003ull,
                                 0x1fffffdull,
                                 0x2000006ull,
                                 0x7fffff7full,
                                 0x7fffff80ull,
                                 0x7fffffbfull,
                                 0x7fffffc0ull,
                                 0x7fffffc1ull,
                                 0x7fffffffull,
                                 0x80000000ull,
                                 0x80000001ull,
                                 0x80008000ull,
                                 0xffff0000ull,
                                 0xffffffffull,
                                 0x100000000ull,
                                 0x20000000000000ull,
                                 0x20000000000001ull,
                                 0x7ffffffffffffffeull,
                                 0x7fffffffffffffffull,
                                 0x8000000000000000ull}) {
            v.push_back(T(x));
            v.push_back(T(0 - x));
        }
        return v;
    }
}

template<class T>
T random_value(Random &random) {
    if (random.one_in(8)) {
        static const std::vector<T> special = special_values<T>();
        return random.pick(special);
    }
    const uint64_t bits = random.bits();
    if constexpr (std::is_same_v<T, float>)
        return random.one_in(4) ? reference::from_bits(uint32_t(bits))
                                : (random.unit() - 0.5f) * 600;
    else if constexpr (std::is_same_v<T, f16>) return {uint16_t(bits)};
    else if constexpr (std::is_same_v<T, bf16>)  // any bits, or numbers whose sums are rounded
        return {uint16_t(random.one_in(4) ? bits : 0x3f00 + bits % 0x200 + (bits >> 32 & 0x8000))};
    else return from_lowest<T>(bits);
}

#define HEWN_TYPE(name, T, number) \
    template std::vector<T> special_values(); \
    template T random_value(Random &);
HEWN_EACH_TYPE(HEWN_TYPE)
#undef HEWN_TYPE

// ---- Scales -------------------------------------------------------------------------------------

float random_ordinary_scale(Random &random, int exponent) {
    float scale = 1.0f;
    switch (random.integer(0, 3)) {
    case 0: break;  // a power of two: quotients tie often
    case 1: scale = 1 + float(random.integer(0, 7)) / 8; break;  // few bits: ties too
    default: scale = 1 + random.unit() * (1 - 0x1p-20f);
    }
    scale *= power_of_two(exponent + int(random.integer(-1, 1)));
    return random.one_in(4) ? -scale : scale;
}

float random_scale(Random &random, int exponent, Scales scales) {
    if (scales == Scales::extraordinary && !random.one_in(3)) return random.pick(special_f32());
    return random_ordinary_scale(random, exponent);
}

}  // namespace hewn_test
