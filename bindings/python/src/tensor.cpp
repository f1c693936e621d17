#include "tensor.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "ending.h"

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
    for (uint32_t i = 0; i < shape.rank; i++) {
        if (shape.sizes[i] == 0) return 0;
    }
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
    buffer = other.buffer;  // its arrays of sizes and strides belong to the owner
    has_buffer = std::exchange(other.has_buffer, false);
    return *this;
}

bool is_number(nb::handle given) { return PyFloat_Check(given.ptr()) || PyLong_Check(given.ptr()); }
bool is_list(nb::handle given) { return PyList_Check(given.ptr()) || PyTuple_Check(given.ptr()); }

// ---- Arrays ----

namespace {
nb::handle numpy_array, masked_array;  // the types of arrays that know_numpy was given

bool is_of(nb::handle given, nb::handle type) {
    return type.is_valid() &&
           PyObject_TypeCheck(given.ptr(), reinterpret_cast<PyTypeObject *>(type.ptr()));
}

// Calls a method with arguments by position, and returns its result.
nb::object call(nb::handle self, const char *method, std::initializer_list<nb::handle> given) {
    const nb::object bound = attribute(self, method);
    if (!bound.is_valid()) nb::raise_type_error("%s is no method", method);
    PyObject *arguments[2];
    size_t count = 0;
    for (const nb::handle argument : given) arguments[count++] = argument.ptr();
    nb::object result = nb::steal(hewn_call_python(bound.ptr(), arguments, count, nullptr));
    if (!result.is_valid()) throw nb::python_error();
    return result;
}

// Why an argument cannot be used as an array, for a message.
std::string reason(nb::handle given) {
    if (const nb::object dtype = attribute(given, "dtype"); dtype.is_valid())
        return "hewn cannot read " + text_of(dtype);
    return "is no array (" + text_of(given.type()) + ")";
}

void set_rank(Tensor &tensor, size_t rank, const char *name) {
    if (rank > MAX_RANK)
        refuse(name, "has " + std::to_string(rank) + " dimensions, more than 8",
               HEWN_STATUS_UNSUPPORTED);
    tensor.shape.rank = uint32_t(rank);
}

// Advice for a message: how to get an array that can be used.
std::string copy_hint(const char *name, bool written) {
    if (written) return "; give another array";
    return std::string("; copy it: ") + name + ".copy()";
}

// Sets a dimension. If the size is 0 or 1, the stride has no meaning, and NumPy's may be negative,
// so it is set to 1.
void set_size(Tensor &tensor, uint32_t i, int64_t size, int64_t stride, const char *name) {
    if (size < 0) refuse(name, "has the negative size " + std::to_string(size));
    tensor.shape.sizes[i] = size;
    tensor.own_strides[i] = size > 1 ? stride : 1;
}

// Computes strides in bytes for a buffer whose owner gave none. They are those of C's order. ctypes
// and multiprocessing give none although they are asked for them.
void set_strides_of_c(const Py_buffer &buffer, Py_ssize_t *strides) {
    Py_ssize_t stride = buffer.itemsize;
    for (int i = buffer.ndim; i-- > 0; stride *= buffer.shape[i]) strides[i] = stride;
}

// Takes an array by the buffer protocol, which for NumPy's arrays takes half of the time that
// DLPack takes. False if the object has no buffer, or none of a type that hewn has.
bool borrow_buffer(Tensor &tensor, nb::handle given, const char *name, bool written) {
    Py_buffer &buffer = tensor.lent.buffer;
    if (!PyObject_CheckBuffer(given.ptr())) return false;
    if (PyObject_GetBuffer(given.ptr(), &buffer, PyBUF_RECORDS_RO)) {
        const nb::python_error error;
        if (!error.matches(PyExc_Exception)) throw error;
        if (!attribute(given, "__dlpack__").is_valid())  // such as a closed memory map
            refuse(name, reason(given) + ": " + text_of(error.value()));
        return false;
    }
    tensor.lent.has_buffer = true;
    tensor.type = type_of(buffer.format, buffer.itemsize);
    if (tensor.type == HEWN_DATA_TYPE_UNKNOWN) {
        tensor.lent.give_back();
        return false;
    }
    if (buffer.ndim < 0 || (buffer.ndim > 0 && !buffer.shape))
        refuse(name, "has a buffer without sizes");
    if (written && buffer.readonly) refuse(name, "is read-only");
    set_rank(tensor, size_t(buffer.ndim), name);
    Py_ssize_t of_c[MAX_RANK];
    const Py_ssize_t *strides = buffer.strides;
    if (!strides) set_strides_of_c(buffer, of_c), strides = of_c;
    for (int i = 0; i < buffer.ndim; i++) {
        if (buffer.suboffsets && buffer.suboffsets[i] >= 0)
            refuse(name, "has a buffer of pointers to rows" + copy_hint(name, written));
        if (strides[i] % buffer.itemsize)
            refuse(name, "has a stride that is no multiple of an element's bytes" +
                             copy_hint(name, written));
        set_size(tensor, uint32_t(i), buffer.shape[i], strides[i] / buffer.itemsize, name);
    }
    tensor.address = buffer.buf;
    return true;
}

// The type of a NumPy array of one of ml_dtypes' types. UNKNOWN for all else.
hewn_data_type type_of_ml_dtypes(nb::handle given) {
    if (!is_of(given, numpy_array)) return HEWN_DATA_TYPE_UNKNOWN;
    const nb::object dtype = attribute(given, "dtype");
    return dtype.is_valid() ? type_named(dtype) : hewn_data_type(HEWN_DATA_TYPE_UNKNOWN);
}

// A view of an array of floats as unsigned integers, which has the same memory.
nb::object view_of_bits(nb::handle given, hewn_data_type type) {
    return call(given, "view", {nb::str(bytes_of(type) == 1 ? "uint8" : "uint16")});
}

// Takes a NumPy array of ml_dtypes' bfloat16 or float8. It supports neither the buffer protocol nor
// DLPack, so a view of its bits is taken.
bool borrow_bits(Tensor &tensor, nb::handle given, const char *name, bool written) {
    const hewn_data_type type = type_of_ml_dtypes(given);
    if (type != HEWN_DATA_TYPE_BFLOAT16 &&
        (type == HEWN_DATA_TYPE_UNKNOWN || !is_small_float(type) || is_narrow(type)))
        return false;
    const nb::object bits = view_of_bits(given, type);
    if (!borrow_buffer(tensor, bits, name, written) || is_signed(tensor.type) ||
        !is_integer(tensor.type) || bytes_of(tensor.type) != bytes_of(type))
        refuse(name, reason(given));  // a subclass with another view()
    tensor.type = type;
    return true;
}

// PyTorch does not export a tensor that requires a gradient. Its message does not say what to do,
// so hewn's does.
void refuse_gradient(nb::handle given, const char *name) {
    const nb::object requires_grad = attribute(given, "requires_grad");
    if (requires_grad.is(nb::bool_(true)))
        refuse(name, "requires a gradient, which hewn does not compute: use detach()");
}

// Takes a NumPy array of a sub-byte type of ml_dtypes. It supports neither the buffer protocol nor
// DLPack, and has a byte for each element, so its elements are copied and packed.
bool copy_narrow(Tensor &tensor, nb::handle given, const char *name, bool written) {
    const hewn_data_type type = type_of_ml_dtypes(given);
    if (type == HEWN_DATA_TYPE_UNKNOWN || !is_narrow(type)) return false;
    if (written && !nb::cast<bool>(given.attr("flags").attr("writeable")))
        refuse(name, "is read-only");
    const nb::object elements = is_integer(type) ? nb::borrow(given) : view_of_bits(given, type);
    nb::object wide =
        call(elements, "astype", {nb::str(name_of(in_memory(type)).c_str()), nb::str("C")});
    const bool is_borrowed = borrow_buffer(tensor, wide, name, /*written=*/true);
    if (!is_borrowed || tensor.type != in_memory(type) ||
        !PyBuffer_IsContiguous(&tensor.lent.buffer, 'C'))  // a subclass with another astype()
        refuse(name, reason(given));
    tensor.lent.wide = std::move(wide);
    tensor.type = type;
    tensor.pack(static_cast<const unsigned char *>(tensor.lent.buffer.buf));
    return true;
}

// Calls an object's __dlpack__, and returns the capsule. Only a versioned capsule says whether its
// memory may be written, but frameworks take longer to make one. So if hewn will write, a versioned
// capsule is asked for first, and otherwise second.
nb::object export_dlpack(const nb::object &method, bool written) {
    const nb::object version = nb::make_tuple(1, 0), names = nb::make_tuple("max_version");
    const auto call = [&](bool versioned) {
        PyObject *const arguments[] = {version.ptr()};
        const nb::object capsule = nb::steal(
            hewn_call_python(method.ptr(), arguments, 0, versioned ? names.ptr() : nullptr));
        if (!capsule.is_valid()) throw nb::python_error();
        return capsule;
    };
    try {
        return call(written);
    } catch (nb::python_error &error) {
        if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_BufferError)) throw;
    }
    return call(!written);
}

