// Searches for folded factors by trying all pairs of inputs with the operator's own kernels.
#include "folding.h"

#include <HalideRuntime.h>

#include "../base/bits.h"

namespace hewn {

namespace {

constexpr int kValues = 256;  // the values of 8 bits
constexpr int kRows = 16;     // rows that are computed together, of kValues pairs each

// Returns the float that is `steps` steps farther from 0; 0 stays 0.
float stepped(float value, int steps) {
    return value == 0 ? value : float_of(bits_of(value) + uint32_t(steps));
}

}  // namespace

Bytes all_bytes() {
    Bytes all;
    for (int i = 0; i < kValues; i++) all.value[i] = uint8_t(i);
    return all;
}

Bytes bytes_in(const void *memory, uint64_t size) {
    bool present[kValues] = {};
    for (uint64_t i = 0; i < size; i++) present[static_cast<const uint8_t *>(memory)[i]] = true;
    Bytes bytes = {};
    for (int i = 0, last = 0; i < kValues; i++) {
        if (present[i]) last = i;
        bytes.value[i] = uint8_t(last);
    }
    return bytes;
}

int find_folded_factors(const Quantization &quantization, const halide_type_t *types,
                        const Bytes &a, const Bytes &b, ComputeQuantizedAdd compute,
                        const void *context, FoldedFactors &factors, bool &fits) {
    const float *const scale = quantization.scale;
    const int32_t *const zero_point = quantization.zero_point;
    FoldedFactors nearest;
    nearest.a = float(double(scale[0]) / double(scale[2]));
    nearest.b = float(double(scale[1]) / double(scale[2]));
    nearest.offset = float(-double(zero_point[0]) * double(nearest.a) -
                           double(zero_point[1]) * double(nearest.b));

    alignas(64) uint8_t rows[kRows * kValues], columns[kValues], expected[kRows * kValues],
        folded[kRows * kValues];
    std::memcpy(columns, b.value, sizeof columns);
    uint8_t *const hosts[3] = {rows, columns, nullptr};
    halide_dimension_t dims[3][2];
    halide_buffer_t operands[3] = {};
    for (int o = 0; o < 3; o++) {
        dims[o][0] = {0, kValues, 1, 0};
        dims[o][1] = {0, kRows, o == 1 ? 0 : kValues, 0};
        operands[o].type = types[o];
        operands[o].dimensions = 2;
        operands[o].dim = dims[o];
        operands[o].host = hosts[o];
    }

    // The trials: steps from the nearest factor of A, of B, and from the nearest offset.
    // docs/numerics.md tells how often the first trial fits and how often any of the seven does.
    constexpr int kSteps[][3] = {{0, 0, 0},  {0, 0, 1}, {0, 0, -1}, {0, 1, 0},
                                 {0, -1, 0}, {1, 0, 0}, {-1, 0, 0}};
    constexpr int kParts = kValues / kRows;
    // The next trial begins with the part in which the previous one differed, because it may differ
    // there too.
    int first = 0;
    for (const int(&steps)[3] : kSteps) {
        factors = {stepped(nearest.a, steps[0]), stepped(nearest.b, steps[1]),
                   stepped(nearest.offset, steps[2])};
        fits = true;
        for (int i = 0; i < kParts && fits; i++) {
            const int part = (first + i) % kParts;
            for (int row = 0; row < kRows; row++)
                std::memset(rows + row * kValues, a.value[part * kRows + row], kValues);
            for (uint8_t *result : {expected, folded}) {
                operands[2].host = result;
                if (const int code =
                        compute(context, operands, result == folded ? &factors : nullptr))
                    return code;
            }
            fits = std::memcmp(expected, folded, sizeof folded) == 0;
            if (!fits) first = part;
        }
        if (fits) break;
    }
    return 0;
}

}  // namespace hewn
