// Conversions between a float and the 32 bits that represent it.
#pragma once

#include <cstdint>
#include <cstring>

namespace hewn {

inline uint32_t bits_of(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline float float_of(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

}  // namespace hewn
