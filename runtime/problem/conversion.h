// Types whose elements kernels take as another type.
#pragma once

#include <hewn/hewn.h>

#include <cstdint>

namespace hewn {

// Elements that are stored as one type and taken by kernels as another. A CPU converts them between
// a tensor and scratch memory (cpu/convert.h), a GPU by passes of their own (gpu/plan.cpp).
struct Conversion {
    hewn_data_type stored, taken;
    uint8_t bits;  // of a stored element
    bool is_signed;

    // Several elements share a byte, the first one in its lowest bits.
    constexpr bool shares_bytes() const { return bits < 8; }
    constexpr int in_a_byte() const { return shares_bytes() ? 8 / bits : 1; }
};

// The types of less than a byte always are; f16 and i32 where the kernel takes f32.
inline constexpr Conversion kConversions[] = {
    {HEWN_DATA_TYPE_UINT4, HEWN_DATA_TYPE_UINT8, 4, false},
    {HEWN_DATA_TYPE_INT4, HEWN_DATA_TYPE_INT8, 4, true},
    {HEWN_DATA_TYPE_UINT2, HEWN_DATA_TYPE_UINT8, 2, false},
    {HEWN_DATA_TYPE_INT2, HEWN_DATA_TYPE_INT8, 2, true},
    {HEWN_DATA_TYPE_FLOAT16, HEWN_DATA_TYPE_FLOAT32, 16, true},
    {HEWN_DATA_TYPE_INT32, HEWN_DATA_TYPE_FLOAT32, 32, true},
};
constexpr int kConversionCount = sizeof kConversions / sizeof kConversions[0];

// The one from that type; null: kernels take it as it is stored.
constexpr const Conversion *conversion_of(hewn_data_type stored) {
    for (const Conversion &conversion : kConversions)
        if (conversion.stored == stored) return &conversion;
    return nullptr;
}

}  // namespace hewn
