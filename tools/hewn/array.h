// Tensors of the command line: a data type, sizes, strides and bytes that they own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <hewn/hewn.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace hewn::cli {

// The user gave something wrong: exit code 2. (hewn::Error, the library's refusal, is exit code 1.)
struct InputError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// There is not enough memory: exit code 3, as for std::bad_alloc and the library's
// HEWN_STATUS_OUT_OF_MEMORY.
struct MemoryError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

using Sizes = std::vector<int64_t>;

// hewn's names of the data types: f32 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64 i4 u4 i2 u2. f64 has a
// DataType, but no operator takes it.
std::string_view type_name(DataType type);
// hewn's and NumPy's names of all types.
std::vector<std::string> type_names();
// By hewn's name or NumPy's: "u8" or "uint8".
std::optional<DataType> type_from_name(std::string_view name);
// Of an element; 1 of a packed type, several of whose elements share a byte.
size_t type_bytes(DataType type);
bool is_packed(DataType type);
// The type in which files hold a packed type's values, an element a byte: i8 or u8. Others as they
// are.
DataType file_type(DataType type);
bool is_float(DataType type);

// binary16 <-> double. Rounds from the double in one step (by way of f32 it could round twice),
// ties to even, from 65520 on to infinity.
uint16_t f16_from_double(double value);
double double_from_f16(uint16_t bits);
// The same of bf16, the upper half of an f32.
uint16_t bf16_from_double(double value);
double double_from_bf16(uint16_t bits);

// "[2, 3]"
std::string to_string(const Sizes &sizes);

// The number of elements; nothing if it does not fit in int64_t.
std::optional<int64_t> element_count(const Sizes &sizes);

// Row-major strides in elements. All zero for an empty tensor, where strides mean nothing and might
// overflow.
Sizes contiguous_strides(const Sizes &sizes);

struct Array {
    std::string name;  // for messages: the file, or the option and its number
    DataType type = DataType::FLOAT32;
    Sizes sizes;
    Sizes strides;                      // in elements, as many as sizes
    std::shared_ptr<std::byte[]> data;  // never null once allocated, aligned for every type
    uint64_t bytes = 0;

    // Uninitialised, row-major. Throws InputError if the sizes overflow, MemoryError.
    static Array allocate(std::string name, DataType type, Sizes sizes);

    int64_t count() const { return element_count(sizes).value_or(0); }
    Binding binding() const { return Binding(data.get(), bytes); }
    // "f32 [2, 3]"
    std::string describe() const;
    // Values of a packed type as those of its file_type, and back: dense arrays, whose order they
    // keep. to_packed throws InputError for a value that the type lacks. Arrays of other types as
    // they are.
    Array to_file_type() const;
    Array to_packed(DataType packed) const;

    template<class T>
    T *as() {
        return reinterpret_cast<T *>(data.get());
    }
    template<class T>
    const T *as() const {
        return reinterpret_cast<const T *>(data.get());
    }
};

// NumPy's rule: sizes, aligned at the innermost dimension, are equal or 1. Messages have DirectML's
// names of the tensors.
Sizes broadcast_sizes(const Array &a, const char *a_tensor, const Array &b, const char *b_tensor);

// The array as an operand of a tensor with these sizes: stride 0 where it repeats. `tensor` is
// DirectML's name, for messages.
TensorDesc broadcast_to(const Array &array, const Sizes &sizes, std::string_view tensor);

// The same for a 1-D array along one axis (0..rank-1) of the sizes.
TensorDesc broadcast_along(const Array &array, const Sizes &sizes, size_t axis,
                           std::string_view tensor);

// True if the whole text is a number: "3", "-0.5", "1e-3", "nan", "inf". Otherwise it is the name
// of a file.
bool is_number(const std::string &text);

// The number as an array of rank 0. f16 is rounded from the nearest double. A number that the type
// cannot hold is an error that names `option`.
Array array_from_number(const std::string &text, DataType type, const std::string &option);

}  // namespace hewn::cli
