// Fuzzes compile, bind and execute with any layouts. Each variant that this machine's CPU can run
// must give the same bits as the reference, and must not touch memory outside its tensors: each
// tensor ends at a page that faults.
#include <hewn/hewn.hpp>

#include <memory>
#include <string>

#include "../../reference/contents.h"
#include "../../reference/problems.h"
#include "../../reference/variants.h"
#include "../../tools/hewn/checker.h"
#include "../support/mapping.h"
#include "fuzz.h"

namespace {

using namespace hewn_test;
using hewn_fuzz::Input, hewn_fuzz::fail;

// A kernel of an element-wise operator, with its variants that run here.
struct Kernel {
    hewn_operator_type op;
    std::vector<DataTypes> all_types;
    std::vector<std::string> variants;  // one for each target
};

const std::vector<Kernel> &kernels() {
    static const std::vector<Kernel> all = [] {
        std::map<std::string, Kernel> found;
        for (const hewn_variant_info &info : hewn::variants()) {
            if (!info.supported || info.device != HEWN_DEVICE_CPU) continue;
            const Variant variant = {info.name, info.operator_name, info.signature, info.target};
            if (!facts(variant.op()).is_elementwise()) continue;
            Kernel &kernel = found[variant.operator_name + "_" + variant.signature];
            kernel.op = variant.op();
            kernel.all_types = variant.all_types();
            kernel.variants.push_back(variant.name);
        }
        std::vector<Kernel> kernels;
        for (const auto &[name, kernel] : found) kernels.push_back(kernel);
        return kernels;
    }();
    return all;
}

// Strides of a tensor of these sizes, in either order of dimensions and with gaps. If `may_repeat`,
// some of them are 0.
std::vector<int64_t> strides_of(const std::vector<int64_t> &sizes, bool may_repeat, Input &input) {
    const uint8_t repeats = may_repeat ? input.take<uint8_t>() & input.take<uint8_t>() : 0;
    const bool columns_first = input.one_in(4);
    std::vector<int64_t> strides(sizes.size(), 0);
    int64_t stride = 1 + int64_t(input.one_in(4) ? input.below(4) : 0);
    for (size_t i = 0; i < sizes.size(); i++) {
        const size_t d = columns_first ? i : sizes.size() - 1 - i;
        if (repeats >> d & 1) continue;
        strides[d] = stride;
        stride *= std::max<int64_t>(sizes[d], 1);
        if (input.one_in(8)) stride += int64_t(input.below(6));
    }
    return strides;
}

// One to five sizes, with at most 8192 elements in all. Sizes may be 0.
std::vector<int64_t> sizes_of(Input &input) {
    std::vector<int64_t> sizes(1 + input.below(5));
    int64_t elements = 1;
    for (int64_t &size : sizes) {
        size = int64_t(input.below(input.one_in(3) ? 256 : 12));
        if (elements * size > 8192) size = 1;
        elements *= std::max<int64_t>(size, 1);
    }
    return sizes;
}

// A problem of the kernel. Its contents are random, but always the same for the same bytes.
Problem problem_of(const Kernel &kernel, Input &input) {
    const DataTypes &types = input.pick(kernel.all_types);
    const std::vector<int64_t> sizes = sizes_of(input);
    std::vector<std::vector<int64_t>> strides;
    for (size_t i = free_inputs(kernel.op).size(); i > 0; i--)
        strides.push_back(strides_of(sizes, true, input));
    const std::vector<int64_t> output = strides_of(sizes, false, input);
    const bool in_place = facts(kernel.op).in_place && input.one_in(4);
    if (in_place) strides[0] = output;
    const Scales scales = input.one_in(2) ? Scales::ordinary : Scales::extraordinary;
    Random random(input.rest());
    Problem problem = make_problem(kernel.op, types, sizes, strides, output, random);
    problem.in_place = in_place;
    fill_inputs(problem, random, scales);
    return problem;
}

// Executes with every tensor at the end of pages of its own, and compares with the reference.
void execute_guarded(Problem &problem, const std::string &variant) {
    static std::vector<std::unique_ptr<GuardedPages>> pages;
    const hewn_compile_options options = {sizeof options,  HEWN_FEATURE_LEVEL_NEWEST,
                                          variant.c_str(), 0,
                                          nullptr,         nullptr,
                                          nullptr,         0};
    hewn_operator *handle = nullptr;
    hewn_error error = {sizeof error, HEWN_STATUS_OK, {}};
    if (hewn_compile(nullptr, problem.description().get(), &options, &handle, &error))
        fail(variant + ": " + error.message + "; " + describe(problem));
    const hewn::Operator op(handle);
    std::vector<hewn_buffer_binding> bindings = problem.bindings();
    bindings.push_back(problem.output.binding());
    for (size_t i = 0; i < bindings.size(); i++) {
        if (pages.size() <= i) pages.push_back(std::make_unique<GuardedPages>(size_t(1) << 21));
        if (!bindings[i].buffer) continue;
        if (bindings[i].size > size_t(1) << 21) return;  // gaps made the tensor too large
        uint8_t *const memory = pages[i]->last(bindings[i].size);
        std::memcpy(memory, bindings[i].buffer, bindings[i].size);
        bindings[i].buffer = memory;
    }
    const hewn_buffer_binding output = bindings.back();
    bindings.pop_back();
    for (size_t i = 0; i < bindings.size(); i++)
        if (problem.in_place >> i & 1) bindings[i] = output;
    if (hewn_execute(handle, bindings.data(), uint32_t(bindings.size()), &output, 1, nullptr,
                     &error))
        fail(variant + ": " + error.message + "; " + describe(problem));
    std::vector<uint8_t> expected = problem.output.memory, actual = problem.output.memory;
    evaluate_reference(problem, expected);
    std::memcpy(actual.data() + problem.output.offset, output.buffer, output.size);
    const std::string wrong = difference(problem, expected, actual);
    if (!wrong.empty()) fail(variant + ": " + wrong);
}

}  // namespace

HEWN_FUZZ(executions) {
    static const bool seeded = (set_seed(1), true);
    (void)seeded;
    Input input(data, size);
    const Kernel &kernel = input.pick(kernels());
    hewn::cli::Way way = {"", input.one_in(2), input.one_in(2)};
    Problem problem = problem_of(kernel, input);
    for (const std::string &variant : kernel.variants) {
        way.variant = variant;
        const std::string wrong = hewn::cli::check(problem, way, nullptr).text;
        if (!wrong.empty()) fail(variant + ": " + wrong);
        execute_guarded(problem, variant);
    }
}
