// Data types by their names in Python ("float32") and in DLPack.
#pragma once

#include <hewn/hewn.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>

namespace hewn_python {

namespace nb = nanobind;
using Array = nb::ndarray<nb::ro>;

// Raised as hewn.Error. The message names the tensor or the argument, and the rule.
struct Failure {
    hewn_status status;
    std::string message;
};
[[noreturn]] inline void refuse(const std::string &what, const std::string &rule,
                                hewn_status status = HEWN_STATUS_INVALID_ARGUMENT) {
    throw Failure{status, what + ": " + rule};
}

// An object's attribute; no object: it has none.
nb::object attribute(nb::handle object, const char *name);
// str() of an object; what UTF-8 does not have is escaped.
std::string text_of(nb::handle object);
// An argument that is a str, without NUL.
std::string text_argument(nb::handle given, const char *name);
// Forgets an exception that says that something is no number; others are the caller's.
void forget_conversion_error();

// Whether arrays have the type.
bool has_name(hewn_data_type type);
// "float32"
std::string name_of(hewn_data_type type);
unsigned bits_of(hewn_data_type type);
// Whether it has less than 8 bits. Arrays of ml_dtypes have a byte for each of its elements.
bool is_narrow(hewn_data_type type);
// The type of an array's element in memory, and its bytes.
hewn_data_type in_memory(hewn_data_type type);
unsigned bytes_of(hewn_data_type type);
bool is_integer(hewn_data_type type);
bool is_signed(hewn_data_type type);
// Of an array's elements; UNKNOWN: hewn has no such type.
hewn_data_type type_of(nb::dlpack::dtype dtype);
// The same, for a buffer's format and the bytes of an element.
hewn_data_type type_of(const char *format, Py_ssize_t bytes);
// The name of what is given as a type: "float16" for that word, NumPy's class or a framework's.
std::string name_asked(nb::handle dtype);
// What a `dtype` argument means: a name, or a type of NumPy's or of another framework. None is
// UNKNOWN.
hewn_data_type type_asked(nb::handle dtype);
// The same; UNKNOWN where hewn has no such type.
hewn_data_type type_named(nb::handle dtype);

}  // namespace hewn_python