nb::object capsule_of(nb::handle given, const char *name, bool written) {
    if (PyCapsule_CheckExact(given.ptr())) return nb::borrow(given);
    const nb::object method = attribute(given, "__dlpack__");
    if (!method.is_valid()) refuse(name, reason(given));
    try {
        return export_dlpack(method, written);
    } catch (nb::python_error &error) {
        if (!error.matches(PyExc_Exception)) throw;
        refuse(name, reason(given) + ": " + text_of(error.value()));
    }
}

// The first members of DLPack's DLManagedTensorVersioned. The members after `minor` are those of
// major version 1.
struct VersionedHead {
    uint32_t major, minor;
    void *manager, *deleter;
    uint64_t flags;
};

void check_capsule(nb::handle capsule, const char *name, bool written) {
    constexpr const char *versioned = "dltensor_versioned";
    if (PyCapsule_IsValid(capsule.ptr(), "dltensor")) return;
    if (!PyCapsule_IsValid(capsule.ptr(), versioned))
        refuse(name, "its __dlpack__ gives no DLPack capsule, or it is one that was used");
    const auto &head =
        *static_cast<const VersionedHead *>(PyCapsule_GetPointer(capsule.ptr(), versioned));
    if (head.major != 1)
        refuse(name, "is of DLPack " + std::to_string(head.major) + ", and hewn reads DLPack 1",
               HEWN_STATUS_UNSUPPORTED);
    constexpr uint64_t read_only = 1;
    if (written && head.flags & read_only) refuse(name, "is read-only");
}

