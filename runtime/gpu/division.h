// Divisions by what is known before a launch, as multiplications: what the GPUs' form `strided`
// takes for each of its dimensions (generators/gpu.h).
#pragma once

#include <cstdint>

namespace hewn {

struct Division {
    uint32_t multiplier, shift;
};

// n / size = n * multiplier >> shift for all n < 2^31: multiplier = ceil(2^shift / size) with
// 2^(shift - 31) >= size exceeds 2^shift / size by less than 1, which n times is less than 2^31 <=
// 2^shift / size: too little to reach the next integer. 0 < size < 2^31, so that the multiplier has
// 32 bits.
inline Division division_by(uint32_t size) {
    uint32_t bits = 0;
    while ((uint64_t(1) << bits) < size) bits++;
    const uint32_t shift = 31 + bits;
    return {uint32_t(((uint64_t(1) << shift) + size - 1) / size), shift};
}

}  // namespace hewn
