// Loops over the elements of strided tensors.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace hewn_test {

// Calls f(offsets) for every element of tensors that have the same sizes, in row-major order.
// `offsets` has each tensor's offset; offsets and strides are in elements.
template<class F>
void for_each_element(const std::vector<int64_t> &sizes,
                      const std::vector<std::vector<int64_t>> &strides, F &&f) {
    constexpr size_t MAX_TENSORS = 9;
    const size_t rank = sizes.size(), tensors = strides.size();
    if (tensors > MAX_TENSORS)
        throw std::logic_error("more tensors than for_each_element has offsets for");
    if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
    std::array<int64_t, MAX_TENSORS> offsets{}, row{}, step{};
    const int64_t columns = rank == 0 ? 1 : sizes[rank - 1];
    for (size_t i = 0; i < tensors; i++) step[i] = rank == 0 ? 0 : strides[i][rank - 1];
    std::vector<int64_t> index(rank, 0);
    for (;;) {
        offsets = row;
        for (int64_t x = 0; x < columns; x++) {
            f(static_cast<const int64_t *>(offsets.data()));
            for (size_t i = 0; i < tensors; i++) offsets[i] += step[i];
        }
        size_t d = rank == 0 ? 0 : rank - 1;
        for (;;) {
            if (d == 0) return;
            d--;
            for (size_t i = 0; i < tensors; i++) row[i] += strides[i][d];
            if (++index[d] < sizes[d]) break;
            for (size_t i = 0; i < tensors; i++) row[i] -= strides[i][d] * sizes[d];
            index[d] = 0;
        }
    }
}

// The same for tensors with blocks: index i of dimension d is element i / block_sizes[t][d] of
// tensor t. Without block sizes all are 1.
template<class F>
void for_each_element(const std::vector<int64_t> &sizes,
                      const std::vector<std::vector<int64_t>> &strides,
                      const std::vector<std::vector<int64_t>> &block_sizes, F &&f) {
    if (block_sizes.empty()) return for_each_element(sizes, strides, f);
    const size_t rank = sizes.size();
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    std::vector<int64_t> offsets(strides.size());
    for (int64_t element = 0; element < count; element++) {
        std::fill(offsets.begin(), offsets.end(), 0);
        int64_t left = element;
        for (size_t d = rank; d-- > 0; left /= sizes[d]) {
            for (size_t t = 0; t < strides.size(); t++)
                offsets[t] += left % sizes[d] / block_sizes[t][d] * strides[t][d];
        }
        f(static_cast<const int64_t *>(offsets.data()));
    }
}

}  // namespace hewn_test
