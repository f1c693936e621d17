#include "problems.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace hewn_test {

std::vector<int64_t> strides_of(Layout layout, const std::vector<int64_t> &sizes, int64_t padding) {
    const size_t rank = sizes.size();
    std::vector<int64_t> strides(rank, 0);
    if (rank == 0 || layout == Layout::scalar) return strides;
    if (layout != Layout::per_row) strides[rank - 1] = 1;
    if (layout == Layout::per_column) return strides;
    int64_t stride =
        (layout == Layout::dense ? std::max<int64_t>(sizes[rank - 1], 1) : 1) + padding;
    for (size_t d = rank - 1; d-- > 0; stride *= std::max<int64_t>(sizes[d], 1))
        strides[d] = stride;
    return strides;
}

std::vector<size_t> free_inputs(hewn_operator_type op) {
    std::vector<size_t> free;
    for (size_t i = 0; i < facts(op).inputs(); i++) {
        if (!facts(op).is_one_element(i)) free.push_back(i);
    }
    return free;
}

namespace {

// A parameter of an activation: one that models have, one that changes signs or bounds nothing, or
// any number.
float random_parameter(Random &random) {
    static const std::vector<float> likely = {0,     1,     -1,     0.01f,     0.1f,       0.5f,
                                              2,     -0.5f, 6,      0x1p-149f, -0x1p-130f, 0x1p120f,
                                              -0.0f, 3e38f, -1e-4f, HUGE_VALF, -HUGE_VALF};
    if (random.one_in(2)) return random.pick(likely);
    const float any = random_value<float>(random);
    return std::isnan(any) ? 0.2f : any;
}

}  // namespace

std::vector<int32_t> with_parameters(hewn_operator_type op, const std::vector<int32_t> &choices,
                                     Random &random) {
    std::vector<int32_t> all;
    int32_t chosen = 0;
    size_t next = 0;
    for (const AttributeFacts &attribute : facts(op).attributes) {
        if (!attribute.of) all.push_back(chosen = next < choices.size() ? choices[next++] : 0);
        else
            all.push_back(attribute.of >> chosen & 1
                              ? int32_t(reference::to_bits(random_parameter(random)))
                              : 0);
    }
    return all;
}

std::vector<int32_t> random_attributes(hewn_operator_type op, Random &random) {
    std::vector<int32_t> choices;
    for (const AttributeFacts &attribute : facts(op).attributes)
        if (!attribute.of)
            choices.push_back(int32_t(random.integer(0, int64_t(attribute.words.size()) - 1)));
    return with_parameters(op, choices, random);
}

Problem make_problem(hewn_operator_type op, const std::vector<hewn_data_type> &types,
                     const std::vector<int64_t> &sizes,
                     const std::vector<std::vector<int64_t>> &strides,
                     const std::vector<int64_t> &output_strides, Random &random) {
    const bool aligned = random.one_in(2);
    const auto misalignment = [&](hewn_data_type type) {
        return aligned ? 0 : random.integer(0, 63 / int64_t(element_bytes(type)));
    };
    Problem problem;
    problem.op = op;
    problem.attributes = random_attributes(op, random);
    // With a `precision`, QUANTIZE_LINEAR may need another kernel than that of its types.
    if (op == HEWN_OPERATOR_QUANTIZE_LINEAR) problem.attributes[0] = HEWN_PRECISION_FLOAT32;
    problem.output = Tensor(types.back(), sizes, output_strides, misalignment(types.back()));
    const std::vector<size_t> free = free_inputs(op);
    const std::vector<int64_t> ones(sizes.size(), 1);
    for (size_t i = 0; i + 1 < types.size(); i++) {
        const auto position = std::find(free.begin(), free.end(), i);
        if (position == free.end())
            problem.inputs.emplace_back(Tensor(types[i], ones, ones, misalignment(types[i])));
        else
            problem.inputs.emplace_back(Tensor(types[i], sizes,
                                               strides.at(size_t(position - free.begin())),
                                               misalignment(types[i])));
    }
    return problem;
}

Problem make_problem(hewn_operator_type op, const std::vector<hewn_data_type> &types,
                     const std::vector<int64_t> &sizes, const std::vector<Layout> &layouts,
                     Random &random, int64_t padding) {
    std::vector<std::vector<int64_t>> strides;
    for (const Layout layout : layouts) strides.push_back(strides_of(layout, sizes, padding));
    return make_problem(op, types, sizes, strides, strides_of(Layout::dense, sizes, padding),
                        random);
}

std::vector<std::vector<Layout>> all_layouts(hewn_operator_type op,
                                             const std::vector<Layout> &choices) {
    std::vector<std::vector<Layout>> all{{}};
    for (size_t i = 0; i < free_inputs(op).size(); i++) {
        std::vector<std::vector<Layout>> longer;
        for (const auto &layouts : all) {
            for (const Layout choice : choices) {
                longer.push_back(layouts);
                longer.back().push_back(choice);
            }
        }
        all = std::move(longer);
    }
    return all;
}

std::vector<Layout> all_dense(hewn_operator_type op) {
    return std::vector<Layout>(free_inputs(op).size(), Layout::dense);
}

std::vector<Layout> per_tensor(hewn_operator_type op) {
    std::vector<Layout> layouts;
    for (const size_t i : free_inputs(op))
        layouts.push_back(facts(op).is_parameter(i) ? Layout::scalar : Layout::dense);
    return layouts;
}

