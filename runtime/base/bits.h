// Conversions between floats and their bits.
#ifndef HEWN_RUNTIME_BASE_BITS_H
#define HEWN_RUNTIME_BASE_BITS_H

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

inline uint64_t pair_of(float low, float high) { return uint64_t(bits_of(high)) << 32 | bits_of(low); }

}  // namespace hewn

#endif  // HEWN_RUNTIME_BASE_BITS_H
