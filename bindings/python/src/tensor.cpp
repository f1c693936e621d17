#include "tensor.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace hewn_python {

std::string Shape::text() const {
    std::string text = "[";
    for (uint32_t i = 0; i < rank; i++) text += (i ? ", " : "") + std::to_string(sizes[i]);
    return text + "]";
}

bool Shape::operator==(const Shape &other) const {
    return rank == other.rank && std::memcmp(sizes, other.sizes, rank * sizeof(sizes[0])) == 0;
}

int64_t Tensor::count() const {
    int64_t count = 1;
    for (uint32_t i = 0; i < shape.rank; i++) count *= shape.sizes[i];
    return count;
}

void Memory::give_back() {
    if (has_buffer) PyBuffer_Release(&buffer);
    has_buffer = false;
}

Memory &Memory::operator=(Memory &&other) noexcept {
    give_back();
    array = std::move(other.array);
    wide = std::move(other.wide);
    buffer = other.buffer;  // its arrays of sizes are the owner's
    has_buffer = std::exchange(other.has_buffer, false);
    return *this;
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

std::string dlpack_name(nb::dlpack::dtype dtype) {
    const char *kinds[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
    const size_t known = sizeof(kinds) / sizeof(kinds[0]);
    const std::string kind = dtype.code < known ? kinds[dtype.code] : "DLPack's type ";
    return kind + std::to_string(dtype.code < known ? dtype.bits : dtype.code);
}

void set_rank(Tensor &tensor, size_t rank, const char *name) {
    if (rank > MAX_RANK)
        refuse(name, "has " + std::to_string(rank) + " dimensions, more than 8",
               HEWN_STATUS_UNSUPPORTED);
    tensor.shape.rank = uint32_t(rank);
}

// A dimension. The stride of one element, or none, has no meaning, and NumPy's may be negative.
void set_size(Tensor &tensor, uint32_t i, int64_t size, int64_t stride) {
    tensor.shape.sizes[i] = size;
    tensor.own_strides[i] = size > 1 ? stride : 1;
}

// By the buffer protocol, which costs NumPy's arrays half of what DLPack does. False: it is none
// whose type and strides hewn has; DLPack and its messages are next.
bool borrow_buffer(Tensor &tensor, nb::handle given, const char *name, bool written) {
    Py_buffer &buffer = tensor.lent.buffer;
    if (!PyObject_CheckBuffer(given.ptr())) return false;
    if (PyObject_GetBuffer(given.ptr(), &buffer, written ? PyBUF_RECORDS : PyBUF_RECORDS_RO)) {
        PyErr_Clear();
        return false;
    }
    tensor.lent.has_buffer = true;
    tensor.type = type_of(buffer.format, buffer.itemsize);
    if (tensor.type == HEWN_DATA_TYPE_UNKNOWN) return false;
    set_rank(tensor, size_t(buffer.ndim), name);
    for (int i = 0; i < buffer.ndim; i++) {
        if (buffer.strides[i] % buffer.itemsize) return false;
        set_size(tensor, uint32_t(i), buffer.shape[i], buffer.strides[i] / buffer.itemsize);
    }
    tensor.address = buffer.buf;
    return true;
}

// PyTorch refuses to export a tensor that takes part in gradients, but its older function, which
// nanobind then tries, does not.
void refuse_gradient(nb::handle given, const char *name) {
    if (nb::hasattr(given, "requires_grad") && nb::cast<bool>(given.attr("requires_grad")))
        refuse(name, "requires a gradient, which hewn does not compute: use detach()");
}

// An array of ml_dtypes that is narrow: it has neither a buffer nor DLPack.
bool copy_narrow(Tensor &tensor, nb::handle given, const char *name, bool written) {
    if (!nb::hasattr(given, "dtype") || !nb::hasattr(given, "flags")) return false;
    const hewn_data_type type = type_named(given.attr("dtype"));
    if (type == HEWN_DATA_TYPE_UNKNOWN || !is_narrow(type)) return false;
    if (written && !nb::cast<bool>(given.attr("flags").attr("writeable")))
        refuse(name, "is read-only");
    nb::object wide = given.attr("astype")(name_of(in_memory(type)).c_str());
    borrow_buffer(tensor, wide, name, written);
    tensor.lent.wide = std::move(wide);
    tensor.type = type;
    return true;
}

void borrow_dlpack(Tensor &tensor, nb::handle given, const char *name, bool written) {
    refuse_gradient(given, name);
    Array &array = tensor.lent.array;
    nb::ndarray<> writable;
    if (!nb::try_cast(given, array)) {
        if (copy_narrow(tensor, given, name, written)) return;
        refuse(name, reason(given));
    }
    tensor.address = const_cast<void *>(array.data());
    if (written) {
        if (!nb::try_cast(given, writable)) refuse(name, "is read-only");
        array = Array(writable);
        tensor.address = writable.data();
    }
    if (array.device_type() != nb::device::cpu::value)
        refuse(name, "is not in the CPU's memory", HEWN_STATUS_UNSUPPORTED);
    tensor.type = type_of(array.dtype());
    if (tensor.type == HEWN_DATA_TYPE_UNKNOWN)
        refuse(name, "hewn has no type " + dlpack_name(array.dtype()), HEWN_STATUS_UNSUPPORTED);
    set_rank(tensor, array.ndim(), name);
    for (uint32_t i = 0; i < tensor.shape.rank; i++)
        set_size(tensor, i, int64_t(array.shape(i)), array.stride(i));
}
}  // namespace

void take_array(Tensor &tensor, nb::handle given, const char *name, bool written) {
    tensor.kind = Kind::array;
    if (!borrow_buffer(tensor, given, name, written)) borrow_dlpack(tensor, given, name, written);
    int64_t last = 0;
    for (uint32_t i = 0; i < tensor.shape.rank; i++)
        last += (tensor.shape.sizes[i] - 1) * tensor.own_strides[i];
    tensor.bytes = tensor.count() ? (uint64_t(last) + 1) * bytes_of(tensor.type) : 0;
}

// The 8-bit kernel's results are clamped to less: clamp(clamp(v, -128, 127), -8, 7) is
// clamp(v, -8, 7).
void Tensor::give(nb::handle array) const {
    if (!is_copied()) return;
    const int most = (1 << bits_of(type)) - 1, half = most >> 1;
    const nb::object clamped =
        is_signed(type) ? lent.wide.attr("clip")(-half - 1, half) : lent.wide.attr("clip")(0, most);
    array.attr("__setitem__")(nb::ellipsis(), clamped);
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
    tensor.bytes = bytes_of(type);
}

}  // namespace hewn_python
