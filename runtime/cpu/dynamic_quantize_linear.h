// DYNAMIC_QUANTIZE_LINEAR on the CPU: one pass over the input finds its range, which gives the
// scale and the zero point; a second quantizes by them, with QUANTIZE_LINEAR's plan and forms.
#pragma once

#include <atomic>
#include <cstdint>

#include "../problem/passes.h"

namespace hewn {

// How far the elements of an execution reach below 0 and above it: the bits of magnitudes of the
// input's type, which are ordered as the numbers are. Slices raise them in any order.
struct Range {
    std::atomic<uint32_t> below{0}, above{0};
};

// Writes the outputs that follow from the range; null: not that one.
void write_parameters(const Problem &problem, const Range &range, void *scale, void *zero_point);

}  // namespace hewn
