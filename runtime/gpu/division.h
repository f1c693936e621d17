// Divisions by numbers that are known before a launch, as multiplications. The GPUs' forms `runs`
// and `strided` take them for each of their dimensions (generators/gpu.h).
#pragma once

#include <cstdint>

namespace hewn {

struct Division {
    uint32_t multiplier, shift;
};

// n / size = n * multiplier >> (31 + shift) for all n < 2^31, with 2^shift >= size and multiplier =
// ceil(2^(31 + shift) / size).
//
// The multiplier exceeds 2^(31 + shift) / size by less than 1. Multiplied by n, this is an error of
// less than 2^31 <= 2^(31 + shift) / size, which is too small to reach the next integer. As `size`
// is from 1 to 2^31 - 1, the multiplier has 32 bits. A kernel takes the high word of 2n *
// multiplier and shifts it by `shift`.
inline Division division_by(uint32_t size) {
    uint32_t shift = 0;
    while ((uint64_t(1) << shift) < size) shift++;
    return {uint32_t(((uint64_t(1) << (31 + shift)) + size - 1) / size), shift};
}

}  // namespace hewn
