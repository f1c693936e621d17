#include "verify.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "../../reference/block_problems.h"
#include "../../reference/contents.h"
#include "../../reference/dynamic.h"
#include "../../reference/problems.h"
#include "../../reference/values.h"
#include "../../reference/variants.h"
#include "checker.h"
#include "conformance.h"
#include "device.h"
#include "info.h"
#include "machine.h"
#include "progress.h"
#include "table.h"
#include "variants.h"

namespace hewn::cli {

namespace {

using namespace hewn_test;
using json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// ---- What is checked ----

// One use of an operator: the types of its tensors and the numbers of its choices.
struct Kind {
    DataTypes types;
    Attributes choices;
};

const OperatorInfo &info_of(hewn_operator_type type) {
    const std::vector<OperatorInfo> &all = operator_table();
    return *std::find_if(all.begin(), all.end(),
                         [&](const OperatorInfo &op) { return op.type == type; });
}

// Every combination of the operator's choices that this build has, the defaults first, without
// parameters.
std::vector<Attributes> choices_of_attributes(const OperatorInfo &op) {
    std::vector<Attributes> choices = {{}};
    for (const AttributeInfo &attribute : op.attributes) {
        if (belongs_to_choice(attribute)) continue;
        std::vector<Attributes> longer;
        for (int32_t number = 0; number < int32_t(attribute.value_count); number++) {
            if (number > 0 && !attribute.allowed) break;
            for (Attributes choice : choices) {
                choice.push_back(number);
                longer.push_back(choice);
            }
        }
        choices = std::move(longer);
    }
    return choices;
}

// A variant that can run here, and what the checks of it found.
struct Checked {
    hewn_variant_info info;
    // Null: the CPU.
    const Device *device;
    int64_t cases = 0, elements = 0, differing = 0;
    // What is wrong, for the smallest input that shows it. Empty: nothing is.
    std::string smallest;

