#include "types.h"

#include <iomanip>
#include <sstream>
#include <utility>

namespace hewn_test {
namespace {

// The names that types have in signatures.
constexpr std::pair<const char *, hewn_data_type> TYPE_NAMES[] = {
#define HEWN_TYPE(name, T, number) {#name, HEWN_DATA_TYPE_##number},
    HEWN_EACH_TYPE(HEWN_TYPE)
#undef HEWN_TYPE
};

}  // namespace

size_t element_bytes(hewn_data_type type) {
    size_t bytes = 0;
    with_any_type(type, [&](auto tag) { bytes = sizeof(tag); });
    return bytes;
}

int sub_byte_bits_of(hewn_data_type type) {
    int bits = 0;
    with_any_type(type, [&](auto tag) { bits = sub_byte_bits<decltype(tag)>; });
    return bits;
}

uint64_t memory_bytes(hewn_data_type type, int64_t elements) {
    const int bits = sub_byte_bits_of(type);
    return bits > 0 ? (uint64_t(elements) * uint64_t(bits) + 7) / 8
                    : uint64_t(elements) * element_bytes(type);
}

bool is_wide_float_type(hewn_data_type type) {
#define HEWN_TYPE(name, T, number) \
    if (type == HEWN_DATA_TYPE_##number) return is_wide_float<T>;
    HEWN_EACH_TYPE(HEWN_TYPE)
#undef HEWN_TYPE
    return false;
}

bool is_code(hewn_data_type type) {
#define HEWN_SMALL_FLOAT(word, name, numpy, bits, mantissa, bias, largest, nan, sign) \
    if (type == HEWN_DATA_TYPE_##name) return sign != 0;
#include "types.inc"
    return false;
}

hewn_data_type parse_type(const std::string &name) {
    if (name == "f8") return HEWN_DATA_TYPE_FLOAT8E4M3FN;  // it stands for all that are codes
    for (const auto &[text, type] : TYPE_NAMES) {
        if (name == text) return type;
    }
    throw std::logic_error("no data type is called " + name);
}

const char *type_name(hewn_data_type type) {
    for (const auto &[text, named] : TYPE_NAMES) {
        if (type == named) return text;
    }
    throw std::logic_error("no name for data type " + std::to_string(type));
}

hewn_data_type byte_of(hewn_data_type packed) {
    switch (*type_name(packed)) {
    case 'f': return HEWN_DATA_TYPE_FLOAT8E4M3FN;
    case 'i': return HEWN_DATA_TYPE_INT8;
    default: return HEWN_DATA_TYPE_UINT8;
    }
}

hewn_data_type unsigned_twin(hewn_data_type type) {
    switch (type) {
    case HEWN_DATA_TYPE_INT64: return HEWN_DATA_TYPE_UINT64;
    case HEWN_DATA_TYPE_INT32: return HEWN_DATA_TYPE_UINT32;
    case HEWN_DATA_TYPE_INT16: return HEWN_DATA_TYPE_UINT16;
    case HEWN_DATA_TYPE_INT8: return HEWN_DATA_TYPE_UINT8;
    default: return type;
    }
}

template<class T>
std::string text_of(T value) {
    std::ostringstream text;
    if constexpr (std::is_same_v<T, float>)
        text << std::setprecision(9) << value << " (0x" << std::hex << reference::to_bits(value)
             << ")";
    else if constexpr (is_float<T>)
        text << std::setprecision(9) << reference::to_f32(value) << " (0x" << std::hex
             << int(value.bits) << ")";
    else text << +value;
    return text.str();
}

#define HEWN_TYPE(name, T, number) template std::string text_of(T);
HEWN_EACH_TYPE(HEWN_TYPE)
#undef HEWN_TYPE

std::string text_of(hewn_data_type type, const void *memory, int64_t index) {
    std::string text;
    with_any_type(type, [&](auto tag) { text = text_of(element<decltype(tag)>(memory, index)); });
    return text;
}

}  // namespace hewn_test
