// The activations of ADD1 and QUANTIZED_LINEAR_ADD, as the numbers that kernels take.
#pragma once

#include <limits>

#include "../base/kernel_contract.h"
#include "operators.h"

namespace hewn {

using ActivationPieces = Pieces<float, uint32_t>;

// Returns the activation of an ADD1 in pieces. SOFTSIGN has none; IDENTITY does not need them.
inline ActivationPieces pieces_of(const Attributes &attributes) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr uint32_t kKept = ~uint32_t(0);
    ActivationPieces p = {1, -0.0f, -kInfinity, kInfinity, -kInfinity, kInfinity, 0, kKept};
    switch (attributes.add1_activation) {
    case HEWN_ACTIVATION_LINEAR:
        p.slope = attributes.add1_alpha;
        p.offset = attributes.add1_beta;
        break;
    case HEWN_ACTIVATION_RELU:
        p.low = p.offset = 0;  // the offset turns -0 into the bound, which is +0
        break;
    case HEWN_ACTIVATION_LEAKY_RELU:
        p.slope = attributes.add1_alpha;
        p.below = 0;
        p.above = -kInfinity;
        break;
    case HEWN_ACTIVATION_THRESHOLDED_RELU:
        p.above = attributes.add1_alpha;
        p.elsewhere = 0;
        break;
    case HEWN_ACTIVATION_HARD_SIGMOID:
        p.slope = attributes.add1_alpha;
        p.offset = attributes.add1_beta + 0.0f;  // not -0, so that no sum is -0
        p.low = 0;
        p.high = 1;
        break;
    case HEWN_ACTIVATION_SHRINK:
        p.offset = p.shift = attributes.add1_bias;
        p.below = -attributes.add1_threshold;
        p.above = attributes.add1_threshold;
        p.elsewhere = 0;
        break;
    case HEWN_ACTIVATION_CLIP:
        // A bound of -0 counts as +0. If min is above max, every number becomes max.
        p.high = attributes.add1_max + 0.0f;
        p.low = attributes.add1_min + 0.0f;
        if (p.low > p.high) p.low = p.high;
        if (p.low == 0) p.offset = 0;
        break;
    default: break;
    }
    return p;
}

// The bounds of an activation of QUANTIZED_LINEAR_ADD other than NONE, before they are quantized.
struct ActivationBounds {
    float low;
    bool has_high;
    float high;
};
constexpr ActivationBounds bounds_of(hewn_quantized_activation activation) {
    return activation == HEWN_QUANTIZED_ACTIVATION_RELU    ? ActivationBounds{0, false, 0}
           : activation == HEWN_QUANTIZED_ACTIVATION_RELU6 ? ActivationBounds{0, true, 6}
                                                           : ActivationBounds{-1, true, 1};
}

}  // namespace hewn
