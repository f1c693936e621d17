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
    converted = std::move(other.converted);
    buffer = other.buffer;  // its arrays of sizes are the owner's
    has_buffer = std::exchange(other.has_buffer, false);
    return *this;
}

bool is_number(nb::handle given) { return PyFloat_Check(given.ptr()) || PyLong_Check(given.ptr()); }
bool is_list(nb::handle given) { return PyList_Check(given.ptr()) || PyTuple_Check(given.ptr()); }

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

// How to get an array that can be read.
std::string copy_hint(const char *name, bool written) {
    if (written) return "; give another array";
    return std::string("; copy it: ") + name + ".copy()";
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
        if (buffer.strides[i] % buffer.itemsize)
            refuse(name, "has a stride that is no multiple of an element's bytes" +
                             copy_hint(name, written));
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
    for (uint32_t i = 0; i < tensor.shape.rank; i++) {
        if (tensor.own_strides[i] < 0)
            refuse(name, "has the negative stride " + std::to_string(tensor.own_strides[i]) +
                             " in dimension " + std::to_string(i) + copy_hint(name, written));
        last += (tensor.shape.sizes[i] - 1) * tensor.own_strides[i];
    }
    if (tensor.count() && reinterpret_cast<uintptr_t>(tensor.address) % bytes_of(tensor.type))
        refuse(name, "is misaligned: its address is no multiple of an element's bytes" +
                         copy_hint(name, written));
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
// Python refuses to write integers of some thousand digits.
std::string written(nb::handle given) {
    try {
        return text_of(nb::borrow(given));
    } catch (nb::python_error &error) {
        if (!error.matches(PyExc_ValueError)) throw;
        return "this number of thousands of digits";
    }
}

// Forgets an exception that says that something is no number; others are the caller's.
void forget_conversion_error() {
    for (PyObject *type : {PyExc_TypeError, PyExc_ValueError, PyExc_OverflowError}) {
        if (PyErr_ExceptionMatches(type)) return PyErr_Clear();
    }
    throw nb::python_error();
}

std::string no_number(nb::handle given) {
    return "is no number (" + text_of(nb::borrow(given.type())) + ")";
}

// Each writes a double as the type, rounded once. Returns 0 if it has become 0, infinity if it is
// beyond the type, else another number.
double put_float32(unsigned char *to, double value) {
    const float rounded = float(value);
    std::memcpy(to, &rounded, sizeof(rounded));
    return rounded;
}
double put_float16(unsigned char *to, double value) {
    try {
        const nb::object packed =
            nb::module_::import_("struct").attr("pack")("<e", nb::float_(value));
        std::memcpy(to, nb::cast<nb::bytes>(packed).c_str(), 2);
    } catch (nb::python_error &error) {
        if (!error.matches(PyExc_OverflowError)) throw;
        return std::numeric_limits<double>::infinity();
    }
    return to[0] | (to[1] & 0x7f) ? value : 0;
}

// Writes a number as the type. Returns the rule that it breaks; empty: none.
std::string put_float(unsigned char *to, nb::handle given, hewn_data_type type, bool is_scale) {
    double value = PyFloat_AsDouble(given.ptr());
    if (PyErr_Occurred()) {
        const bool beyond = PyErr_ExceptionMatches(PyExc_OverflowError);  // an int
        forget_conversion_error();
        if (!beyond) return no_number(given);
        value = std::numeric_limits<double>::max();
    }
    const double rounded = (type == HEWN_DATA_TYPE_FLOAT32 ? put_float32 : put_float16)(to, value);
    const bool beyond = std::isfinite(value) && std::isinf(rounded);
    if (!is_scale) return beyond ? written(given) + " is beyond " + name_of(type) : "";
    const char *const rule = "; a scale must be finite and not 0";
    if (value == 0 || !std::isfinite(value)) return "is " + written(given) + rule;
    if (!beyond && rounded != 0) return "";
    return written(given) + " becomes " + (beyond ? "infinite" : "0") + " in " + name_of(type) +
           rule;
}

std::string put_integer(unsigned char *to, nb::handle given, hewn_data_type type) {
    nb::object whole;
    if (PyIndex_Check(given.ptr())) {
        whole = nb::steal(PyNumber_Index(given.ptr()));
    } else {
        const double value = PyFloat_AsDouble(given.ptr());
        if (!PyErr_Occurred()) {
            if (!std::isfinite(value) || value != std::trunc(value))
                return written(given) + " is no " + name_of(type);
            whole = nb::steal(PyLong_FromDouble(value));
        }
    }
    if (!whole.is_valid()) {
        forget_conversion_error();
        return no_number(given);
    }
    const unsigned bits = bits_of(type);
    const uint64_t most = ~uint64_t(0) >> (64 - bits), half = most >> 1;
    const int64_t high = int64_t(is_signed(type) || bits == 64 ? half : most),
                  low = is_signed(type) ? -int64_t(half) - 1 : 0;
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
    if (overflow || value < low || value > high) return written(given) + " is no " + name_of(type);
    std::memcpy(to, &value, bytes_of(type));  // little-endian, as every machine that hewn runs on
    return "";
}

std::string put_number(unsigned char *to, nb::handle given, hewn_data_type type, bool is_scale) {
    if (is_integer(type)) return put_integer(to, given, type);
    return put_float(to, given, type, is_scale);
}

// Lists of lists of numbers.
class List {
public:
    List(Tensor &tensor, const char *name, bool is_scale)
        : tensor_(tensor), name_(name), is_scale_(is_scale) {}

    void read(nb::handle given) {
        set_shape(given);
        const size_t bytes = size_t(tensor_.count()) * bytes_of(tensor_.type);
        tensor_.lent.converted.reset(new unsigned char[bytes]);
        tensor_.address = next_ = tensor_.lent.converted.get();
        tensor_.bytes = bytes;
        read(given, 0);
    }

private:
    Tensor &tensor_;
    const char *name_;
    bool is_scale_;
    int64_t at_[MAX_RANK];  // where in the lists it reads
    unsigned char *next_ = nullptr;

    // The items as they are now: converting one may call Python, which may change the list.
    static nb::object items_of(nb::handle list) {
        nb::object items = nb::steal(PySequence_Tuple(list.ptr()));
        if (!items.is_valid()) throw nb::python_error();
        return items;
    }

    // That of the first items; read() checks that all others' is the same.
    void set_shape(nb::handle given) {
        Shape &shape = tensor_.shape;
        nb::object first = nb::borrow(given);
        while (is_list(first)) {
            if (shape.rank == MAX_RANK)
                refuse(name_, "has more than 8 dimensions", HEWN_STATUS_UNSUPPORTED);
            const nb::object items = items_of(first);
            const size_t count = nb::len(items);
            shape.sizes[shape.rank++] = int64_t(count);
            if (!count) break;
            first = nb::borrow(PyTuple_GetItem(items.ptr(), 0));
        }
        // The same list may be an item many times, so that few lists have more numbers than there
        // is memory.
        int64_t stride = 1, bytes = bytes_of(tensor_.type);
        for (uint32_t i = shape.rank; i-- > 0;) {
            tensor_.own_strides[i] = shape.sizes[i] > 1 ? stride : 1;  // as take_array has it
            if (__builtin_mul_overflow(bytes, shape.sizes[i], &bytes))
                refuse(name_, "has more than 2^63 bytes", HEWN_STATUS_OUT_OF_MEMORY);
            stride *= shape.sizes[i];
        }
    }

    void read(nb::handle given, uint32_t depth) {
        const Shape &shape = tensor_.shape;
        if (depth == shape.rank) {
            if (is_list(given)) refuse(label(depth), "is a list; a number is before it");
            const std::string rule = put_number(next_, given, tensor_.type, is_scale_);
            if (!rule.empty()) refuse(label(depth), rule);
            next_ += bytes_of(tensor_.type);
            return;
        }
        if (!is_list(given)) refuse(label(depth), "is no list; a list is before it");
        const nb::object items = items_of(given);
        const int64_t count = int64_t(nb::len(items));
        if (count != shape.sizes[depth])
            refuse(label(depth), "has length " + std::to_string(count) + "; expected " +
                                     std::to_string(shape.sizes[depth]) +
                                     ", the length of the list before it");
        for (int64_t &i = at_[depth] = 0; i < count; i++)
            read(PyTuple_GetItem(items.ptr(), Py_ssize_t(i)), depth + 1);
    }

    // "scale[1][0]"
    std::string label(uint32_t depth) const {
        std::string text = name_;
        for (uint32_t i = 0; i < depth; i++) text += "[" + std::to_string(at_[i]) + "]";
        return text;
    }
};
}  // namespace

void take_numbers(Tensor &tensor, nb::handle given, hewn_data_type type, const char *name,
                  bool is_scale) {
    if (!is_integer(type) && type != HEWN_DATA_TYPE_FLOAT32 && type != HEWN_DATA_TYPE_FLOAT16)
        refuse(name, "hewn does not compute with " + name_of(type), HEWN_STATUS_UNSUPPORTED);
    tensor.type = type;
    if (is_list(given)) {
        tensor.kind = Kind::list;
        List(tensor, name, is_scale).read(given);
        return;
    }
    tensor.kind = Kind::number;
    tensor.bytes = bytes_of(type);
    const std::string rule = put_number(tensor.number, given, type, is_scale);
    if (!rule.empty()) refuse(name, rule);
}

}  // namespace hewn_python
