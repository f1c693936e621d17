// Numbers to compute with: random ones, which a seed repeats, and special ones.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "types.h"

namespace hewn_test {

// ---- Random numbers -----------------------------------------------------------------------------

// The seed of this process: the one of set_seed, else the environment's HEWN_SEED, else a new one.
// Unless it is from set_seed it is printed, because a failure cannot be repeated without it.
uint64_t seed();
// Sets the seed, before its first use. The caller prints it.
void set_seed(uint64_t value);

class Random {
public:
    // Each purpose has a stream of its own, so that a test that a filter picks repeats what it did
    // in the whole run.
    explicit Random(const std::string &purpose);

    uint64_t bits() { return engine_(); }
    // In [low, high]. std::uniform_int_distribution does not serve, because its numbers differ
    // between C++ libraries.
    int64_t integer(int64_t low, int64_t high) {
        return low + int64_t(bits() % (uint64_t(high - low) + 1));
    }
    bool one_in(int64_t n) { return integer(1, n) == 1; }
    // In [0, 1), with 24 random bits, which f32 holds exactly.
    float unit() { return float(bits() >> 40) * 0x1p-24f; }
    template<class Container>
    const auto &pick(const Container &container) {
        return container[size_t(integer(0, int64_t(container.size()) - 1))];
    }
    template<class T>
    void shuffle(std::vector<T> &values) {
        for (size_t i = values.size(); i > 1; i--)
            std::swap(values[i - 1], values[size_t(integer(0, int64_t(i) - 1))]);
    }

private:
    std::mt19937_64 engine_;
};

// ---- Special values -----------------------------------------------------------------------------

const std::vector<float> &special_f32();
const std::vector<f16> &special_f16();
const std::vector<bf16> &special_bf16();
template<class T>
std::vector<T> special_values();

// A random value: a special one, one of any bits, or a number of moderate size.
template<class T>
T random_value(Random &random);

// ---- Scales -------------------------------------------------------------------------------------

enum class Scales {
    ordinary,      // 2^-60 <= |scale| <= 2^60
    extraordinary  // any scales, among them 0, subnormals, infinity and NaN
};

// 2^exponent, for exponents from -126 to 127.
inline float power_of_two(int exponent) {
    return reference::from_bits(uint32_t(exponent + 127) << 23);
}

// A scale of about 2^exponent, positive or negative.
float random_ordinary_scale(Random &random, int exponent);
float random_scale(Random &random, int exponent, Scales scales);

}  // namespace hewn_test
