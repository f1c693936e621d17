// The tensors of the command line `hewn`. An Array has a data type, sizes, strides and its own
// memory. Files (files.h), numbers on the command line and results of operators all become Arrays.
// The names of data types, conversions of f16 and bf16, and NumPy's rule of broadcasting are here
// too.
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

// The user gave something wrong. The program ends with exit code 2. (It ends with 1 for
// hewn::Error, the library's refusal.)
struct InputError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// There is not enough memory. The program ends with exit code 3, as it does for std::bad_alloc and
// for the library's HEWN_STATUS_OUT_OF_MEMORY.
struct MemoryError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

using Sizes = std::vector<int64_t>;

// hewn's name of the data type, as in lists/data_types.py: f32, u8, f8e4m3fn.
std::string_view type_name(DataType type);
// hewn's and NumPy's names of all types.
std::vector<std::string> type_names();
// The type of that name, hewn's or NumPy's: "u8" or "uint8". Nothing if there is no such type.
std::optional<DataType> type_from_name(std::string_view name);
// The size of an element in bytes. It is 1 for a sub-byte type, although several elements share a
// byte.
size_t type_bytes(DataType type);
size_t type_bits(DataType type);
bool is_sub_byte(DataType type);
// The type in which files hold the values of a sub-byte type, with one element in each byte, and as
// which kernels take it: i8, u8, or f8e4m3fn for a small float. There f8e4m3fn only means a byte
// with the code of any small float. Any other type is returned as it is.
DataType file_type(DataType type);
bool is_float(DataType type);
// A float of at most 8 bits, whose elements are codes.
bool is_small_float(DataType type);

// Converts f16 from and to double. The double is rounded in one step, ties to even, and from 65520
// on to infinity. (A conversion by way of f32 could round twice.)
uint16_t f16_from_double(double value);
double double_from_f16(uint16_t bits);
// Converts bf16, the upper half of an f32, in the same way.
uint16_t bf16_from_double(double value);
double double_from_bf16(uint16_t bits);

// "[2, 3]"
std::string to_string(const Sizes &sizes);

// The number of elements; nothing if it does not fit in int64_t.
std::optional<int64_t> element_count(const Sizes &sizes);

// Row-major strides in elements. They are all 0 for an empty tensor, where strides mean nothing and
// might overflow.
Sizes contiguous_strides(const Sizes &sizes);

struct Array {
    // The name in messages: the file, or the option and its number.
    std::string name;
    DataType type = DataType::FLOAT32;
    Sizes sizes;
    // In elements, as many as sizes.
    Sizes strides;
    // Never null once allocated, even for an empty tensor. Aligned for every type.
    std::shared_ptr<std::byte[]> data;
    // The size of the elements in bytes.
    uint64_t bytes = 0;

    // A row-major array whose elements are not initialised. Throws InputError if the sizes overflow
    // and MemoryError if there is too little memory.
    static Array allocate(std::string name, DataType type, Sizes sizes);

    int64_t count() const { return element_count(sizes).value_or(0); }
    Binding binding() const { return Binding(data.get(), bytes); }
    // "f32 [2, 3]"
    std::string describe() const;
    // Converts an array of a sub-byte type to its file_type. An array of another type is returned
    // as it is. The array must have no gaps between elements; the order of its dimensions (C's or
    // Fortran's) is kept.
    Array to_file_type() const;
    // The reverse: converts an array of the file_type to the sub-byte type `packed`. Throws
    // InputError if the type cannot hold a value. If `packed` is no sub-byte type, the array is
    // returned as it is.
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

// The sizes of a result of two arrays, by NumPy's rule: sizes, aligned at the innermost dimension,
// are equal or 1. `a_tensor` and `b_tensor` are DirectML's names of the tensors, for messages.
// Throws InputError if the sizes do not fit.
Sizes broadcast_sizes(const Array &a, const char *a_tensor, const Array &b, const char *b_tensor);

// The description of the array as a tensor of these sizes: its stride is 0 along dimensions in
// which it repeats. `tensor` is DirectML's name of it, for messages. Throws InputError if the array
// does not broadcast to the sizes.
TensorDesc broadcast_to(const Array &array, const Sizes &sizes, std::string_view tensor);

// The same for a 1-D array that lies along one axis (0 to rank - 1) of the sizes and repeats along
// the others.
TensorDesc broadcast_along(const Array &array, const Sizes &sizes, size_t axis,
                           std::string_view tensor);

// True if the whole text is a number: "3", "-0.5", "1e-3", "nan", "inf". Arguments that are no
// numbers are names of files.
bool is_number(const std::string &text);

// The number as an array of rank 0. f16 and bf16 are rounded from the nearest double. Throws
// InputError, which names `option`, if the type cannot hold the number. A small float must hold it
// exactly.
Array array_from_number(const std::string &text, DataType type, const std::string &option);

}  // namespace hewn::cli
