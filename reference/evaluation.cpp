#include "evaluation.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "elements.h"
#include "formulas.h"

namespace hewn_test {
namespace {

// Computes the expected results of `count` elements from the offsets of each one's operands and
// output.
using Compute = std::function<void(const int64_t *offsets, size_t count, void *expected)>;
// Gets `count` expected results, of the output's type, and the offset of each in the output.
using Consume = std::function<void(const void *expected, const int64_t *output, size_t count)>;

constexpr size_t kChunk = 256;

// Computes all expected results, kChunk at a time, and gives them to `consume`.
void walk(const Evaluation &e, const Compute &compute, const Consume &consume) {
    const size_t inputs = e.inputs.size(), tensors = inputs + 1;
    alignas(uint64_t) unsigned char expected[kChunk * sizeof(uint64_t)];
    std::vector<int64_t> offsets(kChunk * tensors), output(kChunk);
    size_t count = 0;
    const auto flush = [&] {
        compute(offsets.data(), count, expected);
        consume(expected, output.data(), count);
        count = 0;
    };
    for_each_element(e.sizes, e.strides, e.block_sizes, [&](const int64_t *at) {
        std::copy_n(at, tensors, &offsets[count * tensors]);
        output[count++] = at[inputs];
        if (count == kChunk) flush();
    });
    flush();
}

// Gives all expected results to `consume`. There are more than a hundred combinations of operands'
// types, and only a small loop is compiled for each: compiling all of walk() for each took a
// minute.
void with_expected(const Evaluation &e, const Consume &consume) {
    const size_t tensors = e.inputs.size() + 1;
    with_formula(e.op, e.types, InputMemory(e.inputs, e.attributes), [&](const auto &element) {
        using T = decltype(element(nullptr));
        const Compute compute = [&](const int64_t *offsets, size_t count, void *expected) {
            for (size_t i = 0; i < count; i++)
                static_cast<T *>(expected)[i] = element(offsets + i * tensors);
        };
        walk(e, compute, consume);
    });
}

}  // namespace

void evaluate(const Evaluation &evaluation, void *output) {
    with_any_type(evaluation.types.back(), [&](auto tag) {
        using T = decltype(tag);
        int64_t end = 0;
        with_expected(evaluation, [&](const void *expected, const int64_t *at, size_t count) {
            for (size_t i = 0; i < count; i++) {
                set_element(output, at[i], static_cast<const T *>(expected)[i]);
                end = std::max(end, at[i] + 1);
            }
        });
        // The bits after the last element, in its byte, must be 0.
        if constexpr (constexpr int bits = sub_byte_bits<T>; bits > 0) {
            if (const int64_t rest = end * bits % 8)
                static_cast<uint8_t *>(output)[end * bits / 8] &= uint8_t((1 << rest) - 1);
        }
    });
}

int64_t count_differences(const Evaluation &evaluation, const void *output) {
    int64_t differences = 0;
    with_any_type(evaluation.types.back(), [&](auto tag) {
        using T = decltype(tag);
        with_expected(evaluation, [&](const void *expected, const int64_t *at, size_t count) {
            for (size_t i = 0; i < count; i++) {
                differences += !reference::same(static_cast<const T *>(expected)[i],
                                                element<T>(output, at[i]));
            }
        });
    });
    return differences;
}

}  // namespace hewn_test
