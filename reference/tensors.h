// Strided tensors in memory with sentinels around them, and an operator with its tensors. Types are
// known at run time, so that one test serves all variants.
#pragma once

#include <hewn/hewn.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evaluation.h"
#include "operators.h"
#include "types.h"

namespace hewn_test {

constexpr uint8_t SENTINEL = 0xa5;

std::vector<int64_t> contiguous_strides(const std::vector<int64_t> &sizes);
int64_t element_count(const std::vector<int64_t> &sizes);

// A tensor without its memory.
struct Spec {
    hewn_data_type type;
    std::vector<int64_t> sizes, strides = {}, block_sizes = {};  // no strides: contiguous

    // The C description. It points into this object.
    hewn_tensor_desc desc() const {
        return {sizeof(hewn_tensor_desc),
                type,
                uint32_t(sizes.size()),
                sizes.data(),
                strides.empty() ? nullptr : strides.data(),
                block_sizes.empty() ? nullptr : block_sizes.data()};
    }
};

// A tensor in memory of its own. Everything around and between its elements holds SENTINEL. The
// first element lies `misalignment` elements after a multiple of 64 bytes.
struct Tensor {
    hewn_data_type type = HEWN_DATA_TYPE_UNKNOWN;
    std::vector<int64_t> sizes, strides, block_sizes;  // no block sizes: 1
    std::vector<uint8_t> memory;
    size_t offset = 0;  // of the first element in `memory`, in bytes

    Tensor() = default;
    Tensor(hewn_data_type data_type, std::vector<int64_t> tensor_sizes,
           std::vector<int64_t> tensor_strides, int64_t misalignment = 0,
           std::vector<int64_t> tensor_block_sizes = {});
    Tensor(hewn_data_type data_type, const std::vector<int64_t> &tensor_sizes)
        : Tensor(data_type, tensor_sizes, contiguous_strides(tensor_sizes)) {}
    // A copy would lie at another address, with another alignment.
    Tensor(const Tensor &) = delete;
    Tensor &operator=(const Tensor &) = delete;
    Tensor(Tensor &&) = default;
    Tensor &operator=(Tensor &&) = default;

    uint8_t *data() { return memory.data() + offset; }
    const uint8_t *data() const { return memory.data() + offset; }
    template<class T>
    T at(int64_t index) const {
        return element<T>(data(), index);
    }
    template<class T>
    void set(int64_t index, T value) {
        set_element(data(), index, value);
    }

    int64_t span() const;  // elements from the first to the last, gaps included
    int64_t block_size(size_t d) const { return block_sizes.empty() ? 1 : block_sizes[d]; }
    uint64_t bytes() const { return memory_bytes(type, span()); }

    // The C description. It points into this object.
    hewn_tensor_desc desc() const {
        return {sizeof(hewn_tensor_desc), type,
                uint32_t(sizes.size()),   sizes.data(),
                strides.data(),           block_sizes.empty() ? nullptr : block_sizes.data()};
    }
    hewn_buffer_binding binding() const {
        return {sizeof(hewn_buffer_binding), const_cast<uint8_t *>(data()), 0, bytes()};
    }
};

// An element-wise operator with its tensors.
struct Problem {
    hewn_operator_type op = 0;
    std::vector<std::optional<Tensor>> inputs;  // no value: the tensor is left out
    Tensor output;
    // Bit i: input i is bound to the output's memory. Its own tensor then gives only the layout.
    uint32_t in_place = 0;
    std::vector<int32_t> attributes = {};  // attributes after these are 0

    Description description() const;
    std::vector<hewn_buffer_binding> bindings() const;
    // The memory that input i is read from; null if it is absent.
    const uint8_t *input_data(size_t i) const {
        return in_place >> i & 1 ? output.data() : inputs[i] ? inputs[i]->data() : nullptr;
    }
    // The types in DirectML's order, the output's last; UNKNOWN for absent inputs.
    DataTypes types() const;
    // The block sizes in the same order; empty if all are 1.
    std::vector<std::vector<int64_t>> block_sizes() const;
    Evaluation evaluation() const;
};

// Writes the expected results into `image`, which is a copy of the output's memory and becomes what
// that must hold after an execution.
void evaluate_reference(const Problem &problem, std::vector<uint8_t> &image);

// The problem's sizes, strides, blocks and attributes, for messages.
std::string describe(const Problem &problem);

// What is wrong with `actual`, the output's memory, which must be as `expected`: elements bit for
// bit (any NaN equals any NaN), and everything else untouched. Empty if nothing is wrong.
std::string difference(const Problem &problem, const std::vector<uint8_t> &expected,
                       const std::vector<uint8_t> &actual);

}  // namespace hewn_test
