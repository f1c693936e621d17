// The passes of DYNAMIC_QUANTIZE_LINEAR as problems of their own, and tensors between passes.
#pragma once

#include "operators.h"

namespace hewn {

// Indices of QUANTIZE_LINEAR's and DEQUANTIZE_LINEAR's inputs.
constexpr int kInput = 0, kScale = 1, kZeroPoint = 2;

// Its tensors, in the table's order.
enum DynamicTensor { kDynamicInput, kDynamicOutput, kDynamicScale, kDynamicZeroPoint };

// Elements in memory along a dimension: one for a block, and of those that repeat.
int64_t stored(const Tensor &tensor, int d);
// Makes elements lie one behind the other, in the order that they have.
void pack_strides(Tensor &tensor);

// What the first pass goes through: the input's elements in the order of its memory, and an operand
// of bytes that it neither reads nor writes, as spaces have an output. Elements that repeat come
// once.
Space range_space(const Tensor &input);

// The last pass. Its inputs are the input, the scale and the zero point.
Problem quantization_of(const Problem &problem);

}  // namespace hewn
