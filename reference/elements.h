// Every element of strided tensors.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace hewn_test {

// Calls f(offsets) for every element of tensors in row-major order; strides and offsets are in
// elements, one for each tensor.
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

}  // namespace hewn_test