void borrow_dlpack(Tensor &tensor, nb::handle given, const char *name, bool written) {
    refuse_gradient(given, name);
    const nb::object capsule = capsule_of(given, name, written);
    check_capsule(capsule, name, written);
    Array &array = tensor.lent.array;
    if (written) {
        nb::ndarray<> writable;
        if (!nb::try_cast(capsule, writable)) refuse(name, reason(given));
        tensor.address = writable.data();
        array = Array(writable);
    } else {
        if (!nb::try_cast(capsule, array)) refuse(name, reason(given));
        tensor.address = const_cast<void *>(array.data());
    }
    if (array.device_type() != nb::device::cpu::value)
        refuse(name, "is not in the CPU's memory", HEWN_STATUS_UNSUPPORTED);
    tensor.type = type_of(array.dtype());
    if (tensor.type == HEWN_DATA_TYPE_UNKNOWN)
        refuse(name, "hewn has no type " + name_of(array.dtype()), HEWN_STATUS_UNSUPPORTED);
    set_rank(tensor, array.ndim(), name);
    for (uint32_t i = 0; i < tensor.shape.rank; i++)
        set_size(tensor, i, int64_t(array.shape(i)), array.stride(i), name);
}

// The number of elements from the first to the last in memory. 0 if there are none.
int64_t span_of(const Tensor &tensor, const char *name) {
    const Shape &shape = tensor.shape;
    for (uint32_t i = 0; i < shape.rank; i++) {
        if (shape.sizes[i] == 0) return 0;
    }
    int64_t span = 1, count = 1, step = 0;
    bool overflows = false;
    for (uint32_t i = 0; i < shape.rank; i++) {
        overflows |= __builtin_mul_overflow(count, shape.sizes[i], &count) ||
                     __builtin_mul_overflow(shape.sizes[i] - 1, tensor.own_strides[i], &step) ||
                     __builtin_add_overflow(span, step, &span);
    }
    if (overflows || span > INT64_MAX / 8)
        refuse(name, "has elements further apart than memory reaches");
    return span;
}
}  // namespace

