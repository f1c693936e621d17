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
    HEWN_EACH_SUB_BYTE_TYPE(X)
// The types of which several elements share a byte in memory.
#define HEWN_EACH_SUB_BYTE_TYPE(X) \
    X(i4, i4, INT4) \
    X(u4, u4, UINT4) \
    X(i2, i2, INT2) \
    X(u2, u2, UINT2)

template<class T>
inline constexpr bool is_float =
    std::is_same_v<T, float> || std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

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
#define HEWN_TYPE(name, T, number) \
    template<> \
    inline constexpr int sub_byte_bits<T> = T::bits;
HEWN_EACH_SUB_BYTE_TYPE(HEWN_TYPE)
#undef HEWN_TYPE

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

// Whether it is one of the float types above.
bool is_float_type(hewn_data_type type);

// The unsigned type of the same width; the type itself if there is none.
hewn_data_type unsigned_twin(hewn_data_type type);
// The 8-bit type with the signedness of a sub-byte type: i8 or u8.
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

// Element `index` of a tensor that begins at `memory`.
template<class T>
T element(const void *memory, int64_t index) {
    if constexpr (constexpr int bits = sub_byte_bits<T>; bits > 0) {
        const int64_t in_a_byte = 8 / bits;
        return T(static_cast<const uint8_t *>(memory)[index / in_a_byte] >>
                 (index % in_a_byte * bits));
    } else {
        return load<T>(static_cast<const uint8_t *>(memory) + index * int64_t(sizeof(T)));
    }
}

template<class T>
void set_element(void *memory, int64_t index, T value) {
    if constexpr (constexpr int bits = sub_byte_bits<T>; bits > 0) {
        const int64_t in_a_byte = 8 / bits;
        const int shift = int(index % in_a_byte) * bits, mask = (1 << bits) - 1;
        uint8_t &byte = static_cast<uint8_t *>(memory)[index / in_a_byte];
        byte = uint8_t((byte & ~(mask << shift)) | (int(value) & mask) << shift);
    } else {
        store(static_cast<uint8_t *>(memory) + index * int64_t(sizeof(T)), value);
    }
}

template<class T>
std::string text_of(T value);
// The text of element `index` of a tensor that begins at `memory`.
std::string text_of(hewn_data_type type, const void *memory, int64_t index);

}  // namespace hewn_test
