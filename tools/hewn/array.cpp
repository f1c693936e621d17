#include "array.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include "../../reference/types.h"
#include "names.h"

namespace hewn::cli {

namespace {
struct TypeInfo {
    DataType type;
    std::string_view name;
    size_t bits;
};
constexpr TypeInfo TYPES[] = {
#define HEWN_TYPE(word, name, number, bits) {DataType::name, #word, bits},
#include "types.inc"
};

const TypeInfo &type_info(DataType type) {
    for (const TypeInfo &info : TYPES)
        if (info.type == type) return info;
    throw std::logic_error("a data type without a name");
}

// The numbers of a small float; null for other types.
const reference::SmallFloat *small_float(DataType type) {
#define HEWN_SMALL_FLOAT(word, name, ...) \
    if (type == DataType::name) return &reference::word::format;
#include "types.inc"
    return nullptr;
}

template<class T>
void store_integer(const std::string &text, Array &array, const std::string &option) {
    // from_chars does not take a leading '+'.
    const char *begin = text.c_str() + (text[0] == '+'), *end = text.c_str() + text.size();
    T value{};
    const auto [stop, error] = std::from_chars(begin, end, value);
    const std::string range = std::to_string(+std::numeric_limits<T>::min()) + ".." +
                              std::to_string(+std::numeric_limits<T>::max());
    if (error == std::errc::result_out_of_range || (std::is_unsigned_v<T> && text[0] == '-'))
        throw InputError(option + ": " + text + " is outside " +
                         std::string(type_name(array.type)) + "'s range " + range);
    if (error != std::errc() || stop != end)
        throw InputError(option + ": " + text + " is not an integer, but its type is " +
                         std::string(type_name(array.type)) + ", " + range);
    *array.as<T>() = value;
}

void store_small_float(const std::string &text, Array &array, const std::string &option) {
    const reference::SmallFloat &format = *small_float(array.type);
    const double exact = std::strtod(text.c_str(), nullptr);
    const uint8_t code = reference::code_of_value(format, exact, /*saturate=*/false);
    const double value = reference::value_of_code(format, code);
    if (value != exact && !(std::isnan(value) && std::isnan(exact)))
        throw InputError(option + ": " + text + " is no number of " +
                         std::string(type_name(array.type)));
    *array.as<uint8_t>() = code;
}
}  // namespace

std::string_view type_name(DataType type) { return type_info(type).name; }

std::vector<std::string> type_names() {
    std::vector<std::string> names;
    for (const TypeInfo &info : TYPES) {
        names.emplace_back(info.name);
        names.push_back(numpy_name(info.name));
    }
    return names;
}

std::optional<DataType> type_from_name(std::string_view name) {
    for (const TypeInfo &info : TYPES)
        if (info.name == name || numpy_name(info.name) == name) return info.type;
    return std::nullopt;
}

size_t type_bits(DataType type) { return type_info(type).bits; }
size_t type_bytes(DataType type) { return std::max<size_t>(type_bits(type) / 8, 1); }

bool is_sub_byte(DataType type) { return type_bits(type) < 8; }

DataType file_type(DataType type) {
    if (!is_sub_byte(type)) return type;
    return DataType(hewn_test::byte_of(hewn_data_type(type)));
}

bool is_float(DataType type) {
    return type == DataType::FLOAT32 || type == DataType::FLOAT16 || type == DataType::BFLOAT16 ||
           type == DataType::FLOAT64 || is_small_float(type);
}

bool is_small_float(DataType type) { return small_float(type) != nullptr; }

uint16_t f16_from_double(double value) {
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const double magnitude = std::fabs(value);
    if (std::isnan(value)) return sign | 0x7e00;
    if (magnitude >= 65520) return sign | 0x7c00;
    // Subnormal results are multiples of 2^-24. A result that rounds to 1024 of them has the bits
    // of the smallest normal number, as it should.
    if (magnitude < 0x1p-14) return sign | uint16_t(std::nearbyint(magnitude * 0x1p24));
    int exponent;
    const double fraction = std::frexp(magnitude, &exponent);  // in [0.5, 1)
    // The fraction is rounded to 11 significant bits. The highest one is implicit in f16 and is
    // subtracted. If rounding carries, the carry moves into the exponent, as it should.
    return sign | uint16_t(((exponent + 14) << 10) + int(std::nearbyint(fraction * 2048)) - 1024);
}

uint16_t bf16_from_double(double value) {
    if (std::isnan(value)) return 0x7fc0;
    // Rounds to f32 "to odd" first: the last bit is 1 if any bits were cut off. So the second step
    // sees that the value is not a tie, and the result is as if it was rounded once.
    float nearest = float(value);
    uint32_t bits;
    std::memcpy(&bits, &nearest, sizeof bits);
    if (double(nearest) != value && !(bits & 1)) {
        const bool away = std::fabs(double(nearest)) > std::fabs(value);
        bits = away ? bits - 1 : bits | 1;
    }
    return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

double double_from_bf16(uint16_t bits) {
    const uint32_t wide = uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    return value;
}

double double_from_f16(uint16_t bits) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
    const double magnitude = exponent == 31 ? (mantissa ? std::numeric_limits<double>::quiet_NaN()
                                                        : std::numeric_limits<double>::infinity())
                             : exponent     ? std::ldexp(mantissa + 1024, exponent - 25)
                                            : std::ldexp(mantissa, -24);
    return bits & 0x8000 ? -magnitude : magnitude;
}

std::string to_string(const Sizes &sizes) {
    std::string text = "[";
    for (size_t i = 0; i < sizes.size(); i++) text += (i ? ", " : "") + std::to_string(sizes[i]);
    return text + "]";
}

std::optional<int64_t> element_count(const Sizes &sizes) {
    if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return 0;
    int64_t count = 1;
    for (int64_t size : sizes) {
        if (size < 0 || count > std::numeric_limits<int64_t>::max() / size) return std::nullopt;
        count *= size;
    }
    return count;
}

Sizes contiguous_strides(const Sizes &sizes) {
    Sizes strides(sizes.size(), 0);
    if (element_count(sizes).value_or(0) == 0) return strides;
    int64_t stride = 1;
    for (size_t i = sizes.size(); i-- > 0; stride *= sizes[i]) strides[i] = stride;
    return strides;
}

Array Array::allocate(std::string name, DataType type, Sizes sizes) {
    const std::optional<int64_t> count = element_count(sizes);
    const int64_t element = int64_t(type_bytes(type));
    if (!count || *count > std::numeric_limits<int64_t>::max() / element)
        throw InputError(name + ": the product of the sizes " + to_string(sizes) + " overflows");
    Array array;
    array.bytes = is_sub_byte(type) ? (uint64_t(*count) * type_info(type).bits + 7) / 8
                                    : uint64_t(*count * element);
    if (array.bytes > std::numeric_limits<size_t>::max() / 2)
        throw MemoryError(name + ": does not fit into memory");
    // The bytes are not initialised, because they are about to be read or computed. The spare byte
    // gives an empty tensor a valid pointer.
    std::byte *data = new (std::nothrow) std::byte[size_t(array.bytes) + 1];
    if (!data)
        throw MemoryError(name + ": out of memory for " + std::to_string(array.bytes) + " bytes");
    array.data.reset(data);
    array.name = std::move(name);
    array.type = type;
    array.strides = contiguous_strides(sizes);
    array.sizes = std::move(sizes);
    return array;
}

std::string Array::describe() const {
    return std::string(type_name(type)) + " " + to_string(sizes);
}

Array Array::to_file_type() const {
    if (!is_sub_byte(type)) return *this;
    Array result = allocate(name, file_type(type), sizes);
    result.strides = strides;
    hewn_test::with_sub_byte_type(hewn_data_type(type), [&](auto tag) {
        for (int64_t i = 0, n = count(); i < n; i++) {
            const auto value = hewn_test::element<decltype(tag)>(as<uint8_t>(), i);
            std::memcpy(result.as<uint8_t>() + i, &value, 1);
        }
    });
    return result;
}

Array Array::to_packed(DataType packed) const {
    if (!is_sub_byte(packed)) return *this;
    Array result = allocate(name, packed, sizes);
    result.strides = strides;  // which may be those of Fortran's order
    std::fill_n(result.as<uint8_t>(), result.bytes, uint8_t(0));
    hewn_test::with_sub_byte_type(hewn_data_type(packed), [&](auto tag) {
        using T = decltype(tag);
        int least = 0, most = (1 << type_bits(packed)) - 1;
        if constexpr (!hewn_test::is_small_float<T>)
            least = reference::Limits<T>::min, most = reference::Limits<T>::max;
        for (int64_t i = 0, n = count(); i < n; i++) {
            const int value = least < 0 ? as<int8_t>()[i] : as<uint8_t>()[i];
            if (value < least || value > most)
                throw InputError(name + ": element " + std::to_string(i) + " is " +
                                 std::to_string(value) + ", " + std::string(type_name(packed)) +
                                 "'s range is " + std::to_string(least) + ".." +
                                 std::to_string(most));
            T element;
            std::memcpy(&element, as<uint8_t>() + i, 1);
            hewn_test::set_element(result.as<uint8_t>(), i, element);
        }
    });
    return result;
}

Sizes broadcast_sizes(const Array &a, const char *a_tensor, const Array &b, const char *b_tensor) {
    const Array &longer = a.sizes.size() >= b.sizes.size() ? a : b,
                &shorter = &longer == &a ? b : a;
    Sizes sizes = longer.sizes;
    const size_t skip = longer.sizes.size() - shorter.sizes.size();
    for (size_t i = 0; i < shorter.sizes.size(); i++) {
        int64_t &size = sizes[skip + i];
        if (size == shorter.sizes[i] || shorter.sizes[i] == 1) continue;
        if (size != 1)
            throw InputError(std::string(a_tensor) + " (" + a.name + ") has sizes " +
                             to_string(a.sizes) + " and " + b_tensor + " (" + b.name + ") " +
                             to_string(b.sizes) +
                             ": neither equal nor broadcastable (NumPy's rule: sizes, aligned at "
                             "the last, are equal or 1)");
        size = shorter.sizes[i];
    }
    return sizes;
}

TensorDesc broadcast_to(const Array &array, const Sizes &sizes, std::string_view tensor) {
    const auto fail = [&] {
        throw InputError(std::string(tensor) + " (" + array.name + ") has sizes " +
                         to_string(array.sizes) + ", which do not broadcast to " +
                         to_string(sizes) +
                         " (NumPy's rule: sizes, aligned at the last, are equal or 1)");
    };
    TensorDesc desc{array.type, sizes, Sizes(sizes.size(), 0)};
    for (size_t back = 1; back <= array.sizes.size(); back++) {
        const int64_t size = array.sizes[array.sizes.size() - back];
        if (back > sizes.size()) {
            if (size != 1) fail();  // more dimensions are allowed if they have size 1
            continue;
        }
        if (size == sizes[sizes.size() - back])
            (*desc.strides)[sizes.size() - back] = array.strides[array.sizes.size() - back];
        else if (size != 1) fail();
    }
    return desc;
}

TensorDesc broadcast_along(const Array &array, const Sizes &sizes, size_t axis,
                           std::string_view tensor) {
    if (array.sizes.at(0) != sizes.at(axis))
        throw InputError(std::string(tensor) + " (" + array.name + ") has " +
                         std::to_string(array.sizes[0]) + " elements, but axis " +
                         std::to_string(axis) + " of the input's sizes " + to_string(sizes) +
                         " has " + std::to_string(sizes[axis]));
    TensorDesc desc{array.type, sizes, Sizes(sizes.size(), 0)};
    (*desc.strides)[axis] = array.strides[0];
    return desc;
}

bool is_number(const std::string &text) {
    if (text.empty() || std::isspace(static_cast<unsigned char>(text[0]))) return false;
    char *end;
    std::strtod(text.c_str(), &end);
    return end == text.c_str() + text.size();
}

Array array_from_number(const std::string &text, DataType type, const std::string &option) {
    if (is_sub_byte(type) && !is_small_float(type))
        return array_from_number(text, file_type(type), option).to_packed(type);
    Array array = Array::allocate(option + " " + text, type, {});
    if (is_small_float(type)) {
        store_small_float(text, array, option);
        return array;
    }
    switch (type) {
    case DataType::INT8: store_integer<int8_t>(text, array, option); return array;
    case DataType::UINT8: store_integer<uint8_t>(text, array, option); return array;
    case DataType::INT16: store_integer<int16_t>(text, array, option); return array;
    case DataType::UINT16: store_integer<uint16_t>(text, array, option); return array;
    case DataType::INT32: store_integer<int32_t>(text, array, option); return array;
    case DataType::UINT32: store_integer<uint32_t>(text, array, option); return array;
    case DataType::INT64: store_integer<int64_t>(text, array, option); return array;
    case DataType::UINT64: store_integer<uint64_t>(text, array, option); return array;
    default: break;
    }
    const double exact = std::strtod(text.c_str(), nullptr);
    double rounded = exact;
    if (type == DataType::FLOAT16) {
        *array.as<uint16_t>() = f16_from_double(exact);
        rounded = double_from_f16(*array.as<uint16_t>());
    } else if (type == DataType::BFLOAT16) {
        *array.as<uint16_t>() = bf16_from_double(exact);
        rounded = double_from_bf16(*array.as<uint16_t>());
    } else if (type == DataType::FLOAT32) {
        rounded = *array.as<float>() = std::strtof(text.c_str(), nullptr);
    } else {
        *array.as<double>() = exact;
    }
    // strtod gives infinity for a number that is too large for a double, and 0 for one that is too
    // small. The digits of the text tell such a number from "inf" and from a real 0.
    const bool spelled_infinite = text.find_first_of("iI") != std::string::npos &&
                                  text.find_first_of("0123456789") == std::string::npos;
    const bool hexadecimal = text.find_first_of("xX") != std::string::npos;
    const bool spelled_zero =
        text.find_first_of(hexadecimal ? "123456789abcdefABCDEF" : "123456789") >=
        text.find_first_of(hexadecimal ? "pP" : "eE");
    if ((std::isinf(rounded) && !spelled_infinite) ||
        (rounded == 0 && (exact != 0 || !spelled_zero)))
        throw InputError(option + ": " + text + " is " +
                         (rounded == 0 ? "too small" : "too large") + " for " +
                         std::string(type_name(type)));
    return array;
}

}  // namespace hewn::cli