void know_numpy(nb::handle array, nb::handle masked) {
    numpy_array = array;
    masked_array = masked;
}

void take_array(Tensor &tensor, nb::handle given, const char *name, bool written) {
    if (is_of(given, masked_array))
        refuse(name, std::string("is a masked array, and hewn has no masks; use ") + name +
                         ".filled(), or " + name + ".data, which has no mask");
    tensor.kind = Kind::array;
    if (!borrow_buffer(tensor, given, name, written) &&
        !borrow_bits(tensor, given, name, written) && !copy_narrow(tensor, given, name, written))
        borrow_dlpack(tensor, given, name, written);
    for (uint32_t i = 0; i < tensor.shape.rank; i++) {
        if (tensor.own_strides[i] < 0)
            refuse(name, "has the negative stride " + std::to_string(tensor.own_strides[i]) +
                             " in dimension " + std::to_string(i) + copy_hint(name, written));
    }
    const int64_t span = span_of(tensor, name);
    if (tensor.is_copied()) return;
    if (span && !tensor.address) refuse(name, "has no memory");
    if (span && reinterpret_cast<uintptr_t>(tensor.address) % bytes_of(tensor.type))
        refuse(name, "is misaligned: its address is no multiple of an element's bytes" +
                         copy_hint(name, written));
    tensor.bytes = uint64_t(span) * bytes_of(tensor.type);
}

// The first element is in the lowest bits of a byte, as hewn.h says.
void Tensor::pack(const unsigned char *from) {
    const unsigned bits = bits_of(type), mask = (1u << bits) - 1;
    const size_t count = size_t(this->count());
    bytes = (count * bits + 7) / 8;
    // A byte more, because the last element may be written to two bytes.
    lent.converted.reset(new unsigned char[size_t(bytes) + 1]());
    for (size_t i = 0; i < count; i++) {
        unsigned char *const to = &lent.converted[i * bits / 8];
        const unsigned element = (from[i] & mask) << i * bits % 8;
        to[0] |= static_cast<unsigned char>(element);
        to[1] |= static_cast<unsigned char>(element >> 8);
    }
    address = lent.converted.get();
}

void Tensor::give(nb::handle array) const {
    if (!is_copied()) return;
    const unsigned bits = bits_of(type), mask = (1u << bits) - 1;
    // In an array of ml_dtypes, the upper bits of a signed element repeat its sign.
    const unsigned sign = is_signed(type) ? 1u << (bits - 1) : 0;
    unsigned char *const to = static_cast<unsigned char *>(lent.buffer.buf);
    const size_t count = size_t(this->count());
    for (size_t i = 0; i < count; i++) {
        const unsigned char *const from = &lent.converted[i * bits / 8];
        const unsigned element = (from[0] | from[1] << 8) >> i * bits % 8 & mask;
        to[i] = static_cast<unsigned char>((element ^ sign) - sign);
    }
    const nb::object elements = is_integer(type) ? nb::borrow(array) : view_of_bits(array, type);
    call(elements, "__setitem__", {nb::ellipsis(), lent.wide});
}

// ---- Numbers ----

