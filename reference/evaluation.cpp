#include "evaluation.h"

#include <algorithm>

#include "elements.h"
#include "truth.h"

namespace hewn_test {
namespace {

// Calls f(an element's truth, its offset in the output) for every one.
template<class F>
void with_each(const Evaluation &e, F &&f) {
    with_truth(e.op, e.types, InputMemory(e.inputs, e.attributes), [&](const auto &element) {
        const size_t last = e.inputs.size();
        for_each_element(e.sizes, e.strides, e.block_sizes,
                         [&](const int64_t *at) { f(element(at), at[last]); });
    });
}

}  // namespace

void evaluate(const Evaluation &evaluation, void *output) {
    int64_t end = 0;
    with_each(evaluation, [&](auto truth, int64_t at) {
        set_element(output, at, truth);
        end = std::max(end, at + 1);
    });
    // The last byte's bits behind the last element are 0.
    with_any_type(evaluation.types.back(), [&](auto tag) {
        using T = decltype(tag);
        if constexpr (packed_bits < T >> 0) {
            for (int64_t i = end; i * packed_bits<T> % 8 != 0; i++) set_element(output, i, T(0));
        }
    });
}

int64_t count_differences(const Evaluation &evaluation, const void *output) {
    int64_t count = 0;
    with_each(evaluation, [&](auto truth, int64_t at) {
        count += !reference::same(truth, element<decltype(truth)>(output, at));
    });
    return count;
}

}  // namespace hewn_test
