// DYNAMIC_QUANTIZE, MX_QUANTIZE and NVFP4_QUANTIZE with their tensors, and their expected results.
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
#include "mx.h"
#include "nvfp4.h"
#include "problems.h"
#include "tensors.h"

namespace hewn_test {

// An operator that chooses a scale for each block, with its tensors, each in memory of its own
// between sentinels. The blocks are those of the scale. DYNAMIC_QUANTIZE has a zero point if its
// mode has one. NVFP4_QUANTIZE has a scale of the tensor, which is given or an output.
struct BlockProblem {
    Tensor input, output, scale;
    std::optional<Tensor> zero_point;
    reference::DynamicMode mode = reference::DynamicMode::asymmetric;
    float min_scale = 0;
    hewn_operator_type op = HEWN_OPERATOR_DYNAMIC_QUANTIZE;
    reference::MxScaleMode scale_mode = reference::MxScaleMode::floor;
    std::optional<Tensor> tensor_scale = {};
    bool gives_tensor_scale = false;

    std::vector<Tensor *> inputs() {
        std::vector<Tensor *> all = {&input};
        if (tensor_scale) all.push_back(gives_tensor_scale ? &*tensor_scale : nullptr);
        return all;
    }
    std::vector<Tensor *> outputs() {
        std::vector<Tensor *> all = {&output, &scale};
        if (zero_point) all.push_back(&*zero_point);
        if (tensor_scale && !gives_tensor_scale) all.push_back(&*tensor_scale);
        return all;
    }
    Description description() const {
        const auto desc = [](const std::optional<Tensor> &tensor, bool present) {
            return present ? std::optional(tensor->desc()) : std::nullopt;
        };
        switch (op) {
        case HEWN_OPERATOR_MX_QUANTIZE:
            return Description(op, {input.desc(), output.desc(), scale.desc()},
                               {int32_t(scale_mode)});
        case HEWN_OPERATOR_NVFP4_QUANTIZE:
            return Description(op,
                               {input.desc(), desc(tensor_scale, gives_tensor_scale), output.desc(),
                                scale.desc(), desc(tensor_scale, !gives_tensor_scale)});
        default:
            return Description(op,
                               {input.desc(), output.desc(), scale.desc(),
                                desc(zero_point, zero_point.has_value())},
                               {int32_t(mode), int32_t(reference::to_bits(min_scale))});
        }
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
    // How many outputs the operator has, present and absent ones.
    size_t output_count() const { return op == HEWN_OPERATOR_MX_QUANTIZE ? 2 : 3; }
    // The bindings of the inputs, and of the outputs. Those of absent tensors have no memory.
    std::vector<hewn_buffer_binding> input_bindings() {
        std::vector<hewn_buffer_binding> all;
        for (const Tensor *tensor : inputs()) all.push_back(tensor ? tensor->binding() : ABSENT);
        return all;
    }
    std::vector<hewn_buffer_binding> bindings() {
        std::vector<hewn_buffer_binding> all;
        for (const Tensor *tensor : outputs()) all.push_back(tensor->binding());
        all.resize(output_count(), ABSENT);
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

private:
    static constexpr hewn_buffer_binding ABSENT = {sizeof(hewn_buffer_binding), nullptr, 0, 0};
};

// Gives the problem a scale for each block of these sizes, a zero point if its mode has one, and
// NVFP4's scale of the tensor. If it has none yet, that is an output.
inline void set_parameters(BlockProblem &problem, const std::vector<int64_t> &blocks,
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
    if (problem.op == HEWN_OPERATOR_NVFP4_QUANTIZE && !problem.tensor_scale)
        problem.tensor_scale.emplace(
            Tensor(HEWN_DATA_TYPE_FLOAT32, std::vector<int64_t>(sizes.size(), 1)));
    if (problem.op == HEWN_OPERATOR_DYNAMIC_QUANTIZE &&
        problem.mode == reference::DynamicMode::asymmetric)
        problem.zero_point.emplace(Tensor(problem.output.type, sizes, strides, 0, blocks));
}

// Sizes of blocks: along each dimension one index, all of them, or some. The last block is short in
// three dimensions at most. Blocks of other operators than DYNAMIC_QUANTIZE lie along one
// dimension.
inline std::vector<int64_t> random_blocks(hewn_operator_type op, const std::vector<int64_t> &sizes,
                                          Random &random) {
    static const std::vector<int64_t> likely = {1, 2, 3, 8, 16, 32, 64, 128};
    const size_t only = size_t(random.integer(0, int64_t(sizes.size()) - 1));
    std::vector<int64_t> blocks(sizes.size(), 1);
    int left = 3;
    for (size_t d = 0; d < sizes.size(); d++) {
        if (op != HEWN_OPERATOR_DYNAMIC_QUANTIZE && d != only) continue;
        const int64_t size = sizes[d];
        int64_t block = random.one_in(3)   ? 1
                        : random.one_in(2) ? std::max<int64_t>(size, 1)
                                           : random.pick(likely);
        if (block < size && size % block != 0 && left-- <= 0) block = 1;
        blocks[d] = block;
    }
    return blocks;
}

// The modes that an output of this type has.
inline std::vector<reference::DynamicMode> modes_of(hewn_data_type output) {
    using Mode = reference::DynamicMode;
    if (is_code(output)) return {Mode::symmetric};
    return {Mode::asymmetric, Mode::symmetric, Mode::full};
}

// The types that an operator's scale may have.
inline std::vector<hewn_data_type> scale_types(hewn_operator_type op) {
    switch (op) {
    case HEWN_OPERATOR_MX_QUANTIZE: return {HEWN_DATA_TYPE_FLOAT8E8M0};
    case HEWN_OPERATOR_NVFP4_QUANTIZE: return {HEWN_DATA_TYPE_FLOAT8E4M3FN};
    default: return {HEWN_DATA_TYPE_FLOAT32, HEWN_DATA_TYPE_FLOAT16, HEWN_DATA_TYPE_BFLOAT16};
    }
}

// A problem of an operator whose tensors have these types and are contiguous, in the first mode
// that the output has. Its input has numbers around 0.
inline BlockProblem contiguous_blocks(hewn_operator_type op, const DataTypes &types,
                                      const std::vector<int64_t> &sizes,
                                      const std::vector<int64_t> &blocks, Random &random) {
    const hewn_data_type output = types[facts(op).inputs()];
    BlockProblem problem{
        Tensor(types[0], sizes), Tensor(output, sizes), {}, {}, modes_of(output)[0], 0, op};
    set_parameters(problem, blocks, scale_types(op)[0]);
    fill_normal(problem.input, random);
    return problem;
}

// A problem of these types with any layout and any blocks, and its input's contents.
inline BlockProblem random_blocks_problem(hewn_operator_type op, hewn_data_type input,
                                          hewn_data_type output, hewn_data_type scale,
                                          reference::DynamicMode mode, Random &random,
                                          int64_t most_elements) {
    Problem layouts = random_problem(HEWN_OPERATOR_QUANTIZE_LINEAR,
                                     {input, input, HEWN_DATA_TYPE_INT8, HEWN_DATA_TYPE_INT8},
                                     random, most_elements);
    const Tensor &like = layouts.output;
    Tensor of_output(output, like.sizes, like.strides, random.integer(0, 3));
    BlockProblem problem{std::move(*layouts.inputs[0]), std::move(of_output), {}, {}, mode, 0, op};
    set_parameters(problem, random_blocks(op, like.sizes, random), scale);
    if (op == HEWN_OPERATOR_DYNAMIC_QUANTIZE && mode != reference::DynamicMode::full &&
        random.one_in(4))
        problem.min_scale = random.unit() * 0.1f;
    problem.scale_mode = reference::MxScaleMode(random.integer(0, 2));
    if (random.one_in(3)) fill_random(problem.input, random);
    else fill_normal(problem.input, random);
    if (problem.tensor_scale && random.one_in(2)) {
        problem.gives_tensor_scale = true;
        set_float(*problem.tensor_scale, 0,
                  random.one_in(8) ? random.pick(special_f32())
                                   : random.unit() * power_of_two(int(random.integer(-20, 9))));
    }
    return problem;
}

// Clears the bits after a sub-byte tensor's last element, in its byte, as hewn does.
inline void clear_after_last(const Tensor &tensor, uint8_t *memory) {
    if (const int64_t rest = tensor.span() * sub_byte_bits_of(tensor.type) % 8)
        memory[tensor.bytes() - 1] &= uint8_t((1 << rest) - 1);
}

// Writes what an operator must compute into the outputs' memory, which begins at at(i).
template<class At>
void compute_dynamic(const BlockProblem &problem, const At &at) {
    std::map<int64_t, reference::Range> ranges;  // by the scale's offset
    problem.for_each(
        [&](const int64_t *offsets) { ranges[offsets[2]].add(number(problem.input, offsets[0])); });
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
}

// The largest magnitude of each block, by the scale's offset.
inline std::map<int64_t, reference::Magnitude> largest_of_blocks(const BlockProblem &problem) {
    std::map<int64_t, reference::Magnitude> largest;
    problem.for_each([&](const int64_t *offsets) {
        largest[offsets[2]].add(number(problem.input, offsets[0]));
    });
    return largest;
}

template<class At>
void compute_mx(const BlockProblem &problem, const At &at) {
    const auto largest = largest_of_blocks(problem);
    with_type<int8_t, f8e4m3fn, f8e5m2, f6e2m3, f6e3m2, f4e2m1>(problem.output.type, [&](auto out) {
        using Out = decltype(out);
        problem.for_each([&](const int64_t *offsets) {
            const f8e8m0 s = reference::mx_scale<Out>(largest.at(offsets[2]), problem.scale_mode);
            set_element(at(1), offsets[2], s);
            set_element(at(0), offsets[1],
                        reference::mx_quantize<Out>(number(problem.input, offsets[0]), s));
        });
    });
}

template<class At>
void compute_nvfp4(const BlockProblem &problem, const At &at) {
    const auto largest = largest_of_blocks(problem);
    reference::Magnitude tensor;
    for (const auto &[offset, block] : largest) reference::nvfp4_add(tensor, block);
    const float ts = problem.gives_tensor_scale ? problem.tensor_scale->at<float>(0)
                                                : reference::nvfp4_tensor_scale(tensor);
    if (!problem.gives_tensor_scale) set_element(at(2), 0, ts);
    problem.for_each([&](const int64_t *offsets) {
        const f8e4m3fn s = reference::nvfp4_scale(largest.at(offsets[2]), ts);
        set_element(at(1), offsets[2], s);
        set_element(at(0), offsets[1],
                    reference::nvfp4_quantize(number(problem.input, offsets[0]), s, ts));
    });
}

// What the outputs' memory must hold after an execution, computed by the reference.
inline std::vector<std::vector<uint8_t>> expected_output(BlockProblem &problem) {
    std::vector<std::vector<uint8_t>> images = problem.images();
    const auto at = [&](size_t i) { return images[i].data() + problem.outputs()[i]->offset; };
    switch (problem.op) {
    case HEWN_OPERATOR_MX_QUANTIZE: compute_mx(problem, at); break;
    case HEWN_OPERATOR_NVFP4_QUANTIZE: compute_nvfp4(problem, at); break;
    default: compute_dynamic(problem, at); break;
    }
    if (element_count(problem.input.sizes) == 0) return images;
    for (size_t i = 0; i < images.size(); i++) clear_after_last(*problem.outputs()[i], at(i));
    return images;
}

}  // namespace hewn_test
