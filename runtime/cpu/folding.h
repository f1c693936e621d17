// QUANTIZED_LINEAR_ADD by its form `folded`. It takes a third of the operations out of the formula
// and so rounds otherwise. It is used only where it gives the same outputs: for given scales and
// zero points there are 2^16 pairs of inputs, fewer if A or B is a constant, and all are tried.
#pragma once

#include <cstddef>
#include <cstdint>

struct halide_buffer_t;
struct halide_type_t;

namespace hewn {

// The parameters of A, B and the output.
struct Quantization {
    float scale[3];
    int32_t zero_point[3];
};

// The bytes that a tensor may hold, each at least once.
struct Bytes {
    uint8_t value[256];
};
Bytes all_bytes();
Bytes bytes_in(const void *memory, uint64_t size);

// RN(a * factor_of_a + RN(b * factor_of_b + offset)).
struct FoldedFactors {
    float a, b, offset;
};

// Computes rows of A, B and the output: folded if factors are given, else by the formula. Returns 0
// or a kernel's error.
using ComputeQuantizedAdd = int (*)(const void *context, halide_buffer_t *operands,
                                    const FoldedFactors *factors);

// Tries all pairs of A's and B's bytes with the factors next to the exact ones, until some give the
// formula's outputs. `fits`: whether any do. `types` are those of A, B and the output. Takes the
// time of 2^17 elements if the first factors fit, as they usually do, and of 2^20 at most. Returns
// 0 or a kernel's error.
int find_folded_factors(const Quantization &quantization, const halide_type_t *types,
                        const Bytes &a, const Bytes &b, ComputeQuantizedAdd compute,
                        const void *context, FoldedFactors &factors, bool &fits);

}  // namespace hewn
