// Data types by their names in Python ("float32"), in DLPack and in the buffer protocol. Also here:
// Failure, the exception of this module, and a few functions that ask Python objects for facts.
#pragma once

#include <hewn/hewn.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>

namespace hewn_python {

namespace nb = nanobind;
using Array = nb::ndarray<nb::ro>;

// An error that becomes a hewn.Error in Python. The message names the tensor or the argument, and
// the rule that it breaks.
struct Failure {
    hewn_status status;
    std::string message;
};
[[noreturn]] inline void refuse(const std::string &what, const std::string &rule,
                                hewn_status status = HEWN_STATUS_INVALID_ARGUMENT) {
    throw Failure{status, what + ": " + rule};
}

// An object's attribute. The result is not valid if the object does not have it.
nb::object attribute(nb::handle object, const char *name);
// str() of an object, in UTF-8. Surrogates are escaped.
std::string text_of(nb::handle object);
// The value of an argument that must be a str without NUL.
std::string text_argument(nb::handle given, const char *name);
// Clears Python's exception if it says that something is not a number. Throws it otherwise.
void forget_conversion_error();

// Whether there is a data type with that number.
bool has_name(hewn_data_type type);
// "float32"
std::string name_of(hewn_data_type type);
unsigned bits_of(hewn_data_type type);
// Whether it is a sub-byte type. Arrays of ml_dtypes have a byte for each of its elements.
bool is_narrow(hewn_data_type type);
// Whether it is a float of at most 8 bits.
bool is_small_float(hewn_data_type type);
// The type of an element in an array's memory, and its size in bytes: int8 or uint8 for sub-byte
// types.
hewn_data_type in_memory(hewn_data_type type);
unsigned bytes_of(hewn_data_type type);
bool is_integer(hewn_data_type type);
// Whether it is an integer type with negative numbers.
bool is_signed(hewn_data_type type);
// The type of an array's elements by DLPack. UNKNOWN if hewn does not have it.
hewn_data_type type_of(nb::dlpack::dtype dtype);
// The name of any type of DLPack's, for a message.
std::string name_of(nb::dlpack::dtype dtype);
// The same by a buffer's format and the bytes of an element.
hewn_data_type type_of(const char *format, Py_ssize_t bytes);
// The name of a type that is given as a word, as a class of NumPy's or as a type of a framework:
// "float16".
std::string name_asked(nb::handle dtype);
// The type that an argument `dtype` names. UNKNOWN for None. Throws Failure if hewn does not have
// it.
hewn_data_type type_asked(nb::handle dtype);
// The same for a type that is not None. UNKNOWN if hewn does not have it.
hewn_data_type type_named(nb::handle dtype);

}  // namespace hewn_python
