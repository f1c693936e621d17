// Scales and zero points that an operator chooses by the range of its input.
#pragma once

#include <atomic>
#include <cstdint>

#include "../problem/operators.h"

namespace hewn {

// How far elements reach below 0 and above it: the bits of f32 magnitudes, which have the order of
// the numbers. Slices raise them in any order.
struct Range {
    std::atomic<uint32_t> below{0}, above{0};

    void include(uint32_t magnitude_below, uint32_t magnitude_above);
};

// What a block is quantized with, and to.
struct ChoiceRule {
    const Attributes &attributes;
    hewn_data_type scale, output;
};

// Chooses the parameters of `count` blocks, which is a multiple of 4. `below` and `above` are the
// blocks' ranges (Range). The floating-point mode must be the default one.
void choose_parameters(const ChoiceRule &rule, const uint32_t *below, const uint32_t *above,
                       int32_t count, float *scales, int32_t *zero_points);

// Elements of a tensor of scales or zero points, which begins at `memory`.
struct Elements {
    const Tensor &tensor;
    void *memory;
    int64_t first, step;
};
// Writes the scales, or the zero points, of `count` blocks, unless the tensor is absent or empty.
void write_scales(const Elements &to, const float *scales, int32_t count);
void write_zero_points(const Elements &to, const int32_t *zero_points, int32_t count);

}  // namespace hewn
