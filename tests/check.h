// An execution against the truth, bit for bit.
#ifndef HEWN_TESTS_CHECK_H
#define HEWN_TESTS_CHECK_H

#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "execution.h"
#include "operators.h"
#include "tensors.h"

namespace hewn_test {

// Writes the truth into `image`, the output's memory to be.
inline void evaluate_reference(const Problem &problem, std::vector<uint8_t> &image) {
    with_truth(problem.op, problem.types(), problem.input_memory(), [&](const auto &element) {
        using T = std::invoke_result_t<decltype(element), const int64_t *>;
        T *const output = reinterpret_cast<T *>(image.data() + problem.output.offset);
        const size_t last = problem.inputs.size();
        for_each_element(problem, [&](const int64_t *offsets) { output[offsets[last]] = element(offsets); });
    });
}

inline std::string describe(const Problem &problem) {
    std::ostringstream text;
    const auto list = [&](const std::vector<int64_t> &values) {
        text << "[";
        for (size_t i = 0; i < values.size(); i++) text << (i ? "," : "") << values[i];
        text << "]";
    };
    text << "sizes ";
    list(problem.output.sizes);
    for (size_t i = 0; i < problem.inputs.size(); i++) {
        text << "; input " << i << (problem.in_place >> i & 1 ? " in place" : "");
        if (!problem.inputs[i]) {
            text << " absent";
            continue;
        }
        text << " strides ";
        list(problem.inputs[i]->strides);
    }
    text << "; output strides ";
    list(problem.output.strides);
    return text.str();
}

// The output's memory against `expected`: elements bit for bit (any NaN equals any NaN), everything else untouched.
inline testing::AssertionResult output_equals(const Problem &problem, std::vector<uint8_t> expected,
                                              const std::vector<uint8_t> &actual) {
    if (expected == actual) return testing::AssertionSuccess();
    const size_t size = element_bytes(problem.output.type), base = problem.output.offset;
    std::ostringstream text;
    size_t differing = 0;
    with_any_type(problem.output.type, [&](auto tag) {
        using T = decltype(tag);
        for_each_element(problem, [&](const int64_t *o) {
            const size_t at = base + size_t(o[problem.inputs.size()]) * size;
            const T want = load<T>(&expected[at]), got = load<T>(&actual[at]);
            if (!reference::same(want, got) && differing++ == 0) {
                text << "element at offset " << o[problem.inputs.size()] << " is " << text_of(got) << " instead of "
                     << text_of(want) << ", inputs";
                for (size_t i = 0; i < problem.inputs.size(); i++) {
                    if (!problem.inputs[i]) continue;
                    // In place the input is gone.
                    text << " "
                         << (problem.in_place >> i & 1
                                 ? "-"
                                 : text_of(problem.inputs[i]->type,
                                           problem.input_data(i) + o[i] * int64_t(element_bytes(problem.inputs[i]->type))));
                }
            }
            store(&expected[at], got);
        });
    });
    if (differing)
        return testing::AssertionFailure() << differing << " elements differ; " << text.str() << "; " << describe(problem);
    const auto padding = std::mismatch(expected.begin(), expected.end(), actual.begin());
    if (padding.first == expected.end()) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "byte " << padding.first - expected.begin() - std::ptrdiff_t(base)
                                       << " from the first element, outside all elements, was written; " << describe(problem);
}

// Compiles, executes and compares. The output's memory is restored, so that a problem can be checked repeatedly.
inline testing::AssertionResult check(Problem &problem, const hewn_compile_options &options,
                                      const hewn_execute_options *execute_options = nullptr) {
    const std::vector<uint8_t> before = problem.output.memory;
    std::vector<std::vector<uint8_t>> inputs_before;
    for (const auto &input : problem.inputs) inputs_before.push_back(input ? input->memory : std::vector<uint8_t>());
    std::vector<uint8_t> expected = before;
    evaluate_reference(problem, expected);

    OperatorPtr op;
    hewn_device *device = device_for(options.variant);
    const Outcome compiled = compile(problem.description(), &options, op, device);
    if (compiled.status != HEWN_STATUS_OK)
        return testing::AssertionFailure() << "compile: " << compiled << "; " << describe(problem);
    // A full variant name must be exactly what runs.
    if (options.variant && std::strstr(options.variant, "__") &&
        std::strcmp(options.variant, hewn_operator_variant(op.get())) != 0) {
        return testing::AssertionFailure() << "forced " << options.variant << " but got " << hewn_operator_variant(op.get());
    }
    const Outcome executed = execute(op.get(), problem, execute_options, device);
    if (executed.status != HEWN_STATUS_OK)
        return testing::AssertionFailure() << "execute: " << executed << "; " << describe(problem);

    for (size_t i = 0; i < problem.inputs.size(); i++) {
        if (problem.inputs[i] && problem.inputs[i]->memory != inputs_before[i]) {
            return testing::AssertionFailure() << "input " << i << " was written; " << describe(problem);
        }
    }
    testing::AssertionResult result = output_equals(problem, std::move(expected), problem.output.memory);
    problem.output.memory = before;
    return result;
}

inline testing::AssertionResult check(Problem &problem, const std::string &variant, int32_t max_threads = 0) {
    return check(problem, compile_options(variant.c_str(), max_threads));
}

}  // namespace hewn_test

#endif  // HEWN_TESTS_CHECK_H
