#include "evaluation.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "elements.h"
#include "truth.h"

namespace hewn_test {
namespace {

// Computes the truths of `count` elements from the offsets of each one's operands and output.
using Compute = std::function<void(const int64_t *offsets, size_t count, void *truths)>;
// Takes `count` truths, of the output's type, and the offset of each in the output.
using Consume = std::function<void(const void *truths, const int64_t *output, size_t count)>;

constexpr size_t kChunk = 256;

// Walks over all elements, some hundred at a time.
void walk(const Evaluation &e, const Compute &compute, const Consume &consume) {
    const size_t inputs = e.inputs.size(), tensors = inputs + 1;
    alignas(uint64_t) unsigned char truths[kChunk * sizeof(uint64_t)];
    std::vector<int64_t> offsets(kChunk * tensors), output(kChunk);
    size_t count = 0;
    const auto flush = [&] {
        compute(offsets.data(), count, truths);
        consume(truths, output.data(), count);
        count = 0;
    };
    for_each_element(e.sizes, e.strides, e.block_sizes, [&](const int64_t *at) {
        std::copy_n(at, tensors, &offsets[count * tensors]);
        output[count++] = at[inputs];
        if (count == kChunk) flush();
    });
    flush();
}

// Only a loop is compiled for each combination of the operands' types, of which there are more than
// a hundred: the rest of the walk for each as well took a minute of compiling.
void with_truths(const Evaluation &e, const Consume &consume) {
    const size_t tensors = e.inputs.size() + 1;
    with_truth(e.op, e.types, InputMemory(e.inputs, e.attributes), [&](const auto &element) {
        using T = decltype(element(nullptr));
        const Compute compute = [&](const int64_t *offsets, size_t count, void *truths) {
            for (size_t i = 0; i < count; i++)
                static_cast<T *>(truths)[i] = element(offsets + i * tensors);
        };
        walk(e, compute, consume);
    });
}

}  // namespace

void evaluate(const Evaluation &evaluation, void *output) {
    with_any_type(evaluation.types.back(), [&](auto tag) {
        using T = decltype(tag);
        int64_t end = 0;
        with_truths(evaluation, [&](const void *truths, const int64_t *at, size_t count) {
            for (size_t i = 0; i < count; i++) {
                set_element(output, at[i], static_cast<const T *>(truths)[i]);
                end = std::max(end, at[i] + 1);
            }
        });
        // The last byte's bits after the last element are 0.
        if constexpr (packed_bits < T >> 0) {
            for (int64_t i = end; i * packed_bits<T> % 8 != 0; i++) set_element(output, i, T(0));
        }
    });
}

int64_t count_differences(const Evaluation &evaluation, const void *output) {
    int64_t differences = 0;
    with_any_type(evaluation.types.back(), [&](auto tag) {
        using T = decltype(tag);
        with_truths(evaluation, [&](const void *truths, const int64_t *at, size_t count) {
            for (size_t i = 0; i < count; i++) {
                differences +=
                    !reference::same(static_cast<const T *>(truths)[i], element<T>(output, at[i]));
            }
        });
    });
    return differences;
}

}  // namespace hewn_test
