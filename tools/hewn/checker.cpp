#include "checker.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../reference/elements.h"

namespace hewn::cli {

namespace {

using namespace hewn_test;
using Bytes = std::vector<uint8_t>;
using Bindings = std::vector<hewn_buffer_binding>;

constexpr hewn_buffer_binding ABSENT = {sizeof(hewn_buffer_binding), nullptr, 0, 0};

// ---- Executing ----

hewn::Operator compile(const Problem &problem, const Way &way, const Device *device) {
    Bindings constants = problem.bindings();
    for (size_t i = 0; i < constants.size(); i++)
        if (!facts(problem.op).is_parameter(i)) constants[i] = ABSENT;
    const hewn_compile_options options = {sizeof options,
                                          HEWN_FEATURE_LEVEL_NEWEST,
                                          way.variant.c_str(),
                                          0,
                                          nullptr,
                                          nullptr,
                                          way.constants ? constants.data() : nullptr,
                                          way.constants ? uint32_t(constants.size()) : 0};
    hewn_operator *op = nullptr;
    hewn_error error = {sizeof error, HEWN_STATUS_OK, {}};
    if (hewn_compile(device ? device->get() : nullptr, problem.description().get(), &options, &op,
                     &error))
        throw Error(error);
    return hewn::Operator(op);
}

void execute_bound(const hewn::Operator &op, const Way &way, const Bindings &inputs,
                   const hewn_buffer_binding &output) {
    const uint32_t count = uint32_t(inputs.size());
    hewn_error error = {sizeof error, HEWN_STATUS_OK, {}};
    if (!way.bound) {
        if (hewn_execute(op.get(), inputs.data(), count, &output, 1, nullptr, &error))
            throw Error(error);
        return;
    }
    hewn_bound_operator *handle = nullptr;
    if (hewn_bind(op.get(), inputs.data(), count, &output, 1, nullptr, &handle, &error))
        throw Error(error);
    BoundOperator(handle).run();
}

void execute_on(const Device &device, const hewn::Operator &op, const Way &way, Problem &problem,
                Bindings inputs) {
    Copies copies(&device);
    const hewn_buffer_binding output = copies.binding(problem.output);
    for (size_t i = 0; i < inputs.size(); i++) {
        if (inputs[i].buffer)
            inputs[i] = problem.in_place >> i & 1 ? output : copies.binding(*problem.inputs[i]);
    }
    execute_bound(op, way, inputs, output);
    copies.read_back();
}

void execute(Problem &problem, const Way &way, const Device *device) {
    const hewn::Operator op = compile(problem, way, device);
    Bindings inputs = problem.bindings();
    for (size_t i = 0; i < inputs.size(); i++)
        if (way.constants && facts(problem.op).is_parameter(i)) inputs[i] = ABSENT;
    if (device) execute_on(*device, op, way, problem, inputs);
    else execute_bound(op, way, inputs, problem.output.binding());
    if (way.variant != op.variant())
        throw std::runtime_error("ran " + std::string(op.variant()) + " instead");
}

// ---- Comparing ----

// The memory of all tensors, the output's last.
std::vector<Bytes> memory_of(const Problem &problem) {
    std::vector<Bytes> memory;
    for (const auto &input : problem.inputs) memory.push_back(input ? input->memory : Bytes());
    memory.push_back(problem.output.memory);
    return memory;
}
void restore(Problem &problem, const std::vector<Bytes> &memory) {
    for (size_t i = 0; i < problem.inputs.size(); i++)
        if (problem.inputs[i])
            std::copy(memory[i].begin(), memory[i].end(), problem.inputs[i]->memory.begin());
    std::copy(memory.back().begin(), memory.back().end(), problem.output.memory.begin());
}

// Calls f(number, offsets) for every element.
template<class F>
void for_each(const Problem &problem, F &&f) {
    const Evaluation all = problem.evaluation();
    int64_t number = 0;
    for_each_element(all.sizes, all.strides, all.block_sizes,
                     [&](const int64_t *offsets) { f(number++, offsets); });
}

void count_differences(const Problem &problem, const Tensor &expected, Difference &result) {
    const size_t last = problem.inputs.size();
    with_any_type(problem.output.type, [&](auto tag) {
        using T = decltype(tag);
        for_each(problem, [&](int64_t number, const int64_t *offsets) {
            const int64_t at = offsets[last];
            if (reference::same(expected.at<T>(at), problem.output.at<T>(at))) return;
            if (result.count++ == 0) result.first = number;
        });
    });
}

Tensor copy_of(const Tensor &tensor) {
    Tensor copy(tensor.type, tensor.sizes, tensor.strides, 0, tensor.block_sizes);
    copy.memory = tensor.memory;
    copy.offset = tensor.offset;
    return copy;
}

// ---- Shrinking ----

using Fails = std::function<bool(Problem &)>;

// `count` elements from element `first` on, as dense tensors of one dimension.
Problem part_of(const Problem &problem, int64_t first, int64_t count) {
    Problem part;
    part.op = problem.op;
    part.attributes = problem.attributes;
    part.output = Tensor(problem.output.type, {count});
    for (size_t i = 0; i < problem.inputs.size(); i++) {
        part.inputs.emplace_back();
        if (!problem.inputs[i]) continue;
        const bool one = facts(problem.op).is_one_element(i);
        part.inputs[i].emplace(Tensor(problem.inputs[i]->type, {one ? 1 : count}));
    }
    for_each(problem, [&](int64_t number, const int64_t *offsets) {
        if (number < first || number >= first + count) return;
        for (size_t i = 0; i < problem.inputs.size(); i++) {
            if (!part.inputs[i]) continue;
            const int64_t to = facts(problem.op).is_one_element(i) ? 0 : number - first;
            const Tensor &from = problem.in_place >> i & 1 ? problem.output : *problem.inputs[i];
            with_any_type(from.type, [&](auto tag) {
                part.inputs[i]->set(to, from.at<decltype(tag)>(offsets[i]));
            });
        }
    });
    return part;
}

// The shortest part of a dense problem that still fails. It cuts off half at either end while the
// rest fails, and then ever less, down to single elements.
Problem shortest(Problem problem, const Fails &fails) {
    int64_t step = std::max<int64_t>(problem.output.sizes[0] / 2, 1);
    for (int64_t count; (count = problem.output.sizes[0]) > 1;) {
        Problem front = part_of(problem, 0, count - std::min(step, count - 1)),
                end =
                    part_of(problem, std::min(step, count - 1), count - std::min(step, count - 1));
        if (fails(front)) problem = std::move(front);
        else if (fails(end)) problem = std::move(end);
        else if (step == 1) break;
        else step = (step + 1) / 2;
    }
    return problem;
}

// Values to try instead of `value`, the simplest first: 0, 1, and then the value with ever fewer of
// its low bits cleared.
template<class T>
std::vector<T> simpler(T value) {
    std::vector<T> values = {T{}};
    if constexpr (is_float<T>) values.push_back(reference::from_f32<T>(1));
    else values.push_back(T(1));
    uint64_t bits = 0;
    set_element(&bits, 0, value);
    for (size_t cleared = 8 * sizeof value - 1; cleared > 0; cleared--) {
        const uint64_t left = bits >> cleared << cleared;
        values.push_back(element<T>(&left, 0));
    }
    return values;
}

// Replaces each element of the inputs by the simplest value with which the problem still fails.
void simplify_values(Problem &problem, const Fails &fails) {
    for (auto &input : problem.inputs) {
        if (!input) continue;
        with_any_type(input->type, [&](auto tag) {
            for (int64_t at = 0; at < input->span(); at++) {
                const auto value = input->at<decltype(tag)>(at);
                for (const auto &simple : simpler(value)) {
                    input->set(at, simple);
                    if (fails(problem)) break;
                    input->set(at, value);
                }
            }
        });
    }
}

void set_size(Problem &problem, size_t d, int64_t size) {
    problem.output.sizes[d] = size;
    for (size_t i = 0; i < problem.inputs.size(); i++)
        if (problem.inputs[i] && !facts(problem.op).is_one_element(i))
            problem.inputs[i]->sizes[d] = size;
}

// A problem that fails only in its layout: the smallest sizes that fail, in the same memory.
Problem cropped(Problem problem, const Fails &fails) {
    for (size_t d = 0; d < problem.output.sizes.size(); d++) {
        for (int64_t least = 0, size; least < (size = problem.output.sizes[d]) - 1;) {
            const int64_t middle = least + (size - least) / 2;
            set_size(problem, d, middle);
            if (fails(problem)) continue;
            set_size(problem, d, size);
            least = middle;
        }
    }
    return problem;
}

Problem copy_of(const Problem &problem) {
    Problem copy;
    copy.op = problem.op;
    copy.attributes = problem.attributes;
    copy.in_place = problem.in_place;
    copy.output = copy_of(problem.output);
    for (const auto &input : problem.inputs) {
        copy.inputs.emplace_back();
        if (input) copy.inputs.back().emplace(copy_of(*input));
    }
    return copy;
}

}  // namespace

hewn_buffer_binding Copies::binding(Tensor &tensor) {
    if (!device_) return tensor.binding();
    copies_.emplace_back(DeviceMemory(*device_, tensor.memory.size()), &tensor);
    DeviceMemory &copy = copies_.back().first;
    copy.write(tensor.memory.data(), tensor.memory.size());
    return {sizeof(hewn_buffer_binding), copy.get(), tensor.offset, tensor.bytes()};
}
void Copies::read_back() {
    for (const auto &[copy, tensor] : copies_)
        copy.read(tensor->memory.data(), tensor->memory.size());
}

Difference check(Problem &problem, const Way &way, const Device *device) {
    const std::vector<Bytes> before = memory_of(problem);
    Tensor expected = copy_of(problem.output);
    evaluate_reference(problem, expected.memory);
    Difference result;
    try {
        execute(problem, way, device);
        result.text = difference(problem, expected.memory, problem.output.memory);
        if (!result.text.empty()) count_differences(problem, expected, result);
        for (size_t i = 0; i < problem.inputs.size() && result.text.empty(); i++) {
            if (problem.inputs[i] && problem.inputs[i]->memory != before[i])
                result.text = "input " + std::to_string(i) + " was written; " + describe(problem);
        }
    } catch (const std::exception &error) {
        result.text = std::string(error.what()) + "; " + describe(problem);
    }
    restore(problem, before);
    return result;
}

Problem smallest(const Problem &problem, const Way &way, const Device *device) {
    const Fails fails = [&](Problem &smaller) { return !check(smaller, way, device).text.empty(); };
    Problem whole = copy_of(problem);
    const Difference found = check(whole, way, device);
    Problem one = part_of(problem, found.first, 1);
    if (!fails(one)) {
        Problem dense = part_of(problem, 0, element_count(problem.output.sizes));
        if (!fails(dense)) return cropped(std::move(whole), fails);
        one = shortest(std::move(dense), fails);
    }
    simplify_values(one, fails);
    return one;
}

}  // namespace hewn::cli
