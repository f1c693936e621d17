// Elements of less than a byte: the first lies in a byte's lowest bits. Kernels compute with bytes,
// so that a slice brings them to and from its scratch memory.
#pragma once

#include <cstdint>

#include "../problem/shape.h"

namespace hewn {

// Packed elements in memory, by their index from `memory` on.
struct PackedElements {
    uint8_t *memory;
    Packing packing;
};

// to[i] = element first + i * step, with its sign, for i < count.
void unpack(const PackedElements &elements, int64_t first, int64_t step, int64_t count,
            uint8_t *to);

// Element first + i * step = from[i], clamped to the type's range, for i < count. What else is in
// their bytes stays, but bits behind element `end` - 1, the memory's last, become 0.
void pack(const PackedElements &elements, int64_t first, int64_t step, int64_t count, int64_t end,
          const uint8_t *from);

}  // namespace hewn
