// Divisions by what is known before a launch, as multiplications: what the GPUs' forms `runs` and
// `strided` take for each of their dimensions (generators/gpu.h).
#pragma once

#include <cstdint>

namespace hewn {

struct Division {
    uint32_t multiplier, shift;
};

// n / size = n * multiplier >> (31 + shift) for all n < 2^31: multiplier = ceil(2^(31 + shift) /
// size) with 2^shift >= size exceeds 2^(31 + shift) / size by less than 1, which n times is less
// than 2^31 <= 2^(31 + shift) / size: too little to reach the next integer. 0 < size < 2^31, so
// that the multiplier has 32 bits. Of 2n, that is the product's high word shifted by `shift`.
inline Division division_by(uint32_t size) {
    uint32_t shift = 0;
    while ((uint64_t(1) << shift) < size) shift++;
    return {uint32_t(((uint64_t(1) << (31 + shift)) + size - 1) / size), shift};
}

}  // namespace hewn