    hewn_operator_type op() const { return facts(info.operator_name).type; }
    // The uses of the operator that this variant computes: its own types, those of 8 bits and less
    // and unsigned ones, with all choices that do not need another kernel.
    std::vector<Kind> kinds() const { return kinds_of(variant().all_types()); }
    // The same of floats that are converted to f32.
    std::vector<Kind> converted_kinds() const { return kinds_of(variant().converted_types()); }
    bool passed() const { return smallest.empty(); }
    bool is_elementwise() const { return facts(op()).is_elementwise(); }
    bool chooses_blocks() const { return hewn::cli::chooses_blocks(info_of(op())); }

private:
    hewn_test::Variant variant() const {
        return {info.name, info.operator_name, info.signature, info.target};
    }
    std::vector<Kind> kinds_of(const std::vector<DataTypes> &all_types) const {
        std::vector<Kind> all;
        for (const DataTypes &types : all_types) {
            for (const Attributes &choices : choices_of_attributes(info_of(op()))) {
                if (!asks_for_any(choices) || runs(types, choices)) all.push_back({types, choices});
            }
        }
        return all;
    }
    bool runs(const DataTypes &types, const Attributes &attributes) const {
        std::vector<DataType> all;
        for (const hewn_data_type type : types) all.push_back(DataType(type));
        return kernel_name(info_of(op()), all, attributes) == kernel_of(info);
    }
};

Problem make_problem(const Checked &checked, const Kind &kind, const std::vector<int64_t> &sizes,
                     const std::vector<Layout> &layouts, Random &random, int64_t padding = 0) {
    Problem problem =
        hewn_test::make_problem(checked.op(), kind.types, sizes, layouts, random, padding);
    problem.attributes = with_parameters(problem.op, kind.choices, random);
    return problem;
}

// Checks one more case, unless an earlier one failed. If this one fails, looks for the smallest
// input that does.
void run_case(Checked &checked, Problem &problem, Random &random) {
    if (!checked.passed()) return;
    const Way way = {checked.info.name, random.one_in(3), random.one_in(2)};
    const Difference found = check(problem, way, checked.device);
    checked.cases++;
    checked.elements += hewn_test::element_count(problem.output.sizes);
    checked.differing += found.count;
    if (found.text.empty()) return;
    Problem least = smallest(problem, way, checked.device);
    const std::string text = check(least, way, checked.device).text;
    checked.smallest = (text.empty() ? found.text : text) +
                       (way.constants ? "; scales and zero points as constants" : "") +
                       (way.bound ? "; bound" : "");
}

// All values of an 8-bit type, or the special values of a wider one.
template<class T>
std::vector<T> all_or_special() {
    if constexpr (sizeof(T) > 1) return special_values<T>();
    else {
        std::vector<T> all(256);
        for (size_t i = 0; i < all.size(); i++) all[i] = hewn_test::from_lowest<T>(i);
        return all;
    }
}

int64_t count_all_or_special(hewn_data_type type) {
    int64_t count = 0;
    with_any_type(type, [&](auto tag) { count = int64_t(all_or_special<decltype(tag)>().size()); });
    return count;
}

// Fills the tensor with these values, again and again, beginning with the value number `first`.
void fill_all_or_special(Tensor &tensor, int64_t first) {
    with_any_type(tensor.type, [&](auto tag) {
        using T = decltype(tag);
        const std::vector<T> values = all_or_special<T>();
        fill(tensor,
             [&](int64_t at) { tensor.set(at, values[size_t(at + first) % values.size()]); });
    });
}

// Checks all combinations of values (all_or_special) of the first and the second input: those of
// the first change along columns, those of the second along rows. Other inputs begin with a random
// one.
void check_special_values(Checked &checked, const Kind &kind, Random &random) {
    const std::vector<size_t> free = free_inputs(checked.op());
    std::vector<Layout> layouts(free.size(), Layout::per_row);
    layouts[0] = Layout::per_column;
    const int64_t rows = free.size() > 1 ? count_all_or_special(kind.types[free[1]]) : 1;
    const bool scalars = facts(checked.op()).has_scalars();
    for (int round = 0; round < (scalars ? 8 : 2); round++) {
        Problem problem = make_problem(
            checked, kind, {rows, count_all_or_special(kind.types[free[0]])}, layouts, random);
        for (size_t i = 0; i < problem.inputs.size(); i++) {
            const bool crossed = i == free.front() || (free.size() > 1 && i == free[1]);
            fill_all_or_special(*problem.inputs[i], crossed ? 0 : random.integer(0, 1000));
        }
        run_case(checked, problem, random);
    }
}

// Checks dense problems of every short length, with values that make ties.
void check_lengths(Checked &checked, const Kind &kind, Random &random) {
    for (int64_t length = 0; length <= 70; length++) {
        Problem problem = make_problem(checked, kind, {length}, per_tensor(checked.op()), random);
        fill_inputs(problem, random);
        run_case(checked, problem, random);
    }
}

// Checks every combination of inputs that are dense, constant, per row or per column, and once a
// problem that is large enough to be cut for threads.
void check_layouts(Checked &checked, const Kind &kind, Random &random) {
    const auto layouts = all_layouts(
        checked.op(), {Layout::dense, Layout::scalar, Layout::per_row, Layout::per_column});
    for (const auto &layout : layouts) {
        Problem problem =
            make_problem(checked, kind, {7, 97}, layout, random, random.one_in(2) ? 0 : 5);
        fill_inputs(problem, random, random.one_in(2) ? Scales::ordinary : Scales::extraordinary);
        run_case(checked, problem, random);
    }
    Problem large =
        make_problem(checked, kind, {3, (1 << 17) + 11}, per_tensor(checked.op()), random);
    fill_inputs(large, random);
    run_case(checked, large, random);
}

// ---- Operators that choose scales, which have several outputs ----

hewn::Operator compile_on(const Device *device, const hewn_variant_info &variant,
                          const Description &description) {
    const hewn_compile_options options = {
        sizeof options, HEWN_FEATURE_LEVEL_NEWEST, variant.name, 1, nullptr, nullptr, nullptr, 0};
    hewn_operator *handle = nullptr;
    hewn_error error = {sizeof error, HEWN_STATUS_OK, {}};
    if (hewn_compile(device ? device->get() : nullptr, description.get(), &options, &handle,
                     &error))
        throw Error(error);
    return hewn::Operator(handle);
}

template<class Chosen>
void run_dynamic(Checked &checked, Chosen &problem) {
    if (!checked.passed()) return;
    const auto expected = expected_output(problem);
    const hewn::Operator op = compile_on(checked.device, checked.info, problem.description());
    Copies copies(checked.device);
    constexpr hewn_buffer_binding ABSENT = {sizeof(hewn_buffer_binding), nullptr, 0, 0};
    std::vector<hewn_buffer_binding> inputs, outputs;
    for (Tensor *input : problem.inputs())
        inputs.push_back(input ? copies.binding(*input) : ABSENT);
    for (Tensor *output : problem.outputs()) outputs.push_back(copies.binding(*output));
    outputs.resize(problem.output_count(), ABSENT);
    hewn_error error = {sizeof error, HEWN_STATUS_OK, {}};
    if (hewn_execute(op.get(), inputs.data(), uint32_t(inputs.size()), outputs.data(),
                     uint32_t(outputs.size()), nullptr, &error))
        throw Error(error);
    copies.read_back();
    checked.cases++;
    checked.elements += hewn_test::element_count(problem.input.sizes) + 2;
    checked.smallest = problem.difference(expected);
    checked.differing += !checked.passed();
}

// Checks one more random layout of an operator that chooses scales for blocks.
void check_blocks(Checked &checked, const Kind &kind, Random &random) {
    const hewn_operator_type op = checked.op();
    const size_t first = facts(op).inputs();  // the first output, before the scale
    auto mode = reference::DynamicMode::asymmetric;
    if (op == HEWN_OPERATOR_DYNAMIC_QUANTIZE) {
        const auto modes = hewn_test::modes_of(kind.types[first]);
        mode = reference::DynamicMode(kind.choices.empty() ? 0 : kind.choices[0]);
        if (std::find(modes.begin(), modes.end(), mode) == modes.end()) return;
    }
    BlockProblem problem = random_blocks_problem(op, kind.types[0], kind.types[first],
                                                 kind.types[first + 1], mode, random, 3000);
    run_dynamic(checked, problem);
}

// Checks every short length, half of them with special values.
void check_dynamic(Checked &checked, const DataTypes &types, Random &random) {
    for (int64_t length = 0; length <= 140; length++) {
        Dynamic problem({types[0], types[1]}, length);
        if (length % 2) fill_all_or_special(problem.input, length);
        else fill_normal(problem.input, random);
        run_dynamic(checked, problem);
    }
}

// Checks a random layout.
void check_dynamic_random(Checked &checked, const DataTypes &types, Random &random) {
    Problem layouts = random_problem(HEWN_OPERATOR_QUANTIZE_LINEAR,
                                     {types[0], types[0], types[1], types[1]}, random, 3000);
    Dynamic problem(std::move(*layouts.inputs[0]), std::move(layouts.output));
    if (random.one_in(3)) fill_random(problem.input, random);
    else fill_normal(problem.input, random);
    run_dynamic(checked, problem);
}

// ---- All of them ----

void check_random(Checked &checked, Random &random) {
    const std::vector<Kind> converted = checked.converted_kinds();
    const Kind kind =
        random.pick(converted.empty() || random.one_in(2) ? checked.kinds() : converted);
    if (checked.chooses_blocks()) return check_blocks(checked, kind, random);
    if (!checked.is_elementwise()) return check_dynamic_random(checked, kind.types, random);
    Problem problem = random_problem(checked.op(), kind.types, random, 3000);
    problem.attributes = with_parameters(problem.op, kind.choices, random);
    fill_inputs(problem, random, random.one_in(2) ? Scales::ordinary : Scales::extraordinary);
    run_case(checked, problem, random);
}

void check_all(std::vector<Checked> &all, const VerifyOptions &options) {
    const Clock::time_point start = Clock::now();
    {
        Progress progress("verify", all.size());
        for (Checked &checked : all) {
            Random random(checked.info.name);
            std::vector<Kind> kinds = checked.kinds();
            // These are many, so each run tries three of them, chosen by the seed.
            const std::vector<Kind> converted = checked.converted_kinds();
            for (int i = 0; i < 3 && !converted.empty(); i++)
                kinds.push_back(random.pick(converted));
            for (const Kind &kind : kinds) {
                if (checked.chooses_blocks()) {
                    for (int i = 0; i < 60; i++) check_blocks(checked, kind, random);
                    continue;
                }
                if (!checked.is_elementwise()) {
                    check_dynamic(checked, kind.types, random);
                    continue;
                }
                check_special_values(checked, kind, random);
                check_lengths(checked, kind, random);
                check_layouts(checked, kind, random);
            }
            progress.advance(1);
        }
    }
    Random random("random cases");
    const double seconds = 60 * options.minutes;
    const auto enough = [&](int64_t round) {
        return options.cases ? round * int64_t(all.size()) >= options.cases
                             : round > 0 && seconds_since(start) >= seconds;
    };
    Progress progress("random cases", uint64_t(options.cases ? options.cases : int64_t(seconds)));
    double told = 0;
    for (int64_t round = 0; !enough(round); round++) {
        for (Checked &checked : all) check_random(checked, random);
        const double done =
            options.cases ? double(round) * double(all.size()) : seconds_since(start);
        progress.advance(uint64_t(done) - uint64_t(told));
        told = done;
    }
}

// ---- Devices ----

// The names of all devices that can run hewn, the CPU first; or only the one that `only` names.
std::vector<std::string> device_names(const std::string &only) {
    if (!only.empty()) return {only};
    std::vector<std::string> names = {kind_name(DeviceKind::CPU)};
    for (const DeviceKind kind : {DeviceKind::CUDA, DeviceKind::OPENCL, DeviceKind::D3D12})
        for (const hewn_device_info &device : devices(kind))
            if (!device.missing[0])
                names.push_back(std::string(kind_name(kind)) + ":" + std::to_string(device.index));
    return names;
}

struct Opened {
    std::string name;  // "cuda:0"
    std::optional<Device> device;

