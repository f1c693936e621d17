// Conversions (problem/conversion.h) on the CPU: between a tensor, where elements are stored, and
// the scratch memory of a slice, where elements are as the kernel takes them.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "../problem/operators.h"

namespace hewn {

// The words of operators.inc for types. A word is 1 if the type is a sub-byte type.
namespace converted_words {
constexpr bool none = false;
#define HEWN_TYPE(word, name, number, bits) [[maybe_unused]] constexpr bool word = bits < 8;
#include "types.inc"
constexpr bool any(std::initializer_list<int> types) {
    for (const int converted : types)
        if (converted) return true;
    return false;
}
// Whether this build has an operator that takes sub-byte types, mixed floats, or floats that are
// converted to f32. If not, a program need not link the functions below.
#define HEWN_TENSOR(name, member, role, like, integers, optional_from, one_element, blocks, \
                    middle, mixed, others) \
    || (mixed && kHasOwnLevel)
#define HEWN_LEVEL(level, least, most, ...) || (level <= kBuiltLevel && any({__VA_ARGS__}))
#define HEWN_OPERATOR(name, kernels, type, dml_name, command, formula, onnx, in_place, wraps, \
                      one_width, as_f32, signature, tensors, levels) \
    || (is_built(#kernels) && ((std::string_view(#as_f32) != "none" && kHasOwnLevel) \
                                   HEWN_UNPACK tensors HEWN_UNPACK levels))
#define HEWN_UNPACK(...) __VA_ARGS__
constexpr bool kTaken = false
#include "operators.inc"
    ;
#undef HEWN_UNPACK
}  // namespace converted_words

// Elements as they are stored. Their indices count from the element at `memory` on.
struct StoredElements {
    uint8_t *memory;
    const Conversion *conversion;
};

// Sets to[i] = element first + i * step, converted for the kernel, for i < count.
void load_converted(const StoredElements &elements, int64_t first, int64_t step, int64_t count,
                    uint8_t *to);

// Sets element first + i * step = from[i] for i < count. A value is clamped to the type's range, or
// rounded to nearest even. Other elements in the same bytes are kept, but bits after the memory's
// last element, number end - 1, become 0.
void store_converted(const StoredElements &elements, int64_t first, int64_t step, int64_t count,
                     int64_t end, const uint8_t *from);

}  // namespace hewn
