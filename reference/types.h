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

using reference::f16;

// A type's name in signatures, itself, its enumerator.
#define HEWN_EACH_TYPE(X) \
    X(f32, float, FLOAT32) \
    X(f16, f16, FLOAT16) \
    X(u64, uint64_t, UINT64) \
    X(u32, uint32_t, UINT32) \
    X(u16, uint16_t, UINT16) \
    X(u8, uint8_t, UINT8) \
    X(i64, int64_t, INT64) \
    X(i32, int32_t, INT32) \
    X(i16, int16_t, INT16) \
    X(i8, int8_t, INT8)

template<class T>
struct DataTypeOf;
#define HEWN_TYPE(name, T, number) \
    template<> \
    struct DataTypeOf<T> : std::integral_constant<hewn_data_type, HEWN_DATA_TYPE_##number> {};
HEWN_EACH_TYPE(HEWN_TYPE)
#undef HEWN_TYPE

// Calls f(T{}) for the one T of Ts that `type` stands for.
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

size_t element_bytes(hewn_data_type type);

// By the names that signatures have. Throw std::logic_error for others.
hewn_data_type parse_type(const std::string &name);
const char *type_name(hewn_data_type type);

// The unsigned type of the same width; the type itself where there is none.
hewn_data_type unsigned_twin(hewn_data_type type);

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
std::string text_of(T value);
std::string text_of(hewn_data_type type, const void *element);

}  // namespace hewn_test
