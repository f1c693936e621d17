#include "tensor.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace hewn_python {

std::string Shape::text() const {
    std::string text = "[";
    for (uint32_t i = 0; i < rank; i++) text += (i ? ", " : "") + std::to_string(sizes[i]);
    return text + "]";
}

bool Shape::operator==(const Shape &other) const {
    return rank == other.rank && std::memcmp(sizes, other.sizes, rank * sizeof(sizes[0])) == 0;
}

bool is_number(nb::handle given) { return PyFloat_Check(given.ptr()) || PyLong_Check(given.ptr()); }

// ---- Arrays ----

namespace {
// Why an argument is no array that can be read without a copy, in its framework's words.
std::string reason(nb::handle given) {
    std::string text = "is no array (" + text_of(nb::borrow(given.type())) + ")";
    if (nb::hasattr(given, "dtype")) text = "hewn cannot read " + text_of(given.attr("dtype"));
    if (!nb::hasattr(given, "__dlpack__")) return text;
    try {
        given.attr("__dlpack__")();
    } catch (nb::python_error &error) {
        text += ": " + text_of(nb::borrow(error.value()));
    }
    return text;
}

// PyTorch refuses to export a tensor that takes part in gradients, but its older function, which
// nanobind then tries, does not. NumPy's arrays have buffers, and are spared the question.
void refuse_gradient(nb::handle given, const char *name) {
    if (PyObject_CheckBuffer(given.ptr()) || !nb::hasattr(given, "requires_grad")) return;
    if (nb::cast<bool>(given.attr("requires_grad")))
        refuse(name, "requires a gradient, which hewn does not compute: use detach()");
}

void load(Tensor &tensor, nb::handle given, const char *name, bool written) {
    if (!written) {
        if (!nb::try_cast(given, tensor.array)) refuse(name, reason(given));
        tensor.address = const_cast<void *>(tensor.array.data());
    } else {
        nb::ndarray<> array;
        if (!nb::try_cast(given, array))
            refuse(name, nb::try_cast(given, tensor.array) ? "is read-only" : reason(given));
        tensor.address = array.data();
        tensor.array = Array(array);
    }
}

std::string dlpack_name(nb::dlpack::dtype dtype) {
    const char *kinds[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
    const size_t known = sizeof(kinds) / sizeof(kinds[0]);
    const std::string kind = dtype.code < known ? kinds[dtype.code] : "DLPack's type ";
    return kind + std::to_string(dtype.code < known ? dtype.bits : dtype.code);
}
}  // namespace

void take_array(Tensor &tensor, nb::handle given, const char *name, bool written) {
    tensor.kind = Kind::array;
    refuse_gradient(given, name);
    load(tensor, given, name, written);
    const Array &array = tensor.array;
    if (array.device_type() != nb::device::cpu::value)
        refuse(name, "is not in the CPU's memory", HEWN_STATUS_UNSUPPORTED);
    tensor.type = type_of(array.dtype());
    if (tensor.type == HEWN_DATA_TYPE_UNKNOWN)
        refuse(name, "hewn has no type " + dlpack_name(array.dtype()), HEWN_STATUS_UNSUPPORTED);
    if (array.ndim() > MAX_RANK)
        refuse(name, "has " + std::to_string(array.ndim()) + " dimensions, more than 8",
               HEWN_STATUS_UNSUPPORTED);
    tensor.shape.rank = uint32_t(array.ndim());
    int64_t last = 0;
    for (uint32_t i = 0; i < tensor.shape.rank; i++) {
        tensor.shape.sizes[i] = int64_t(array.shape(i));
        // Of one element, or none, it has no meaning, and NumPy's may be negative.
        tensor.own_strides[i] = tensor.shape.sizes[i] > 1 ? array.stride(i) : 1;
        last += (tensor.shape.sizes[i] - 1) * tensor.own_strides[i];
    }
    tensor.bytes = array.size() ? (uint64_t(last) + 1) * bits_of(tensor.type) / 8 : 0;
}

// ---- Numbers ----

namespace {
float as_float32(nb::handle given, const char *name) {
    const double value = PyFloat_AsDouble(given.ptr());
    if (PyErr_Occurred()) throw nb::python_error();
    if (std::isfinite(value) && std::fabs(value) > std::numeric_limits<float>::max())
        refuse(name, "is beyond float32");
    return float(value);
}

void pack_float16(unsigned char *number, nb::handle given, const char *name) {
    try {
        const nb::object packed = nb::module_::import_("struct").attr("pack")("<e", given);
        std::memcpy(number, nb::cast<nb::bytes>(packed).c_str(), 2);
    } catch (nb::python_error &) {
        refuse(name, "is beyond float16");
    }
}

int64_t as_integer(nb::handle given, hewn_data_type type, const char *name) {
    const unsigned bits = bits_of(type);
    const uint64_t most = ~uint64_t(0) >> (64 - bits), half = most >> 1;
    const int64_t high = int64_t(is_signed(type) || bits == 64 ? half : most),
                  low = is_signed(type) ? -int64_t(half) - 1 : 0;
    int overflow = 0;
    const nb::object whole = nb::steal(PyNumber_Long(given.ptr()));
    if (!whole.is_valid()) throw nb::python_error();
    const long long value = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
    if (overflow || value < low || value > high ||
        (!PyLong_Check(given.ptr()) && PyFloat_AsDouble(given.ptr()) != double(value)))
        refuse(name, text_of(nb::borrow(given)) + " is no " + name_of(type));
    return value;
}
}  // namespace

void take_number(Tensor &tensor, nb::handle given, hewn_data_type type, const char *name) {
    if (type == HEWN_DATA_TYPE_FLOAT32) {
        const float value = as_float32(given, name);
        std::memcpy(tensor.number, &value, sizeof(value));
    } else if (type == HEWN_DATA_TYPE_FLOAT16) {  // rounded once
        pack_float16(tensor.number, given, name);
    } else if (!is_integer(type)) {
        refuse(name, "hewn does not compute with " + name_of(type), HEWN_STATUS_UNSUPPORTED);
    } else {  // little-endian, as every machine that hewn runs on
        const int64_t value = as_integer(given, type, name);
        std::memcpy(tensor.number, &value, sizeof(value));
    }
    tensor.kind = Kind::number;
    tensor.type = type;
    tensor.bytes = bits_of(type) / 8;
}

}  // namespace hewn_python