namespace {

// Strides of a tensor whose dimensions lie in memory in any order and with any gaps. No two
// elements share memory, except along dimensions with `broadcast` set.
std::vector<int64_t> random_strides(const std::vector<int64_t> &sizes,
                                    const std::vector<bool> &broadcast, Random &random) {
    std::vector<size_t> order(sizes.size());  // innermost first
    std::iota(order.begin(), order.end(), size_t(0));
    std::reverse(order.begin(), order.end());
    if (random.one_in(2)) random.shuffle(order);
    std::vector<int64_t> strides(sizes.size(), 0);
    int64_t stride = random.one_in(8) ? random.integer(2, 5) : 1;
    for (const size_t d : order) {
        if (broadcast[d]) continue;
        strides[d] = stride;
        stride *= std::max<int64_t>(sizes[d], 1);
        if (random.one_in(8)) stride += random.integer(1, 7);
    }
    // The stride of a dimension of size 1 means nothing, so it may be any number.
    for (size_t d = 0; d < sizes.size(); d++) {
        if (sizes[d] == 1 && random.one_in(4)) strides[d] = random.integer(0, 1000);
    }
    return strides;
}

std::vector<int64_t> random_sizes(Random &random, int64_t max_elements) {
    std::vector<int64_t> sizes(size_t(random.integer(1, 8)));
    int64_t elements = 1;
    for (int64_t &size : sizes) {
        size = random.one_in(4)   ? random.integer(1, 300)
               : random.one_in(8) ? 1
                                  : random.integer(1, 6);
        if (elements * size > max_elements) size = 1;
        elements *= size;
    }
    random.shuffle(sizes);
    if (random.one_in(200)) sizes[0] = 0;
    return sizes;
}

}  // namespace

namespace {

// Block sizes, mostly 1: sometimes there are blocks along one or two dimensions. The last block of
// at most one dimension is short, and of none if blocks must be `whole`.
std::vector<int64_t> random_block_sizes(const std::vector<int64_t> &sizes, bool whole,
                                        Random &random) {
    std::vector<int64_t> block_sizes(sizes.size(), 1);
    bool divides = whole;
    for (int64_t left = random.one_in(3) ? random.integer(1, 2) : 0; left > 0; left--) {
        const size_t d = size_t(random.integer(0, int64_t(sizes.size()) - 1));
        const int64_t block = random.one_in(4) ? 16 : random.integer(1, 8);
        if (divides && sizes[d] % block != 0) continue;
        divides |= sizes[d] % block != 0;
        if (block_sizes[d] == 1) block_sizes[d] = block;
    }
    return block_sizes;
}

std::vector<int64_t> stored_sizes(std::vector<int64_t> sizes,
                                  const std::vector<int64_t> &block_sizes) {
    for (size_t d = 0; d < sizes.size(); d++)
        sizes[d] = (sizes[d] + block_sizes[d] - 1) / block_sizes[d];
    return sizes;
}

}  // namespace

Problem random_problem(hewn_operator_type op, const std::vector<hewn_data_type> &types,
                       Random &random, int64_t max_elements) {
    const std::vector<int64_t> sizes = random_sizes(random, max_elements);
    const size_t rank = sizes.size();
    const std::vector<bool> none(rank, false);
    std::vector<std::vector<int64_t>> strides, blocks;
    const std::vector<int64_t> ones(rank, 1),
        in_blocks = random_block_sizes(sizes, facts(op).has_whole_blocks(), random);
    const std::vector<size_t> free = free_inputs(op);
    for (const size_t i : free) {
        std::vector<bool> broadcast = none;
        blocks.push_back(facts(op).is_parameter(i) && !random.one_in(4) ? in_blocks : ones);
        const int64_t kind = random.integer(facts(op).is_parameter(i) ? 0 : 2, 5);
        if (kind <= 1) {  // a parameter: per tensor or per axis
            broadcast.assign(rank, true);
            if (kind == 1) broadcast[size_t(random.integer(0, int64_t(rank) - 1))] = false;
        } else if (kind <= 4) {
            for (size_t d = 0; d < rank; d++) broadcast[d] = random.one_in(3);
        }
        strides.push_back(random_strides(stored_sizes(sizes, blocks.back()), broadcast, random));
        if (random.one_in(16)) {  // any strides at all, so that rows may overlap
            for (int64_t &stride : strides.back()) stride = random.integer(0, 9);
        }
    }
    const std::vector<int64_t> output_strides = random_strides(sizes, none, random);
    uint32_t in_place = facts(op).in_place && random.one_in(4) ? uint32_t(random.integer(1, 3)) : 0;
    for (size_t i = 0; i < strides.size(); i++) {
        if (in_place >> i & 1) strides[i] = output_strides;
    }
    Problem problem = make_problem(op, types, sizes, strides, output_strides, random);
    problem.in_place = in_place;
    for (size_t i = 0; i < free.size(); i++) {
        if (blocks[i] != ones)
            problem.inputs[free[i]].emplace(
                Tensor(types[free[i]], sizes, strides[i], 0, blocks[i]));
    }
    for (size_t i = 0; i < problem.inputs.size(); i++) {
        // One element may also be described with the output's sizes and with strides of 0.
        if (facts(op).is_one_element(i) && random.one_in(4))
            problem.inputs[i].emplace(Tensor(types[i], sizes, std::vector<int64_t>(rank, 0)));
        if (facts(op).tensors[i].role == Role::zero_point && random.one_in(8))
            problem.inputs[i].reset();
    }
    return problem;
}

}  // namespace hewn_test