    const Device *get() const { return device ? &*device : nullptr; }
    DeviceKind kind() const { return device ? device->kind() : DeviceKind::CPU; }
    std::string model() const {
        if (!device) return processor_name();
        const uint32_t index = parse_device(name).index;
        return devices(kind()).at(index == HEWN_ANY_DEVICE ? 0 : index).name;
    }
};

std::vector<Opened> open_devices(const std::string &only) {
    std::vector<Opened> opened;
    for (const std::string &name : device_names(only)) opened.push_back({name, open_device(name)});
    return opened;
}

std::vector<Checked> variants_to_check(const std::vector<Opened> &opened, const std::string &op) {
    std::vector<Checked> all;
    for (const Opened &device : opened)
        for (const hewn_variant_info &variant : variants())
            if (variant.supported && DeviceKind(variant.device) == device.kind() &&
                (op.empty() || op == variant.operator_name))
                all.push_back({variant, device.get(), 0, 0, 0, {}});
    return all;
}

// ---- Speed ----

// The seconds of the fastest of the calls that fit in 20 ms.
double seconds_of(const std::function<void()> &call) {
    call();
    double best = 1e9;
    for (const Clock::time_point start = Clock::now(); seconds_since(start) < 0.02;) {
        const Clock::time_point begin = Clock::now();
        call();
        best = std::min(best, seconds_since(begin));
    }
    return best;
}

constexpr int64_t TIMED_ELEMENTS = 1 << 20;

// The bytes that a dense problem reads and writes: each element once.
double bytes_of(const Problem &problem) {
    double bytes = double(problem.output.bytes());
    for (const auto &input : problem.inputs) bytes += double(input->bytes());
    return bytes;
}

// The seconds of a memcpy that reads and writes as many bytes.
double memcpy_seconds(double bytes) {
    std::vector<char> from(size_t(bytes / 2), 1), to(from.size());
    return seconds_of([&] {
        std::memcpy(to.data(), from.data(), to.size());
#if defined(__GNUC__)
        __asm__ volatile("" : : "r"(to.data()) : "memory");  // the copy is not optimised away
#endif
    });
}

json speed_of(const hewn_variant_info &variant) {
    Random random("speed");
    const OperatorFacts &op = facts(variant.operator_name);
    Problem problem = make_problem(op.type, operand_types(op, variant.signature), {TIMED_ELEMENTS},
                                   per_tensor(op.type), random);
    fill_inputs(problem, random);
    const hewn::Operator compiled = compile_on(nullptr, variant, problem.description());
    const std::vector<hewn_buffer_binding> inputs = problem.bindings();
    const hewn_buffer_binding output = problem.output.binding();
    const double bytes = bytes_of(problem),
                 seconds = seconds_of([&] {
                     hewn_execute(compiled.get(), inputs.data(), uint32_t(inputs.size()), &output,
                                  1, nullptr, nullptr);
                 });
    return {{"kernel", kernel_of(variant)},
            {"variant", variant.name},
            {"gb_per_s", bytes / seconds / 1e9},
            {"memcpy_gb_per_s", bytes / memcpy_seconds(bytes) / 1e9}};
}

json speeds(const std::vector<Checked> &all) {
    json rows = json::array();
    for (const Checked &checked : all)
        if (!checked.device && checked.info.picked && checked.is_elementwise())
            rows.push_back(speed_of(checked.info));
    return rows;
}

// ---- The report ----

json conformance_of(const std::vector<Opened> &opened, const std::string &op) {
    json rows = json::array();
    for (const Opened &device : opened) {
        for (const hewn_target_info &target : targets()) {
            if (!target.supported || DeviceKind(target.device) != device.kind()) continue;
            ExecutionOptions options;
            options.device = device.name;
            options.variant = target.name;
            const Tally tally = built_in_conformance(options, op);
            rows.push_back({{"device", device.name},
                            {"target", target.name},
                            {"passed", tally.passed},
                            {"failed", tally.failed},
                            {"skipped", tally.skipped},
                            {"failures", tally.failures}});
        }
    }
    return rows;
}

json report_of(const std::vector<Opened> &opened, const std::vector<Checked> &all,
               const VerifyOptions &options) {
    json report = {{"hewn", version_string()},      {"system", system_name()},
                   {"processor", processor_name()}, {"seed", seed()},
                   {"devices", json::array()},      {"variants", json::array()}};
    for (const Opened &device : opened)
        report["devices"].push_back({{"device", device.name}, {"name", device.model()}});
    for (const Checked &checked : all)
        report["variants"].push_back({{"name", checked.info.name},
                                      {"cases", checked.cases},
                                      {"elements", checked.elements},
                                      {"differing", checked.differing},
                                      {"smallest", checked.smallest}});
    report["conformance"] = conformance_of(opened, options.op);
    report["speed"] = speeds(all);
    bool passed = true;
    for (const Checked &checked : all) passed &= checked.passed();
    for (const json &row : report["conformance"]) passed &= row["failed"] == 0;
    report["passed"] = passed;
    return report;
}

void print_variants(const json &report) {
    int64_t cases = 0, elements = 0, differing = 0, wrong = 0;
    for (const json &variant : report["variants"]) {
        cases += variant["cases"].get<int64_t>();
        elements += variant["elements"].get<int64_t>();
        differing += variant["differing"].get<int64_t>();
        if (variant["smallest"] == "") continue;
        wrong++;
        std::cout << "DIFFERS " << variant["name"].get<std::string>() << ": "
                  << variant["smallest"].get<std::string>() << "\n";
    }
    std::cout << "variants    " << report["variants"].size() << " on " << report["devices"].size()
              << " devices, " << cases << " cases, " << elements << " elements: " << differing
              << " differ";
    if (wrong) std::cout << ", in " << wrong << " variants";
    std::cout << "\n";
}

void print_page(const json &report) {
    std::cout << "hewn " << report["hewn"].get<std::string>() << "\nsystem      "
              << report["system"].get<std::string>() << "\n";
    for (const json &device : report["devices"])
        std::cout << "device      " << device["device"].get<std::string>() << ", "
                  << device["name"].get<std::string>() << "\n";
    std::cout << "seed        " << report["seed"].get<uint64_t>() << "\n";
    print_variants(report);
    for (const json &row : report["conformance"]) {
        for (const json &failure : row["failures"]) std::cout << failure.get<std::string>() << "\n";
        std::cout << "conformance " << row["target"].get<std::string>() << " on "
                  << row["device"].get<std::string>() << ": " << row["passed"] << " passed, "
                  << row["failed"] << " failed, " << row["skipped"] << " skipped\n";
    }
    char line[160];
    for (const json &row : report["speed"]) {
        std::snprintf(line, sizeof line, "speed       %-32s %7.1f GB/s, memcpy %.1f",
                      row["kernel"].get<std::string>().c_str(), row["gb_per_s"].get<double>(),
                      row["memcpy_gb_per_s"].get<double>());
        std::cout << line << "\n";
    }
    std::cout << (report["passed"].get<bool>() ? "all results are right"
                                               : "results DIFFER: please tell, with this page")
              << std::endl;
}

}  // namespace

bool verify(const VerifyOptions &options) {
    set_seed(options.seed ? *options.seed : std::random_device{}());
    const std::vector<Opened> opened = open_devices(options.device);
    std::vector<Checked> all = variants_to_check(opened, options.op);
    if (all.empty()) throw OperatorError("verify: no variant of this build can run here");
    check_all(all, options);
    const json report = report_of(opened, all, options);
    if (options.json)
        std::cout << report.dump(1, ' ', false, json::error_handler_t::replace) << std::endl;
    else print_page(report);
    return report["passed"].get<bool>();
}

}  // namespace hewn::cli
