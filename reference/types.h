// Data types by name, by enumerator and as C++ types.
#pragma once

#include <hewn/hewn.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "reference.h"

namespace hewn_test {

using reference::bf16, reference::f16, reference::i4, reference::u4, reference::i2, reference::u2;
using reference::f4e2m1, reference::f6e2m3, reference::f6e3m2, reference::f8e4m3fn,
    reference::f8e4m3fnuz, reference::f8e5m2, reference::f8e5m2fnuz, reference::f8e8m0,
    reference::is_small_float;

// X(name, type, enumerator) for each type: its name in signatures, the C++ type, its enumerator.
#define HEWN_EACH_TYPE(X) \
    X(f32, float, FLOAT32) \
    X(f16, f16, FLOAT16) \
    X(bf16, bf16, BFLOAT16) \
    X(u64, uint64_t, UINT64) \
    X(u32, uint32_t, UINT32) \
    X(u16, uint16_t, UINT16) \
    X(u8, uint8_t, UINT8) \
    X(i64, int64_t, INT64) \
    X(i32, int32_t, INT32) \
    X(i16, int16_t, INT16) \
    X(i8, int8_t, INT8) \
    X(f8e4m3fn, f8e4m3fn, FLOAT8E4M3FN) \
    X(f8e4m3fnuz, f8e4m3fnuz, FLOAT8E4M3FNUZ) \
    X(f8e5m2, f8e5m2, FLOAT8E5M2) \
    X(f8e5m2fnuz, f8e5m2fnuz, FLOAT8E5M2FNUZ) \
    X(f8e8m0, f8e8m0, FLOAT8E8M0) \
    X(i4, i4, INT4) \
    X(u4, u4, UINT4) \
    X(i2, i2, INT2) \
    X(u2, u2, UINT2) \
    X(f6e2m3, f6e2m3, FLOAT6E2M3) \
    X(f6e3m2, f6e3m2, FLOAT6E3M2) \
    X(f4e2m1, f4e2m1, FLOAT4E2M1)

// Wide floats have at least 16 bits, small ones at most 8.
template<class T>
inline constexpr bool is_wide_float =
    std::is_same_v<T, float> || std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
template<class T>
inline constexpr bool is_float = is_wide_float<T> || is_small_float<T>;

template<class T>
struct DataTypeOf;
#define HEWN_TYPE(name, T, number) \
    template<> \
    struct DataTypeOf<T> : std::integral_constant<hewn_data_type, HEWN_DATA_TYPE_##number> {};
HEWN_EACH_TYPE(HEWN_TYPE)
#undef HEWN_TYPE

// The bits of a sub-byte type; 0 for types of whole bytes.
template<class T>
inline constexpr int sub_byte_bits = 0;
template<int Bits, class T>
inline constexpr int sub_byte_bits<reference::Narrow<Bits, T>> = Bits;
#define HEWN_SMALL_FLOAT(word, name, numpy, bits, ...) \
    template<> \
    inline constexpr int sub_byte_bits<word> = bits < 8 ? bits : 0;
#include "types.inc"

// Calls f(T{}) for the T among Ts that `type` stands for. Throws std::logic_error if there is none.
template<class... Ts, class F>
void with_type(hewn_data_type type, F &&f) {
    const bool known = ((DataTypeOf<Ts>::value == type && (f(Ts{}), true)) || ...);
    if (!known) throw std::logic_error("no case for data type " + std::to_string(type));
}

template<class F>
void with_any_type(hewn_data_type type, F &&f) {
    switch (type) {
#define HEWN_TYPE(name, T, number) \
    case HEWN_DATA_TYPE_##number: f(T{}); return;
        HEWN_EACH_TYPE(HEWN_TYPE)
#undef HEWN_TYPE
    default: throw std::logic_error("no case for data type " + std::to_string(type));
    }
}

// Calls f(T{}) for the sub-byte type T. Throws std::logic_error for another type.
template<class F>
void with_sub_byte_type(hewn_data_type type, F &&f) {
    with_any_type(type, [&](auto tag) {
        if constexpr (constexpr int bits = sub_byte_bits<decltype(tag)>; bits > 0) f(tag);
        else throw std::logic_error("no sub-byte type " + std::to_string(type));
    });
}

// The bytes of one element; 1 for sub-byte types.
size_t element_bytes(hewn_data_type type);
// The bits of an element of a sub-byte type; 0 for types of whole bytes.
int sub_byte_bits_of(hewn_data_type type);
// The bytes of this many elements in a tensor.
uint64_t memory_bytes(hewn_data_type type, int64_t elements);

// A type from its name in signatures, and the name of a type. They throw std::logic_error if there
// is none.
hewn_data_type parse_type(const std::string &name);
const char *type_name(hewn_data_type type);

// The same for a type by its number; false for other numbers.
bool is_wide_float_type(hewn_data_type type);
// Whether kernels take the type as its code (`f8` in signatures): a small float, but not a scale.
bool is_code(hewn_data_type type);

// The unsigned type of the same width; the type itself if there is none.
hewn_data_type unsigned_twin(hewn_data_type type);
// The type of 8 bits as which kernels take a sub-byte type: i8, u8 or, for all small floats,
// f8e4m3fn.
hewn_data_type byte_of(hewn_data_type packed);

template<class T>
T load(const void *memory) {
    T value;
    std::memcpy(&value, memory, sizeof value);
    return value;
}

template<class T>
void store(void *memory, T value) {
    std::memcpy(memory, &value, sizeof value);
}

// The integer or small float that has the lowest of these bits.
template<class T>
T from_lowest(uint64_t bits) {
    if constexpr (is_small_float<T>) return {uint8_t(bits & ((1u << T::format.bits) - 1))};
    else return T(bits);
}

// Element `index` of a tensor that begins at `memory`. An element of 6 bits may lie in two bytes.
template<class T>
T element(const void *memory, int64_t index) {
    if constexpr (constexpr int bits = sub_byte_bits<T>; bits > 0) {
        const uint8_t *const byte = static_cast<const uint8_t *>(memory) + index * bits / 8;
        const int shift = int(index * bits % 8);
        int value = byte[0] >> shift;
        if (shift + bits > 8) value |= byte[1] << (8 - shift);
        return from_lowest<T>(uint64_t(value));
    } else {
        return load<T>(static_cast<const uint8_t *>(memory) + index * int64_t(sizeof(T)));
    }
}

template<class T>
void set_element(void *memory, int64_t index, T value) {
    if constexpr (constexpr int bits = sub_byte_bits<T>; bits > 0) {
        uint8_t *const byte = static_cast<uint8_t *>(memory) + index * bits / 8;
        const int shift = int(index * bits % 8), mask = ((1 << bits) - 1) << shift;
        int moved;
        if constexpr (is_small_float<T>) moved = value.bits << shift;
        else moved = int(uint8_t(value)) << shift;
        byte[0] = uint8_t((byte[0] & ~mask) | (moved & mask));
        if (shift + bits > 8) byte[1] = uint8_t((byte[1] & ~(mask >> 8)) | (moved & mask) >> 8);
    } else {
        store(static_cast<uint8_t *>(memory) + index * int64_t(sizeof(T)), value);
    }
}

template<class T>
std::string text_of(T value);
// The text of element `index` of a tensor that begins at `memory`.
std::string text_of(hewn_data_type type, const void *memory, int64_t index);

}  // namespace hewn_test
