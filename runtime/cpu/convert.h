// Conversions (problem/conversion.h) on the CPU: between a tensor, where elements are stored, and a
// slice's scratch memory, where they are as the kernel takes them.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "../problem/operators.h"

namespace hewn {

// The table's words: 1 of a type of less than a byte.
namespace converted_words {
constexpr bool none = false;
#define HEWN_TYPE(word, name, number, bits) [[maybe_unused]] constexpr bool word = bits < 8;
#include "types.inc"
constexpr bool any(std::initializer_list<int> types) {
    for (const int converted : types)
        if (converted) return true;
    return false;
}
// Whether this build has an operator that takes such types, or mixed floats. Others need not link
// what follows.
#define HEWN_TENSOR(name, member, role, like, integers, optional_from, one_element, blocks, \
                    middle, mixed) \
    || (mixed && kBuiltLevel >= HEWN_FEATURE_LEVEL_HEWN)
#define HEWN_LEVEL(level, least, most, ...) || (level <= kBuiltLevel && any({__VA_ARGS__}))
#define HEWN_OPERATOR(name, kernels, type, dml_name, command, formula, onnx, in_place, wraps, \
                      one_width, signature, tensors, levels) \
    || (is_built(#kernels) && (false HEWN_UNPACK tensors HEWN_UNPACK levels))
#define HEWN_UNPACK(...) __VA_ARGS__
constexpr bool kTaken = false
#include "operators.inc"
    ;
#undef HEWN_UNPACK
}  // namespace converted_words

// Elements in memory, by their index from `memory` on.
struct StoredElements {
    uint8_t *memory;
    const Conversion *conversion;
};

// to[i] = element first + i * step, as the kernel takes it, for i < count.
void load_converted(const StoredElements &elements, int64_t first, int64_t step, int64_t count,
                    uint8_t *to);

// Element first + i * step = from[i], clamped to the type's range or rounded to nearest even, for
// i < count. What else is in their bytes stays, but bits behind element `end` - 1, the memory's
// last, become 0.
void store_converted(const StoredElements &elements, int64_t first, int64_t step, int64_t count,
                     int64_t end, const uint8_t *from);

}  // namespace hewn
