// DYNAMIC_QUANTIZE_LINEAR with its tensors, and its expected results. The operator is not
// element-wise and has three outputs, so Problem (tensors.h) does not serve it.
#pragma once

#include <hewn/hewn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "contents.h"
#include "dynamic_quantize.h"
#include "elements.h"
#include "operators.h"
#include "tensors.h"
#include "values.h"

namespace hewn_test {

constexpr hewn_operator_type DYNAMIC = HEWN_OPERATOR_DYNAMIC_QUANTIZE_LINEAR;

// The contents of the three outputs' memory.
using Images = std::array<std::vector<uint8_t>, 3>;

// The operator with its tensors, each in memory of its own between sentinels.
struct Dynamic {
    Tensor input, output, scale, zero_point;

    Dynamic(Tensor x, Tensor y)
        : input(std::move(x)),
          output(std::move(y)),
          scale(HEWN_DATA_TYPE_FLOAT32, ones()),
          zero_point(output.type, ones()) {}
    // For a contiguous row of `elements`. `types` are those of the input and the output.
    Dynamic(const DataTypes &types, int64_t elements)
        : Dynamic(Tensor(types[0], {elements}), Tensor(types[1], {elements})) {}

    std::vector<int64_t> ones() const { return std::vector<int64_t>(input.sizes.size(), 1); }
    std::array<Tensor *, 1> inputs() { return {&input}; }
    std::array<Tensor *, 3> outputs() { return {&output, &scale, &zero_point}; }
    static constexpr size_t output_count() { return 3; }
    std::vector<hewn_buffer_binding> bindings() const {
        return {output.binding(), scale.binding(), zero_point.binding()};
    }
    Images images() {
        Images images;
        for (size_t i = 0; i < images.size(); i++) images[i] = outputs()[i]->memory;
        return images;
    }
    void restore(const Images &images) {
        for (size_t i = 0; i < images.size(); i++)
            std::copy(images[i].begin(), images[i].end(), outputs()[i]->memory.begin());
    }
    // The first byte of the outputs' memory that differs from `expected`, as text; empty if none
    // does. Memory around the outputs is compared too.
    std::string difference(const Images &expected) {
        for (size_t i = 0; i < expected.size(); i++) {
            const Tensor &tensor = *outputs()[i];
            const auto at =
                std::mismatch(expected[i].begin(), expected[i].end(), tensor.memory.begin());
            if (at.first == expected[i].end()) continue;
            const auto byte = at.first - expected[i].begin() - std::ptrdiff_t(tensor.offset);
            return "output " + std::to_string(i) + ", byte " + std::to_string(byte) + ": got " +
                   std::to_string(*at.second) + ", expected " + std::to_string(*at.first);
        }
        return "";
    }
    Description description() const {
        return Description(DYNAMIC, {input.desc(), output.desc(), scale.desc(), zero_point.desc()});
    }
};

inline float number(const Tensor &tensor, int64_t at) {
    float value = 0;
    with_type<float, f16, bf16>(
        tensor.type, [&](auto tag) { value = reference::to_f32(tensor.at<decltype(tag)>(at)); });
    return value;
}

// What the three outputs' memory must hold after an execution, computed by the reference.
inline Images expected_output(Dynamic &problem) {
    Images images = problem.images();
    const auto at = [&](size_t i) { return images[i].data() + problem.outputs()[i]->offset; };
    const auto each = [&](const auto &f) {
        for_each_element(problem.input.sizes, {problem.input.strides, problem.output.strides}, f);
    };
    reference::Range range;
    each([&](const int64_t *offsets) { range.add(number(problem.input, offsets[0])); });
    with_type<int8_t, uint8_t>(problem.output.type, [&](auto tag) {
        using Out = decltype(tag);
        const float s = reference::dynamic_scale<Out>(range);
        const Out z = reference::dynamic_zero_point<Out>(range, s);
        set_element(at(1), 0, s);
        set_element(at(2), 0, z);
        each([&](const int64_t *offsets) {
            const float x = number(problem.input, offsets[0]);
            set_element(at(0), offsets[1], reference::quantize_linear(x, s, z));
        });
    });
    return images;
}

// Fills a tensor with numbers around 0, or with numbers that lie on one side of it.
inline void fill_normal(Tensor &tensor, Random &random) {
    const int exponent = int(random.integer(-12, 12));
    const float shift = random.one_in(3) ? random.unit() * 4 - 2 : 0;
    fill(tensor, [&](int64_t i) {
        set_float(tensor, i, (random.unit() - 0.5f + shift) * power_of_two(exponent));
    });
}

}  // namespace hewn_test
