// DYNAMIC_QUANTIZE with its tensors, and its expected results.
#pragma once

#include <hewn/hewn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dynamic.h"
#include "dynamic_quantize.h"
#include "elements.h"
#include "problems.h"
#include "tensors.h"

namespace hewn_test {

// The operator with its tensors, each in memory of its own between sentinels. The blocks are those
// of the scale. There is a zero point if the mode has one.
struct DynamicBlocks {
    Tensor input, output, scale;
    std::optional<Tensor> zero_point;
    reference::DynamicMode mode = reference::DynamicMode::asymmetric;
    float min_scale = 0;

    std::vector<Tensor *> outputs() {
        std::vector<Tensor *> all = {&output, &scale};
        if (zero_point) all.push_back(&*zero_point);
        return all;
    }
    Description description() const {
        return Description(HEWN_OPERATOR_DYNAMIC_QUANTIZE,
                           {input.desc(), output.desc(), scale.desc(),
                            zero_point ? std::optional(zero_point->desc()) : std::nullopt},
                           {int32_t(mode), int32_t(reference::to_bits(min_scale))});
    }
    std::vector<std::vector<uint8_t>> images() {
        std::vector<std::vector<uint8_t>> all;
        for (const Tensor *tensor : outputs()) all.push_back(tensor->memory);
        return all;
    }
    void restore(const std::vector<std::vector<uint8_t>> &images) {
        for (size_t i = 0; i < images.size(); i++)
            std::copy(images[i].begin(), images[i].end(), outputs()[i]->memory.begin());
    }
    // The first byte of the outputs' memory that differs from `expected`, as text; empty if none
    // does. Memory around the outputs is compared too.
    std::string difference(const std::vector<std::vector<uint8_t>> &expected) {
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
    // The bindings of the outputs; that of an absent zero point has no memory.
    std::vector<hewn_buffer_binding> bindings() {
        std::vector<hewn_buffer_binding> all;
        for (const Tensor *tensor : outputs()) all.push_back(tensor->binding());
        all.resize(3, {sizeof(hewn_buffer_binding), nullptr, 0, 0});
        return all;
    }
    // Calls f(offsets) for each element, with its offsets in the input, the output, the scale and
    // the zero point.
    template<class F>
    void for_each(const F &f) const {
        const std::vector<int64_t> ones(input.sizes.size(), 1);
        const auto blocks_of = [&](const Tensor &tensor) {
            return tensor.block_sizes.empty() ? ones : tensor.block_sizes;
        };
        const Tensor &z = zero_point ? *zero_point : scale;
        for_each_element(input.sizes, {input.strides, output.strides, scale.strides, z.strides},
                         {ones, ones, blocks_of(scale), blocks_of(z)}, f);
    }
};

// Gives the problem a scale for each block of these sizes, and a zero point if its mode has one.
inline void set_parameters(DynamicBlocks &problem, const std::vector<int64_t> &blocks,
                           hewn_data_type scale) {
    const std::vector<int64_t> &sizes = problem.input.sizes;
    std::vector<int64_t> strides(sizes.size());
    int64_t stride = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
        const int64_t count = (sizes[d] + blocks[d] - 1) / blocks[d];
        strides[d] = count > 1 ? stride : 0;
        stride *= std::max<int64_t>(count, 1);
    }
    problem.scale = Tensor(scale, sizes, strides, 0, blocks);
    if (problem.mode == reference::DynamicMode::asymmetric)
        problem.zero_point.emplace(Tensor(problem.output.type, sizes, strides, 0, blocks));
}

// Sizes of blocks: along each dimension one index, all of them, or some. The last block is short in
// three dimensions at most.
inline std::vector<int64_t> random_blocks(const std::vector<int64_t> &sizes, Random &random) {
    static const std::vector<int64_t> likely = {1, 2, 3, 8, 16, 32, 64, 128};
    std::vector<int64_t> blocks;
    int left = 3;
    for (const int64_t size : sizes) {
        int64_t block = random.one_in(3)   ? 1
                        : random.one_in(2) ? std::max<int64_t>(size, 1)
                                           : random.pick(likely);
        if (block < size && size % block != 0 && left-- <= 0) block = 1;
        blocks.push_back(block);
    }
    return blocks;
}

// The modes that an output of this type has.
inline std::vector<reference::DynamicMode> modes_of(hewn_data_type output) {
    using Mode = reference::DynamicMode;
    if (is_code(output)) return {Mode::symmetric};
    return {Mode::asymmetric, Mode::symmetric, Mode::full};
}

// A problem of these types, in the first mode that the output has, whose tensors are contiguous.
// Its input has numbers around 0.
inline DynamicBlocks contiguous_blocks(const DataTypes &types, const std::vector<int64_t> &sizes,
                                       const std::vector<int64_t> &blocks, Random &random) {
    DynamicBlocks problem{
        Tensor(types[0], sizes), Tensor(types[1], sizes), {}, {}, modes_of(types[1])[0], 0};
    set_parameters(problem, blocks, HEWN_DATA_TYPE_FLOAT32);
    fill_normal(problem.input, random);
    return problem;
}

// A problem of these types with any layout and any blocks, and its input's contents.
inline DynamicBlocks random_blocks_problem(hewn_data_type input, hewn_data_type output,
                                           hewn_data_type scale, reference::DynamicMode mode,
                                           Random &random, int64_t most_elements) {
    Problem layouts = random_problem(HEWN_OPERATOR_QUANTIZE_LINEAR,
                                     {input, input, HEWN_DATA_TYPE_INT8, HEWN_DATA_TYPE_INT8},
                                     random, most_elements);
    const Tensor &like = layouts.output;
    Tensor of_output(output, like.sizes, like.strides, random.integer(0, 3));
    DynamicBlocks problem{std::move(*layouts.inputs[0]), std::move(of_output), {}, {}, mode, 0};
    set_parameters(problem, random_blocks(like.sizes, random), scale);
    if (mode != reference::DynamicMode::full && random.one_in(4))
        problem.min_scale = random.unit() * 0.1f;
    if (random.one_in(3)) fill_random(problem.input, random);
    else fill_normal(problem.input, random);
    return problem;
}

// Clears the bits after a sub-byte tensor's last element, in its byte, as hewn does.
inline void clear_after_last(const Tensor &tensor, uint8_t *memory) {
    if (const int64_t rest = tensor.span() * sub_byte_bits_of(tensor.type) % 8)
        memory[tensor.bytes() - 1] &= uint8_t((1 << rest) - 1);
}

// What the outputs' memory must hold after an execution, computed by the reference.
inline std::vector<std::vector<uint8_t>> expected_output(DynamicBlocks &problem) {
    std::vector<std::vector<uint8_t>> images = problem.images();
    const auto at = [&](size_t i) { return images[i].data() + problem.outputs()[i]->offset; };
    std::map<int64_t, reference::Range> ranges;  // by the scale's offset
    problem.for_each(
        [&](const int64_t *offsets) { ranges[offsets[2]].add(number(problem.input, offsets[0])); });
    if (ranges.empty()) return images;
    with_type<int8_t, uint8_t, i4, u4, f8e4m3fn, f8e5m2>(problem.output.type, [&](auto out) {
        with_type<float, f16, bf16>(problem.scale.type, [&](auto scale) {
            using Out = decltype(out);
            using Scale = decltype(scale);
            problem.for_each([&](const int64_t *offsets) {
                const reference::Range &range = ranges[offsets[2]];
                const Scale s =
                    reference::dynamic_scale<Out, Scale>(range, problem.mode, problem.min_scale);
                const Out z = reference::dynamic_zero_point<Out>(range, s, problem.mode);
                set_element(at(1), offsets[2], s);
                if (problem.zero_point) set_element(at(2), offsets[3], z);
                set_element(at(0), offsets[1],
                            reference::quantize_linear(number(problem.input, offsets[0]), s, z));
            });
        });
    });
    for (size_t i = 0; i < images.size(); i++) clear_after_last(*problem.outputs()[i], at(i));
    return images;
}

}  // namespace hewn_test
