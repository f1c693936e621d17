// An argument as a tensor: an array of any framework, without a copy, or Python's numbers, which
// are converted.
#pragma once

#include <memory>

#include "types.h"

namespace hewn_python {

constexpr uint32_t MAX_RANK = HEWN_DIMENSION_COUNT_MAX;

struct Shape {
    uint32_t rank = 0;
    int64_t sizes[MAX_RANK];  // up to the rank, as all arrays here: most have few dimensions

    // "[2, 3]"
    std::string text() const;
    bool operator==(const Shape &other) const;
};

// A list of numbers has a shape as an array, and its type follows from the other tensors' as a
// number's.
enum class Kind { absent, array, number, list };

// Memory that an array's owner lends: by the buffer protocol, or by DLPack.
class Memory {
public:
    Memory() = default;
    Memory(const Memory &) = delete;
    Memory &operator=(Memory &&other) noexcept;
    ~Memory() { give_back(); }

    Array array;                                 // DLPack's
    nb::object wide;                             // a copy, a byte an element, of a narrow array
    std::unique_ptr<unsigned char[]> converted;  // the elements of a list or of a narrow array
    Py_buffer buffer;                            // with an owner alone
    bool has_buffer = false;

    void give_back();  // the buffer
};

struct TensorLayout {
    Kind kind = Kind::absent;
    hewn_data_type type = HEWN_DATA_TYPE_UNKNOWN;
    uint64_t bytes = 0;  // from the first element to the end of the last
    Shape shape;         // the array's own, as are its strides; all in elements
    int64_t own_strides[MAX_RANK];
    int64_t strides[MAX_RANK];  // over the operator's sizes
    alignas(8) unsigned char number[8] = {};
};

struct Tensor : TensorLayout {
    Tensor() = default;
    // A copy is of the description: it has no memory.
    Tensor(const Tensor &other) : TensorLayout(other) {}
    Tensor &operator=(Tensor &&other) = default;

    Memory lent;
    void *address = nullptr;  // of an array's or a list's first element, as the library has it

    bool is_present() const { return kind != Kind::absent; }
    void *memory() { return kind == Kind::number ? number : address; }
    // Elements of its own.
    int64_t count() const;
    bool is_copied() const { return lent.wide.is_valid(); }
    // Of a narrow type, whose elements lie a byte each at `from`, in C's order: packs them.
    void pack(const unsigned char *from);
    // What was computed, into the array that was given.
    void give(nb::handle array) const;
};

// NumPy's types, for as long as the process: of its arrays, and of those with masks, which are
// refused, as hewn does not know masks.
void know_numpy(nb::handle array, nb::handle masked);

// Whether an argument is a number of Python's, or a list or tuple. Its type follows from the other
// tensors'.
bool is_number(nb::handle given);
bool is_list(nb::handle given);
// The array that an argument is.
void take_array(Tensor &tensor, nb::handle given, const char *name, bool written = false);
// Converts a number, or the numbers in a list or in lists of lists, to the type. Refuses what the
// type does not have; of a scale also 0, infinity and NaN. These are defined, and an array may have
// them, but a number that is written in a program and becomes one is nearly always a mistake.
void take_numbers(Tensor &tensor, nb::handle given, hewn_data_type type, const char *name,
                  bool is_scale);

}  // namespace hewn_python
