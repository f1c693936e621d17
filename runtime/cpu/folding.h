// QUANTIZED_LINEAR_ADD in its form `folded`, which needs two thirds of the formula's operations but
// rounds differently. So it is used only where it gives the formula's outputs. For given scales and
// zero points there are 2^16 pairs of inputs, or fewer if A or B is a constant, and all of them are
// tried at compile.
#pragma once

#include <cstddef>
#include <cstdint>

struct halide_buffer_t;
struct halide_type_t;

namespace hewn {

// The scales and zero points of A, B and the output.
struct Quantization {
    float scale[3];
    int32_t zero_point[3];
};

// The values that a tensor's bytes may have, each at least once.
struct Bytes {
    uint8_t value[256];
};
// Returns all 256 values.
Bytes all_bytes();
// Returns the values that occur in `size` bytes of memory.
Bytes bytes_in(const void *memory, uint64_t size);

// The factors of a sum RN(A * a + RN(B * b + offset)), where RN rounds to nearest.
struct FoldedFactors {
    float a, b, offset;
};

// Computes rows of the output from rows of A and B: with folded factors if `factors` is given, else
// by the formula. Returns 0 or a kernel's error code.
using ComputeQuantizedAdd = int (*)(const void *context, halide_buffer_t *operands,
                                    const FoldedFactors *factors);

// Tries all pairs of the bytes of A and B, first with the factors nearest to the exact ones and
// then with their neighbours, until factors give the formula's outputs. Sets `fits` to whether any
// do, and `factors` to those factors. `types` are the types of A, B and the output. Takes the time
// of 2^17 elements if the first factors fit, as they usually do, and at most that of 2^20. Returns
// 0 or a kernel's error code.
int find_folded_factors(const Quantization &quantization, const halide_type_t *types,
                        const Bytes &a, const Bytes &b, ComputeQuantizedAdd compute,
                        const void *context, FoldedFactors &factors, bool &fits);

}  // namespace hewn
