#include "types.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <iterator>

#include "ending.h"

namespace hewn_python {

namespace {
using Code = nb::dlpack::dtype_code;
struct Row {
    hewn_data_type type;
    Code code;
    unsigned bits;
    // Of a small float: hewn's and nanobind's names of the type, from which Python's follow.
    const char *hewn = nullptr, *nanobind = nullptr;
};
#define HEWN_SMALL_FLOAT(hewn, nanobind, bits) \
    { HEWN_DATA_TYPE_##hewn, Code::nanobind, bits, #hewn, #nanobind }
constexpr Row rows[] = {
    {HEWN_DATA_TYPE_FLOAT32, Code::Float, 32},
    {HEWN_DATA_TYPE_FLOAT16, Code::Float, 16},
    {HEWN_DATA_TYPE_FLOAT64, Code::Float, 64},
    {HEWN_DATA_TYPE_INT8, Code::Int, 8},
    {HEWN_DATA_TYPE_UINT8, Code::UInt, 8},
    {HEWN_DATA_TYPE_INT16, Code::Int, 16},
    {HEWN_DATA_TYPE_UINT16, Code::UInt, 16},
    {HEWN_DATA_TYPE_INT32, Code::Int, 32},
    {HEWN_DATA_TYPE_UINT32, Code::UInt, 32},
    {HEWN_DATA_TYPE_INT64, Code::Int, 64},
    {HEWN_DATA_TYPE_UINT64, Code::UInt, 64},
    {HEWN_DATA_TYPE_INT4, Code::Int, 4},
    {HEWN_DATA_TYPE_UINT4, Code::UInt, 4},
    {HEWN_DATA_TYPE_INT2, Code::Int, 2},
    {HEWN_DATA_TYPE_UINT2, Code::UInt, 2},
    {HEWN_DATA_TYPE_BFLOAT16, Code::Bfloat, 16},
    HEWN_SMALL_FLOAT(FLOAT8E4M3FN, Float8_E4M3FN, 8),
    HEWN_SMALL_FLOAT(FLOAT8E4M3FNUZ, Float8_E4M3FNUZ, 8),
    HEWN_SMALL_FLOAT(FLOAT8E5M2, Float8_E5M2, 8),
    HEWN_SMALL_FLOAT(FLOAT8E5M2FNUZ, Float8_E5M2FNUZ, 8),
    HEWN_SMALL_FLOAT(FLOAT8E8M0, Float8_E8M0FNU, 8),
    HEWN_SMALL_FLOAT(FLOAT6E2M3, Float6_E2M3FN, 6),
    HEWN_SMALL_FLOAT(FLOAT6E3M2, Float6_E3M2FN, 6),
    HEWN_SMALL_FLOAT(FLOAT4E2M1, Float4_E2M1FN, 4),
};
#undef HEWN_SMALL_FLOAT

const Row &row_of(hewn_data_type type) {
    for (const Row &row : rows) {
        if (row.type == type) return row;
    }
    throw Failure{HEWN_STATUS_INVALID_ARGUMENT, "there is no data type " + std::to_string(type)};
}

std::string in_lower_case(std::string text) {
    for (char &c : text) c = char(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

// ml_dtypes' and PyTorch's names of small floats are nanobind's in lower case: "float8_e4m3fn".
std::string name_of(const Row &row) {
    if (row.nanobind) return in_lower_case(row.nanobind);
    const char *const kind = row.code == Code::Float    ? "float"
                             : row.code == Code::Bfloat ? "bfloat"
                             : row.code == Code::Int    ? "int"
                                                        : "uint";
    return kind + std::to_string(row.bits);
}

// hewn's word for a small float, "f8e4m3fn". Other types have no second name here.
std::string word_of(const Row &row) {
    if (!row.hewn) return "";
    return "f" + in_lower_case(row.hewn + std::strlen("FLOAT"));
}
}  // namespace

nb::object attribute(nb::handle object, const char *name) {
    nb::object found = nb::steal(hewn_get_attribute(object.ptr(), name));
    if (found.is_valid()) return found;
    if (!PyErr_ExceptionMatches(PyExc_Exception)) throw nb::python_error();
    PyErr_Clear();
    return found;
}

std::string text_of(nb::handle object) {
    PyObject *const arguments[] = {object.ptr()};
    const nb::object text = nb::steal(
        hewn_call_python(reinterpret_cast<PyObject *>(&PyUnicode_Type), arguments, 1, nullptr));
    if (!text.is_valid()) throw nb::python_error();
    const nb::object bytes =
        nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
    if (!bytes.is_valid()) throw nb::python_error();
    const nb::bytes utf8 = nb::cast<nb::bytes>(bytes);
    return {utf8.c_str(), utf8.size()};
}

std::string text_argument(nb::handle given, const char *name) {
    if (!PyUnicode_Check(given.ptr())) refuse(name, "is no str (" + text_of(given.type()) + ")");
    Py_ssize_t bytes = 0;
    const char *const text = PyUnicode_AsUTF8AndSize(given.ptr(), &bytes);
    if (!text) PyErr_Clear();
    if (!text || size_t(bytes) != std::strlen(text))
        refuse(name, "is " + text_of(nb::repr(given)) + "; expected no surrogate and no NUL");
    return text;
}

void forget_conversion_error() {
    for (PyObject *type : {PyExc_TypeError, PyExc_ValueError, PyExc_OverflowError}) {
        if (PyErr_ExceptionMatches(type)) return PyErr_Clear();
    }
    throw nb::python_error();
}

// numpy.dtype has the attribute `name`, numpy.uint8 has `__name__`, and str(torch.uint8) is
// "torch.uint8".
std::string name_asked(nb::handle dtype) {
    if (PyUnicode_Check(dtype.ptr())) return text_of(dtype);
    for (const char *naming : {"name", "__name__"}) {
        if (const nb::object name = attribute(dtype, naming); name.is_valid()) return text_of(name);
    }
    const std::string written = text_of(dtype);
    return written.substr(written.rfind('.') + 1);
}

bool has_name(hewn_data_type type) {
    return std::any_of(std::begin(rows), std::end(rows),
                       [&](const Row &row) { return row.type == type; });
}
std::string name_of(hewn_data_type type) { return name_of(row_of(type)); }
unsigned bits_of(hewn_data_type type) { return row_of(type).bits; }
bool is_narrow(hewn_data_type type) { return bits_of(type) < 8; }
hewn_data_type in_memory(hewn_data_type type) {
    if (!is_narrow(type)) return type;
    return is_signed(type) ? HEWN_DATA_TYPE_INT8 : HEWN_DATA_TYPE_UINT8;
}
bool is_small_float(hewn_data_type type) { return row_of(type).nanobind; }
unsigned bytes_of(hewn_data_type type) { return bits_of(in_memory(type)) / 8; }
bool is_integer(hewn_data_type type) {
    const Code code = row_of(type).code;
    return code == Code::Int || code == Code::UInt;
}
bool is_signed(hewn_data_type type) { return row_of(type).code == Code::Int; }

// Types of less than 8 bits are not taken from DLPack, which packs their elements: this module
// expects a byte for each element.
hewn_data_type type_of(nb::dlpack::dtype dtype) {
    if (dtype.bits < 8) return HEWN_DATA_TYPE_UNKNOWN;
    for (const Row &row : rows) {
        if (dtype.code == uint8_t(row.code) && dtype.bits == row.bits && dtype.lanes == 1)
            return row.type;
    }
    return HEWN_DATA_TYPE_UNKNOWN;
}

// The format has a letter of Python's module `struct`, in this machine's byte order. It decides the
// kind of the type; `bytes` decides its size.
hewn_data_type type_of(const char *format, Py_ssize_t bytes) {
    if (!format) format = "B";
    if (*format == '@' || *format == '=' || *format == '<') format++;
    if (!*format || format[1] || bytes < 1 || bytes > 8) return HEWN_DATA_TYPE_UNKNOWN;
    const Code code = std::strchr("efd", *format)      ? Code::Float
                      : std::strchr("bhilqn", *format) ? Code::Int
                      : std::strchr("BHILQN", *format) ? Code::UInt
                                                       : Code::Complex;
    return type_of({uint8_t(code), uint8_t(8 * bytes), 1});
}

std::string name_of(nb::dlpack::dtype dtype) {
    const char *kinds[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
    std::string name = "DLPack's type " + std::to_string(dtype.code);
    if (dtype.code < std::size(kinds)) name = kinds[dtype.code] + std::to_string(dtype.bits);
    for (const Row &row : rows) {
        if (row.nanobind && dtype.code == uint8_t(row.code)) name = name_of(row);
    }
    return name + (dtype.lanes == 1 ? "" : " in vectors of " + std::to_string(dtype.lanes));
}

hewn_data_type type_named(nb::handle dtype) {
    const std::string name = name_asked(dtype);
    for (const Row &row : rows) {
        if (name == name_of(row) || (row.hewn && name == word_of(row))) return row.type;
    }
    return HEWN_DATA_TYPE_UNKNOWN;
}

hewn_data_type type_asked(nb::handle dtype) {
    if (dtype.is_none()) return HEWN_DATA_TYPE_UNKNOWN;
    const hewn_data_type type = type_named(dtype);
    if (type == HEWN_DATA_TYPE_UNKNOWN)
        refuse("dtype", "hewn has no type " + name_asked(dtype), HEWN_STATUS_UNSUPPORTED);
    return type;
}

}  // namespace hewn_python
