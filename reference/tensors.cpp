#include "tensors.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <sstream>
#include <utility>

#include "elements.h"

namespace hewn_test {

std::vector<int64_t> contiguous_strides(const std::vector<int64_t> &sizes) {
    std::vector<int64_t> strides(sizes.size());
    int64_t stride = 1;
    for (size_t d = sizes.size(); d-- > 0; stride *= std::max<int64_t>(sizes[d], 1))
        strides[d] = stride;
    return strides;
}

int64_t element_count(const std::vector<int64_t> &sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
}

Tensor::Tensor(hewn_data_type data_type, std::vector<int64_t> tensor_sizes,
               std::vector<int64_t> tensor_strides, int64_t misalignment,
               std::vector<int64_t> tensor_block_sizes)
    : type(data_type),
      sizes(std::move(tensor_sizes)),
      strides(std::move(tensor_strides)),
      block_sizes(std::move(tensor_block_sizes)) {
    constexpr size_t zone = 64, alignment = 64;
    memory.assign(zone + alignment + size_t(misalignment) * element_bytes(type) + bytes() + zone,
                  SENTINEL);
    const size_t address = reinterpret_cast<uintptr_t>(memory.data()) + zone;
    offset = zone + (alignment - address % alignment) % alignment +
             size_t(misalignment) * element_bytes(type);
}

int64_t Tensor::span() const {
    if (element_count(sizes) == 0) return 0;
    int64_t last = 0;
    for (size_t d = 0; d < sizes.size(); d++) last += (sizes[d] - 1) / block_size(d) * strides[d];
    return last + 1;
}

Description Problem::description() const {
    TensorDescs tensors;
    for (const auto &input : inputs)
        tensors.push_back(input ? std::optional(input->desc()) : std::nullopt);
    tensors.push_back(output.desc());
    return Description(op, std::move(tensors), attributes);
}

std::vector<hewn_buffer_binding> Problem::bindings() const {
    std::vector<hewn_buffer_binding> result;
    for (size_t i = 0; i < inputs.size(); i++) {
        if (in_place >> i & 1) result.push_back(output.binding());
        else
            result.push_back(inputs[i]
                                 ? inputs[i]->binding()
                                 : hewn_buffer_binding{sizeof(hewn_buffer_binding), nullptr, 0, 0});
    }
    return result;
}

DataTypes Problem::types() const {
    DataTypes result;
    for (const auto &input : inputs)
        result.push_back(input ? input->type : hewn_data_type(HEWN_DATA_TYPE_UNKNOWN));
    result.push_back(output.type);
    return result;
}

std::vector<std::vector<int64_t>> Problem::block_sizes() const {
    const std::vector<int64_t> none(output.sizes.size(), 1);
    std::vector<std::vector<int64_t>> result(inputs.size() + 1, none);
    for (size_t i = 0; i < inputs.size(); i++) {
        if (inputs[i] && !inputs[i]->block_sizes.empty()) result[i] = inputs[i]->block_sizes;
    }
    for (const auto &each : result) {
        if (each != none) return result;
    }
    return {};
}

Evaluation Problem::evaluation() const {
    Evaluation result{op, types(), output.sizes, {}, {}, {}};
    for (size_t i = 0; i < inputs.size(); i++) {
        result.inputs.push_back(input_data(i));
        std::vector<int64_t> strides =
            inputs[i] ? inputs[i]->strides : std::vector<int64_t>(output.sizes.size(), 0);
        // A dimension of size 1 has no steps. For example all sizes of QUANTIZED_LINEAR_ADD's
        // scales are 1.
        for (size_t d = 0; inputs[i] && d < strides.size(); d++) {
            if (inputs[i]->sizes[d] == 1) strides[d] = 0;
        }
        result.strides.push_back(std::move(strides));
    }
    result.strides.push_back(output.strides);
    result.block_sizes = block_sizes();
    result.attributes = attributes;
    return result;
}

void evaluate_reference(const Problem &problem, std::vector<uint8_t> &image) {
    evaluate(problem.evaluation(), image.data() + problem.output.offset);
}

std::string describe(const Problem &problem) {
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
        if (problem.inputs[i]->block_sizes.empty()) continue;
        text << " blocks ";
        list(problem.inputs[i]->block_sizes);
    }
    text << "; output strides ";
    list(problem.output.strides);
    for (const int32_t attribute : problem.attributes) text << "; attribute " << attribute;
    return text.str();
}

namespace {

// The inputs of an element as text, by their offsets.
std::string inputs_at(const Problem &problem, const int64_t *offsets) {
    std::string text;
    for (size_t i = 0; i < problem.inputs.size(); i++) {
        if (!problem.inputs[i]) continue;
        text += " " + (problem.in_place >> i & 1
                           ? "-"  // in place the input is gone
                           : text_of(problem.inputs[i]->type, problem.input_data(i), offsets[i]));
    }
    return text;
}

}  // namespace

std::string difference(const Problem &problem, const std::vector<uint8_t> &expected,
                       const std::vector<uint8_t> &actual) {
    if (expected == actual) return "";
    const Tensor &output = problem.output;
    const size_t base = output.offset, last = problem.inputs.size();
    std::vector<uint8_t> rest = expected;  // becomes `expected` with the elements of `actual`
    std::ostringstream text;
    int64_t differing = 0;
    const Evaluation tensors = problem.evaluation();
    with_any_type(output.type, [&](auto tag) {
        using T = decltype(tag);
        for_each_element(
            tensors.sizes, tensors.strides, tensors.block_sizes, [&](const int64_t *o) {
                const T want = element<T>(&rest[base], o[last]),
                        got = element<T>(&actual[base], o[last]);
                if (!reference::same(want, got) && differing++ == 0) {
                    text << "element at offset " << o[last] << " is " << text_of(got)
                         << " instead of " << text_of(want) << ", inputs" << inputs_at(problem, o);
                }
                set_element(&rest[base], o[last], got);
            });
    });
    if (differing)
        return std::to_string(differing) + " elements differ; " + text.str() + "; " +
               describe(problem);
    const auto padding = std::mismatch(rest.begin(), rest.end(), actual.begin());
    if (padding.first == rest.end()) return "";
    return "byte " + std::to_string(padding.first - rest.begin() - std::ptrdiff_t(base)) +
           " from the first element, outside all elements, was written; " + describe(problem);
}

}  // namespace hewn_test
