// Data types by name, by enumerator and as C++ types.
#ifndef HEWN_TESTS_TYPES_H
#define HEWN_TESTS_TYPES_H

#include <hewn/hewn.h>

#include <cstring>
#include <iomanip>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "reference.h"

namespace hewn_test {

using reference::f16;

template<class T>
struct DataTypeOf;
template<>
struct DataTypeOf<float> : std::integral_constant<hewn_data_type, HEWN_DATA_TYPE_FLOAT32> {};
template<>
struct DataTypeOf<f16> : std::integral_constant<hewn_data_type, HEWN_DATA_TYPE_FLOAT16> {};
template<>
struct DataTypeOf<uint64_t> : std::integral_constant<hewn_data_type, HEWN_DATA_TYPE_UINT64> {};
template<>
struct DataTypeOf<uint32_t> : std::integral_constant<hewn_data_type, HEWN_DATA_TYPE_UINT32> {};
template<>
struct DataTypeOf<uint16_t> : std::integral_constant<hewn_data_type, HEWN_DATA_TYPE_UINT16> {};
template<>
struct DataTypeOf<uint8_t> : std::integral_constant<hewn_data_type, HEWN_DATA_TYPE_UINT8> {};
template<>
struct DataTypeOf<int64_t> : std::integral_constant<hewn_data_type, HEWN_DATA_TYPE_INT64> {};
template<>
struct DataTypeOf<int32_t> : std::integral_constant<hewn_data_type, HEWN_DATA_TYPE_INT32> {};
template<>
struct DataTypeOf<int16_t> : std::integral_constant<hewn_data_type, HEWN_DATA_TYPE_INT16> {};
template<>
struct DataTypeOf<int8_t> : std::integral_constant<hewn_data_type, HEWN_DATA_TYPE_INT8> {};

// Calls f(T{}) for the one T of Ts that `type` stands for.
template<class... Ts, class F>
void with_type(hewn_data_type type, F &&f) {
    const bool known = ((DataTypeOf<Ts>::value == type && (f(Ts{}), true)) || ...);
    if (!known) throw std::logic_error("no case for data type " + std::to_string(type));
}

template<class F>
void with_any_type(hewn_data_type type, F &&f) {
    with_type<float, f16, uint64_t, uint32_t, uint16_t, uint8_t, int64_t, int32_t, int16_t, int8_t>(type, f);
}

inline size_t element_bytes(hewn_data_type type) {
    size_t bytes = 0;
    with_any_type(type, [&](auto tag) { bytes = sizeof(tag); });
    return bytes;
}

// As signatures name them.
inline constexpr std::pair<const char *, hewn_data_type> TYPE_NAMES[] = {
    {"f32", HEWN_DATA_TYPE_FLOAT32}, {"f16", HEWN_DATA_TYPE_FLOAT16}, {"u64", HEWN_DATA_TYPE_UINT64},
    {"u32", HEWN_DATA_TYPE_UINT32},  {"u16", HEWN_DATA_TYPE_UINT16},  {"u8", HEWN_DATA_TYPE_UINT8},
    {"i64", HEWN_DATA_TYPE_INT64},   {"i32", HEWN_DATA_TYPE_INT32},   {"i16", HEWN_DATA_TYPE_INT16},
    {"i8", HEWN_DATA_TYPE_INT8}};

inline hewn_data_type parse_type(const std::string &name) {
    for (const auto &[text, type] : TYPE_NAMES) {
        if (name == text) return type;
    }
    throw std::logic_error("no data type is called " + name);
}

inline const char *type_name(hewn_data_type type) {
    for (const auto &[text, named] : TYPE_NAMES) {
        if (type == named) return text;
    }
    throw std::logic_error("no name for data type " + std::to_string(type));
}

// The unsigned type of the same width; the type itself where there is none.
inline hewn_data_type unsigned_twin(hewn_data_type type) {
    switch (type) {
    case HEWN_DATA_TYPE_INT64: return HEWN_DATA_TYPE_UINT64;
    case HEWN_DATA_TYPE_INT32: return HEWN_DATA_TYPE_UINT32;
    case HEWN_DATA_TYPE_INT16: return HEWN_DATA_TYPE_UINT16;
    case HEWN_DATA_TYPE_INT8: return HEWN_DATA_TYPE_UINT8;
    default: return type;
    }
}

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

template<class T>
std::string text_of(T value) {
    std::ostringstream text;
    if constexpr (std::is_same_v<T, f16>)
        text << std::setprecision(9) << reference::to_f32(value) << " (0x" << std::hex << value.bits << ")";
    else if constexpr (std::is_same_v<T, float>)
        text << std::setprecision(9) << value << " (0x" << std::hex << reference::to_bits(value) << ")";
    else text << +value;
    return text.str();
}

inline std::string text_of(hewn_data_type type, const void *element) {
    std::string text;
    with_any_type(type, [&](auto tag) { text = text_of(load<decltype(tag)>(element)); });
    return text;
}

}  // namespace hewn_test

#endif  // HEWN_TESTS_TYPES_H
