// Numbers to compute with: random ones, repeatable by their seed, and special ones.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "types.h"

namespace hewn_test {

// ---- Random numbers -----------------------------------------------------------------------------

// One seed a process: HEWN_SEED, else a new one. Printed, because a failure is worth little without
// it.
uint64_t seed();
// Before its first use: this one, which the caller prints.
void set_seed(uint64_t value);

class Random {
public:
    // A stream of its own for each purpose: a test picked by a filter repeats what it did in the
    // whole run.
    explicit Random(const std::string &purpose);

    uint64_t bits() { return engine_(); }
    // In [low, high]. Not std::uniform_int_distribution, whose numbers differ between C++
    // libraries.
    int64_t integer(int64_t low, int64_t high) {
        return low + int64_t(bits() % (uint64_t(high - low) + 1));
    }
    bool one_in(int64_t n) { return integer(1, n) == 1; }
    // In [0, 1), 24 random bits: exact in f32.
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

// Any value: special, of any bits, or of moderate size.
template<class T>
T random_value(Random &random);

// ---- Scales -------------------------------------------------------------------------------------

enum class Scales {
    ordinary,      // 2^-60 <= |scale| <= 2^60
    extraordinary  // among them 0, subnormals, inf, NaN
};

// 2^exponent; of exponents from -126 to 127.
inline float power_of_two(int exponent) {
    return reference::from_bits(uint32_t(exponent + 127) << 23);
}

float random_ordinary_scale(Random &random, int exponent);
float random_scale(Random &random, int exponent, Scales scales);

}  // namespace hewn_test
