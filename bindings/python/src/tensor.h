// Arguments of a call as tensors. An argument is an array of any framework, whose memory is used
// without a copy (by the buffer protocol or by DLPack), or it is Python's numbers, which are
// converted.
#pragma once

#include <memory>

#include "types.h"

namespace hewn_python {

constexpr uint32_t MAX_RANK = HEWN_DIMENSION_COUNT_MAX;

struct Shape {
    uint32_t rank = 0;
    // Only the first `rank` elements are set. That is so for all such arrays here, because most
    // tensors have few dimensions.
    int64_t sizes[MAX_RANK];

    // "[2, 3]"
    std::string text() const;
    bool operator==(const Shape &other) const;
};

// What an argument is. A list of numbers has a shape as an array does, but its type follows from
// those of the other tensors, as that of a number does.
enum class Kind { absent, array, number, list };

// The memory of an array or a list, which is kept until this object is destroyed. An array's owner
// lends it by the buffer protocol or by DLPack.
class Memory {
public:
    Memory() = default;
    Memory(const Memory &) = delete;
    Memory &operator=(Memory &&other) noexcept;
    ~Memory() { give_back(); }

    // The array that was lent by DLPack.
    Array array;
    // For an array of a sub-byte type: a copy of it with one byte for each element.
    nb::object wide;
    // The elements of a list, or the packed elements of an array of a sub-byte type.
    std::unique_ptr<unsigned char[]> converted;
    // The buffer that was lent by the buffer protocol, if has_buffer.
    Py_buffer buffer;
    bool has_buffer = false;

    // Gives the buffer back.
    void give_back();
};

// The description of a tensor.
struct TensorLayout {
    Kind kind = Kind::absent;
    hewn_data_type type = HEWN_DATA_TYPE_UNKNOWN;
    // From the first element to the end of the last.
    uint64_t bytes = 0;
    // The array's own shape and strides, in elements.
    Shape shape;
    int64_t own_strides[MAX_RANK];
    // The strides over the operator's sizes, in elements.
    int64_t strides[MAX_RANK];
    // The value of a number, in its type.
    alignas(8) unsigned char number[8] = {};
};

struct Tensor : TensorLayout {
    Tensor() = default;
    // Copies only the description: the copy has no memory.
    Tensor(const Tensor &other) : TensorLayout(other) {}
    Tensor &operator=(Tensor &&other) = default;

    Memory lent;
    // The address of the first element of an array or a list, for the library.
    void *address = nullptr;

    bool is_present() const { return kind != Kind::absent; }
    void *memory() { return kind == Kind::number ? number : address; }
    // The number of elements of its own shape.
    int64_t count() const;
    // Whether the elements are copied at each call, because the type is a sub-byte type.
    bool is_copied() const { return lent.wide.is_valid(); }
    // Packs the elements of a sub-byte type. At `from` each has a byte, in C's order.
    void pack(const unsigned char *from);
    // Copies the results back to the array, if the elements are copied. Otherwise they are there.
    void give(nb::handle array) const;
};

// Tells this module NumPy's types of arrays and of masked arrays, which it keeps until the process
// ends. Masked arrays are refused, because hewn has no masks.
void know_numpy(nb::handle array, nb::handle masked);

// Whether an argument is one of Python's numbers, or a list or tuple. The type of such an argument
// follows from the other tensors.
bool is_number(nb::handle given);
bool is_list(nb::handle given);
// Takes an argument that is an array. `written` says that hewn will write to it. Throws Failure if
// the argument is no array or cannot be used.
void take_array(Tensor &tensor, nb::handle given, const char *name, bool written = false);
// Takes a number, or the numbers in a list or in lists of lists, and converts them to the type.
// Throws Failure if the type cannot hold a number, if a zero point of a small float is not 0 or,
// for a scale, if it becomes 0, infinity or NaN. Such scales are defined, and an array may have
// them. But a number in a program that becomes such a scale is nearly always a mistake.
void take_numbers(Tensor &tensor, nb::handle given, hewn_data_type type, const char *name,
                  bool is_scale);

}  // namespace hewn_python
