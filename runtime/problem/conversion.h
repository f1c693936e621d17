// Conversions: data types whose elements kernels take as another type, such as u4 as u8.
#pragma once

#include <hewn/hewn.h>

#include <cstdint>

namespace hewn {

// A type as which elements are stored, and the type as which kernels take them. A CPU converts the
// elements between a tensor and scratch memory (cpu/convert.h). A GPU converts them by passes of
// their own (gpu/plan.cpp).
struct Conversion {
    hewn_data_type stored, taken;
    uint8_t bits;  // of one stored element
    bool is_signed;

    // Whether several elements share a byte. The first one is then in the lowest bits.
    constexpr bool shares_bytes() const { return bits < 8; }
    // The least number of elements that fill whole bytes, a power of two, and these bytes. The
    // elements of 6 bits do so four at a time, in 3 bytes; some of them lie in two bytes.
    constexpr int group() const { return bits == 4 ? 2 : shares_bytes() ? 4 : 1; }
    constexpr int group_bytes() const { return group() * bits / 8; }
};

// Sub-byte types are always converted; the other types only where the kernel takes f32 instead.
//
// Small floats are taken as their codes. The type FLOAT8E4M3FN stands for all of them there: it
// only says that the kernel gets a byte, which has the code in its lowest bits.
inline constexpr Conversion kConversions[] = {
    {HEWN_DATA_TYPE_UINT4, HEWN_DATA_TYPE_UINT8, 4, false},
    {HEWN_DATA_TYPE_INT4, HEWN_DATA_TYPE_INT8, 4, true},
    {HEWN_DATA_TYPE_UINT2, HEWN_DATA_TYPE_UINT8, 2, false},
    {HEWN_DATA_TYPE_INT2, HEWN_DATA_TYPE_INT8, 2, true},
    {HEWN_DATA_TYPE_FLOAT4E2M1, HEWN_DATA_TYPE_FLOAT8E4M3FN, 4, false},
    {HEWN_DATA_TYPE_FLOAT6E2M3, HEWN_DATA_TYPE_FLOAT8E4M3FN, 6, false},
    {HEWN_DATA_TYPE_FLOAT6E3M2, HEWN_DATA_TYPE_FLOAT8E4M3FN, 6, false},
    {HEWN_DATA_TYPE_FLOAT16, HEWN_DATA_TYPE_FLOAT32, 16, true},
    {HEWN_DATA_TYPE_BFLOAT16, HEWN_DATA_TYPE_FLOAT32, 16, true},
    {HEWN_DATA_TYPE_FLOAT8E8M0, HEWN_DATA_TYPE_FLOAT32, 8, false},
    {HEWN_DATA_TYPE_FLOAT8E4M3FN, HEWN_DATA_TYPE_FLOAT32, 8, false},  // NVFP4's scales
    {HEWN_DATA_TYPE_INT32, HEWN_DATA_TYPE_FLOAT32, 32, true},
};
constexpr int kConversionCount = sizeof kConversions / sizeof kConversions[0];

// Returns the conversion of a stored type; null if kernels take the type as it is stored.
constexpr const Conversion *conversion_of(hewn_data_type stored) {
    for (const Conversion &conversion : kConversions)
        if (conversion.stored == stored) return &conversion;
    return nullptr;
}

}  // namespace hewn