namespace {
// The number as text for a message. Python refuses to convert integers of some thousand digits.
std::string written(nb::handle given) {
    try {
        return text_of(given);
    } catch (nb::python_error &error) {
        if (!error.matches(PyExc_ValueError)) throw;
        return "this number of thousands of digits";
    }
}

std::string no_number(nb::handle given) { return "is no number (" + text_of(given.type()) + ")"; }

// Each of these functions writes a double as the type, rounded once. It returns 0 if the value has
// become 0, infinity if it is too large for the type, and another number otherwise.
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

double put_bfloat16(unsigned char *to, double value) {
    float nearest = float(value);
    uint32_t bits;
    std::memcpy(&bits, &nearest, sizeof bits);
    // Rounds to f32 "to odd" first: the last bit is 1 if any bits were cut off. So the second step
    // sees that the value is not a tie, and the result is as if it was rounded once.
    if (std::isfinite(value) && double(nearest) != value && !(bits & 1))
        bits = std::fabs(double(nearest)) > std::fabs(value) ? bits - 1 : bits | 1;
    if (!std::isnan(value)) bits += 0x7fff + (bits >> 16 & 1);
    std::memcpy(to, reinterpret_cast<unsigned char *>(&bits) + 2, 2);
    bits &= 0xffff0000;
    std::memcpy(&nearest, &bits, sizeof bits);
    return nearest;
}

// Writes a number as the float type. Returns the rule that it breaks, or an empty text.
std::string put_float(unsigned char *to, nb::handle given, hewn_data_type type, bool is_scale) {
    double value = PyFloat_AsDouble(given.ptr());
    if (PyErr_Occurred()) {
        const bool beyond = PyErr_ExceptionMatches(PyExc_OverflowError);  // a very large int
        forget_conversion_error();
        if (!beyond) return no_number(given);
        value = std::numeric_limits<double>::max();
    }
    const auto put = type == HEWN_DATA_TYPE_FLOAT32   ? put_float32
                     : type == HEWN_DATA_TYPE_FLOAT16 ? put_float16
                                                      : put_bfloat16;
    const double rounded = put(to, value);
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
    const uint64_t most = ~uint64_t(0) >> (64 - bits + is_signed(type));
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
    uint64_t bytes = uint64_t(value);
    bool fits = overflow == 0 && value >= 0 && bytes <= most;
    if (is_signed(type)) fits |= overflow == 0 && value < 0 && value >= -int64_t(most) - 1;
    if (overflow > 0 && most == ~uint64_t(0)) {
        bytes = PyLong_AsUnsignedLongLong(whole.ptr());
        fits = !PyErr_Occurred();
        PyErr_Clear();
    }
    if (!fits) return written(given) + " is no " + name_of(type);
    std::memcpy(to, &bytes, bytes_of(type));  // all of hewn's machines are little-endian
    return "";
}

// Writes a zero point of a small float. Only zero points become small floats: hewn has no other
// tensors whose types follow from such a type.
std::string put_small_zero_point(unsigned char *to, nb::handle given, hewn_data_type type) {
    const double value = PyFloat_AsDouble(given.ptr());
    if (PyErr_Occurred()) {
        const bool beyond = PyErr_ExceptionMatches(PyExc_OverflowError);
        forget_conversion_error();
        if (!beyond) return no_number(given);
    }
    *to = 0;
    return value == 0 ? ""
                      : "is " + written(given) + "; " + name_of(type) + " has no zero point but 0";
}

std::string put_number(unsigned char *to, nb::handle given, hewn_data_type type, bool is_scale) {
    if (is_integer(type)) return put_integer(to, given, type);
    if (is_small_float(type)) return put_small_zero_point(to, given, type);
    return put_float(to, given, type, is_scale);
}

// Reads a list of numbers, or lists of lists of numbers.
class List {
public:
    List(Tensor &tensor, const char *name, bool is_scale)
        : tensor_(tensor), name_(name), is_scale_(is_scale) {}

    void read(nb::handle given) {
        set_shape(given);
        const size_t bytes = size_t(tensor_.count()) * bytes_of(tensor_.type);
        std::unique_ptr<unsigned char[]> numbers(new unsigned char[bytes]);
        next_ = numbers.get();
        read(given, 0);
        if (is_narrow(tensor_.type)) return tensor_.pack(numbers.get());
        tensor_.lent.converted = std::move(numbers);
        tensor_.address = tensor_.lent.converted.get();
        tensor_.bytes = bytes;
    }

private:
    Tensor &tensor_;
    const char *name_;
    bool is_scale_;
    // The indices of the item that is read.
    int64_t at_[MAX_RANK];
    // Where the next number is written.
    unsigned char *next_ = nullptr;

    // A tuple of the list's present items. Converting an item may call Python code, which may
    // change the list.
    static nb::object items_of(nb::handle list) {
        nb::object items = nb::steal(PySequence_Tuple(list.ptr()));
        if (!items.is_valid()) throw nb::python_error();
        return items;
    }

    // Sets the shape to that of the first items. read() checks that all others have the same.
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
        // A list may contain the same list many times, so even a few lists may have more numbers
        // than memory can hold.
        int64_t stride = 1, bytes = bytes_of(tensor_.type);
        for (uint32_t i = shape.rank; i-- > 0;) {
            tensor_.own_strides[i] = shape.sizes[i] > 1 ? stride : 1;  // as take_array does
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
    if (type == HEWN_DATA_TYPE_FLOAT64)
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
