// Strided tensors between sentinels, and an operator with its tensors. Runtime-typed, so that one test serves every line of
// variants.inc.
#ifndef HEWN_TESTS_TENSORS_H
#define HEWN_TESTS_TENSORS_H

#include <hewn/hewn.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "operators.h"
#include "types.h"

namespace hewn_test {

constexpr uint8_t SENTINEL = 0xa5;

inline std::vector<int64_t> packed_strides(const std::vector<int64_t> &sizes) {
    std::vector<int64_t> strides(sizes.size());
    int64_t stride = 1;
    for (size_t d = sizes.size(); d-- > 0; stride *= std::max<int64_t>(sizes[d], 1)) strides[d] = stride;
    return strides;
}

inline int64_t element_count(const std::vector<int64_t> &sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
}

// A tensor without its memory.
struct Spec {
    hewn_data_type type;
    std::vector<int64_t> sizes, strides = {};  // no strides: packed

    // The C view; valid while this object lives.
    hewn_tensor_desc desc() const {
        return {sizeof(hewn_tensor_desc), type, uint32_t(sizes.size()), sizes.data(), strides.empty() ? nullptr : strides.data()};
    }
};

// A tensor in memory of its own. Everything around and between its elements holds SENTINEL. The base is aligned to the element
// and, with a `misalignment` in elements, to nothing more.
struct Tensor {
    hewn_data_type type = HEWN_DATA_TYPE_UNKNOWN;
    std::vector<int64_t> sizes, strides;
    std::vector<uint8_t> memory;
    size_t offset = 0;  // of the first element in `memory`

    Tensor() = default;
    Tensor(hewn_data_type data_type, std::vector<int64_t> tensor_sizes, std::vector<int64_t> tensor_strides,
           int64_t misalignment = 0)
        : type(data_type), sizes(std::move(tensor_sizes)), strides(std::move(tensor_strides)) {
        constexpr size_t zone = 64, alignment = 64;
        memory.assign(zone + alignment + size_t(misalignment) * element_bytes(type) + bytes() + zone, SENTINEL);
        const size_t address = reinterpret_cast<uintptr_t>(memory.data()) + zone;
        offset = zone + (alignment - address % alignment) % alignment + size_t(misalignment) * element_bytes(type);
    }
    Tensor(hewn_data_type data_type, const std::vector<int64_t> &tensor_sizes)
        : Tensor(data_type, tensor_sizes, packed_strides(tensor_sizes)) {}
    // A copy would lie elsewhere: with another alignment.
    Tensor(const Tensor &) = delete;
    Tensor &operator=(const Tensor &) = delete;
    Tensor(Tensor &&) = default;
    Tensor &operator=(Tensor &&) = default;

    uint8_t *data() { return memory.data() + offset; }
    const uint8_t *data() const { return memory.data() + offset; }
    template<class T>
    T at(int64_t index) const {
        return load<T>(data() + index * int64_t(sizeof(T)));
    }
    template<class T>
    void set(int64_t index, T value) {
        store(data() + index * int64_t(sizeof(T)), value);
    }

    int64_t span() const {  // in elements, from the first to the last
        if (element_count(sizes) == 0) return 0;
        int64_t last = 0;
        for (size_t d = 0; d < sizes.size(); d++) last += (sizes[d] - 1) * strides[d];
        return last + 1;
    }
    uint64_t bytes() const { return uint64_t(span()) * element_bytes(type); }

    // The C view; valid while this object lives.
    hewn_tensor_desc desc() const {
        return {sizeof(hewn_tensor_desc), type, uint32_t(sizes.size()), sizes.data(), strides.data()};
    }
    hewn_buffer_binding binding() const { return {sizeof(hewn_buffer_binding), const_cast<uint8_t *>(data()), 0, bytes()}; }
};

// One operator with its tensors.
struct Problem {
    hewn_operator_type op = 0;
    std::vector<std::optional<Tensor>> inputs;  // absent: an optional tensor left out
    Tensor output;
    uint32_t in_place = 0;  // bit i: input i is bound to the output's memory (its own tensor then gives the layout only)

    Description description() const {
        TensorDescs tensors;
        for (const auto &input : inputs) tensors.push_back(input ? std::optional(input->desc()) : std::nullopt);
        tensors.push_back(output.desc());
        return Description(op, std::move(tensors));
    }
    std::vector<hewn_buffer_binding> bindings() const {
        std::vector<hewn_buffer_binding> result;
        for (size_t i = 0; i < inputs.size(); i++) {
            if (in_place >> i & 1) result.push_back(output.binding());
            else
                result.push_back(inputs[i] ? inputs[i]->binding()
                                           : hewn_buffer_binding{sizeof(hewn_buffer_binding), nullptr, 0, 0});
        }
        return result;
    }
    // The memory input i is read from.
    const uint8_t *input_data(size_t i) const {
        return in_place >> i & 1 ? output.data() : inputs[i] ? inputs[i]->data() : nullptr;
    }
    InputMemory input_memory() const {
        std::vector<const void *> first;
        for (size_t i = 0; i < inputs.size(); i++) first.push_back(input_data(i));
        return InputMemory(first);
    }
    // In DirectML's order, output last; absent inputs have none.
    DataTypes types() const {
        DataTypes result;
        for (const auto &input : inputs) result.push_back(input ? input->type : hewn_data_type(HEWN_DATA_TYPE_UNKNOWN));
        result.push_back(output.type);
        return result;
    }
};

// Calls f(offsets) for every element in row-major order; offsets[i] is in elements of the i-th input, the output's is last.
template<class F>
void for_each_element(const Problem &problem, F &&f) {
    const std::vector<int64_t> &sizes = problem.output.sizes;
    std::vector<std::vector<int64_t>> strides;
    for (const auto &input : problem.inputs) {
        strides.push_back(input ? input->strides : std::vector<int64_t>(sizes.size(), 0));
        // A dimension of size 1 is not stepped along: scales of QUANTIZED_LINEAR_ADD have all sizes 1.
        for (size_t d = 0; input && d < sizes.size(); d++) {
            if (input->sizes[d] == 1) strides.back()[d] = 0;
        }
    }
    strides.push_back(problem.output.strides);
    for_each_element(sizes, strides, f);
}

}  // namespace hewn_test

#endif  // HEWN_TESTS_TENSORS_H
