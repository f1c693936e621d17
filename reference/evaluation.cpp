#include "evaluation.h"

#include "elements.h"
#include "truth.h"

namespace hewn_test {
namespace {

// Calls f(an element's truth, its offset in the output) for every one.
template<class F>
void with_each(const Evaluation &e, F &&f) {
    with_truth(e.op, e.types, InputMemory(e.inputs), [&](const auto &element) {
        const size_t last = e.inputs.size();
        for_each_element(e.sizes, e.strides, e.block_sizes,
                         [&](const int64_t *at) { f(element(at), at[last]); });
    });
}

}  // namespace

void evaluate(const Evaluation &evaluation, void *output) {
    with_each(evaluation,
              [&](auto truth, int64_t at) { static_cast<decltype(truth) *>(output)[at] = truth; });
}

int64_t count_differences(const Evaluation &evaluation, const void *output) {
    int64_t count = 0;
    with_each(evaluation, [&](auto truth, int64_t at) {
        count += !reference::same(truth, static_cast<const decltype(truth) *>(output)[at]);
    });
    return count;
}

}  // namespace hewn_test
