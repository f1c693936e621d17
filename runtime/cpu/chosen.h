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

// Chooses the scales of `count` blocks, whose largest magnitudes are given as the bits of f32
// numbers. Sets the codes of the scales that are written, and the scales to divide elements by.
// These are 1 for blocks whose elements do not depend on a division: those of zeros, and those that
// are lost because of a NaN or an infinity. A `format` of 0 is that of int8 elements. The
// floating-point mode must be the default one.
void choose_mx_scales(hewn_mx_scale_mode mode, uint32_t format, const uint32_t *largest,
                      int32_t count, float *scales, uint8_t *codes);
void choose_nvfp4_scales(float tensor_scale, const uint32_t *largest, int32_t count, float *scales,
                         uint8_t *codes);
// The factor of the elements of blocks with NVFP4's scales, by which they are divided.
float nvfp4_factor(float scale, float tensor_scale);
// The scale of NVFP4's tensor whose largest magnitude is given.
float nvfp4_tensor_scale(float largest);

// The codes of NaN scales, which blocks have whose elements are lost.
constexpr uint8_t kLostMx = 0xff, kLostNvfp4 = 0x7f;

// Elements of a tensor of scales or zero points, which begins at `memory`.
struct Elements {
    const Tensor &tensor;
    void *memory;
    int64_t first, step;
};
// Writes the scales, or the zero points, of `count` blocks, unless the tensor is absent or empty.
void write_scales(const Elements &to, const float *scales, int32_t count);
void write_zero_points(const Elements &to, const int32_t *zero_points, int32_t count);
void write_codes(const Elements &to, const uint8_t *codes, int32_t count);

}  // namespace hewn
