// An execution against the truth, bit for bit.
#ifndef HEWN_TESTS_CHECK_H
#define HEWN_TESTS_CHECK_H

#include <gtest/gtest.h>
#include <hewn/hewn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "execution.h"
#include "operators.h"
#include "tensors.h"

namespace hewn_test {

// Calls f(offsets) for every element in row-major order; offsets[i] is in elements of the i-th operand, the output's is last.
template<class F>
void for_each_element(const Problem &problem, F &&f) {
    constexpr size_t MAX_OPERANDS = 9;
    const std::vector<int64_t> &sizes = problem.output.sizes;
    const size_t rank = sizes.size(), operands = problem.inputs.size() + 1;
    std::vector<std::array<int64_t, MAX_OPERANDS>> steps(rank);
    for (size_t d = 0; d < rank; d++) {
        for (size_t i = 0; i < operands; i++) {
            const Tensor *tensor = i + 1 == operands ? &problem.output : problem.inputs[i] ? &*problem.inputs[i] : nullptr;
            // A dimension of size 1 is not stepped along: scales of QUANTIZED_LINEAR_ADD have all sizes 1.
            steps[d][i] = tensor && tensor->sizes[d] != 1 ? tensor->strides[d] : 0;
        }
    }
    if (element_count(sizes) == 0) return;
    std::array<int64_t, MAX_OPERANDS> offsets{};
    std::vector<int64_t> index(rank, 0);
    for (;;) {
        f(offsets.data());
        size_t d = rank;
        for (;;) {
            if (d == 0) return;
            d--;
            for (size_t i = 0; i < operands; i++) offsets[i] += steps[d][i];
            if (++index[d] < sizes[d]) break;
            for (size_t i = 0; i < operands; i++) offsets[i] -= steps[d][i] * sizes[d];
            index[d] = 0;
        }
    }
}

// Writes the truth into `image`, the output's memory to be.
inline void evaluate_reference(const Problem &problem, std::vector<uint8_t> &image) {
    const auto in = [&](size_t i, auto tag) { return reinterpret_cast<const decltype(tag) *>(problem.input_data(i)); };
    const auto out = [&](auto tag) { return reinterpret_cast<decltype(tag) *>(image.data() + problem.output.offset); };
    const auto type = [&](size_t i) { return problem.inputs[i]->type; };
    switch (problem.op) {
    case HEWN_OPERATOR_ADD:
        with_any_type(type(0), [&](auto t) {
            const auto *a = in(0, t), *b = in(1, t);
            auto *sum = out(t);
            for_each_element(problem, [&](const int64_t *o) { sum[o[2]] = reference::add(a[o[0]], b[o[1]]); });
        });
        break;
    case HEWN_OPERATOR_QUANTIZE_LINEAR:
        with_type<float, f16, int32_t>(type(0), [&](auto t) {
            with_type<float, f16>(type(1), [&](auto s) {
                with_type<int8_t, uint8_t>(problem.output.type, [&](auto q) {
                    const auto *x = in(0, t);
                    const auto *scale = in(1, s);
                    const auto *zero = in(2, q);
                    auto *y = out(q);
                    using Q = decltype(q);
                    for_each_element(problem, [&](const int64_t *o) {
                        y[o[3]] = reference::quantize_linear<Q>(x[o[0]], scale[o[1]], zero ? zero[o[2]] : Q(0));
                    });
                });
            });
        });
        break;
    case HEWN_OPERATOR_DEQUANTIZE_LINEAR:
        with_type<int32_t, int16_t, int8_t, uint32_t, uint16_t, uint8_t>(type(0), [&](auto t) {
            with_type<float, f16>(type(1), [&](auto s) {
                const auto *x = in(0, t), *zero = in(2, t);
                const auto *scale = in(1, s);
                auto *y = out(s);
                using T = decltype(t);
                for_each_element(problem, [&](const int64_t *o) {
                    y[o[3]] = reference::dequantize_linear(x[o[0]], scale[o[1]], zero ? zero[o[2]] : T(0));
                });
            });
        });
        break;
    case HEWN_OPERATOR_QUANTIZED_LINEAR_ADD:
        with_type<int8_t, uint8_t>(type(0), [&](auto ta) {
            with_type<int8_t, uint8_t>(type(3), [&](auto tb) {
                with_type<int8_t, uint8_t>(problem.output.type, [&](auto tq) {
                    const float f32 = 0;
                    const auto *a = in(0, ta), *a_zero = in(2, ta);
                    const auto *b = in(3, tb), *b_zero = in(5, tb);
                    const auto *a_scale = in(1, f32), *b_scale = in(4, f32), *scale = in(6, f32);
                    const auto *zero = in(7, tq);
                    auto *y = out(tq);
                    using A = decltype(ta);
                    using B = decltype(tb);
                    using Q = decltype(tq);
                    for_each_element(problem, [&](const int64_t *o) {
                        y[o[8]] = reference::quantized_linear_add(a[o[0]], *a_scale, a_zero ? *a_zero : A(0), b[o[3]], *b_scale,
                                                                  b_zero ? *b_zero : B(0), *scale, zero ? *zero : Q(0));
                    });
                });
            });
        });
        break;
    default: throw std::logic_error("an unknown operator");
    }
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
    const Outcome compiled = compile(*problem.description(), &options, op, device);
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
