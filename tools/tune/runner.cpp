// tune_runner, the C++ part of the tuner: checks and times candidates. A candidate is a hewn
// library in which one form of a variant has other knobs. All of them are loaded into one process,
// so that they can be timed in turn. The options describe problems for which the operator calls
// that form (lists.declarations.Reached).
//
//     tune_runner measure --variant quantize_linear_f32_u8__x86_64_avx2 --ordinary --rounds 30
//         --elements 4096 incumbent.so candidate.so
//     tune_runner call --variant quantize_linear_f32_u8__x86_64_avx2 --elements 4096 library.so
//     tune_runner targets libhewn.so
//
// `measure` reports a library whose bits differ from the reference's, and does not time it. `call`
// only executes each problem once. `targets` lists the targets of a library. The result is JSON on
// standard output.
#include <dlfcn.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include "../../bench/core/problem.h"
#include "../../bench/core/settle.h"
#include "../../reference/reference.h"
#include "../../runtime/dispatch/chip.h"

namespace {

using nlohmann::json;
using namespace hewn_bench;

// ---- Libraries ----

void *open_library(const std::string &path) {
    // dlopen would look for a name without a slash among the system's libraries.
    void *handle = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) throw std::runtime_error(dlerror());
    return handle;
}

// Finds the symbol `name` in the library. `function` has the type that hewn.h gives it.
template<class Function>
void find(void *handle, const char *name, Function *&function) {
    function = reinterpret_cast<Function *>(dlsym(handle, name));
    if (!function) throw std::runtime_error(dlerror());
}

// The functions of a candidate. It stays loaded until the process ends.
struct Library {
    decltype(&::hewn_compile) compile;
    decltype(&::hewn_execute) execute;
    decltype(&::hewn_destroy_operator) destroy;

    explicit Library(const std::string &path) {
        void *const handle = open_library(path);
        find(handle, "hewn_compile", compile);
        find(handle, "hewn_execute", execute);
        find(handle, "hewn_destroy_operator", destroy);
    }
};

struct DestroyOperator {
    const Library *library = nullptr;
    void operator()(hewn_operator *op) const { library->destroy(op); }
};
using Operator = std::unique_ptr<hewn_operator, DestroyOperator>;

// The facts by which dispatch decides: the library's targets, and whether this machine's chip runs
// AVX-512 in halves.
json targets_of(const std::string &path) {
    void *const handle = open_library(path);
    decltype(&::hewn_target_count) count;
    decltype(&::hewn_get_target) get;
    find(handle, "hewn_target_count", count);
    find(handle, "hewn_get_target", get);
    json targets = json::array();
    for (uint32_t i = 0; i < count(); i++) {
        hewn_target_info info{};
        info.struct_size = sizeof info;
        if (get(i, &info) != HEWN_STATUS_OK)
            throw std::runtime_error(path + ": hewn_get_target refuses");
        targets.push_back(
            {{"name", info.name}, {"priority", info.priority}, {"supported", info.supported != 0}});
    }
    return {{"targets", targets},
            {"avx512_in_halves", hewn::traits_of(hewn::this_chip()).avx512_in_halves}};
}

// ---- Options ----

struct Options {
    // The library of the command `targets`. If it is set, nothing else is.
    std::string targets_of;
    Variant variant;
    std::string scales, activation;
    std::vector<std::string> libraries, layouts = {"dense"};
    std::vector<int64_t> elements;
    std::vector<int> threads = {1};
    int rounds = 0, bits = 0;
    int64_t least = 0;
    bool call = false, ordinary = false, in_rows = false, in_place = false, only = false,
         whole = false;
    double sample_us = 200;
};

void add_problems(CLI::App &command, Options &options, std::string &variant) {
    command.add_option("--variant", variant, "<operator>_<signature>__<target>")->required();
    command.add_option("--scales", options.scales,
                       "The kind of scales with which the operator calls the form");
    command.add_option("--activation", options.activation,
                       "The activation with which the operator calls the form");
    command.add_option("--bits", options.bits,
                       "The bits of the quantized tensors; 0: those of the signature");
    command.add_option("--layouts", options.layouts, "Layouts to time")->delimiter(',');
    command.add_option("--elements", options.elements, "Elements to time")->delimiter(',');
    command
        .add_option("--threads", options.threads,
                    "Threads to time, 0 for all; only one below 64 Ki elements")
        ->delimiter(',');
    command.add_option("libraries", options.libraries, "Libraries, the incumbent first")
        ->required();
}

// Parses the command line. Ends the program if it is wrong, and after --help.
Options parse(int argc, char **argv) {
    Options options;
    std::string variant;
    CLI::App app("Checks and times candidate libraries");
    app.require_subcommand(1);
    CLI::App &targets =
        *app.add_subcommand("targets", "The targets of a library, and which this machine can run");
    targets.add_option("library", options.targets_of, "The library")->required();
    CLI::App &measure = *app.add_subcommand("measure", "Checks and times libraries");
    add_problems(measure, options, variant);
    measure.add_option("--least", options.least, "The fewest elements that reach the form");
    measure.add_flag("--ordinary", options.ordinary, "The form takes only ordinary quotients");
    measure.add_flag("--in-rows", options.in_rows, "Vary the number of rows, not their size");
    measure.add_flag("--in-place", options.in_place, "Check execution in place too");
    measure.add_flag("--only", options.only, "Check no other layouts than these");
    measure.add_flag("--whole", options.whole,
                     "Check neither rows that are no multiple of a vector nor execution in place");
    measure.add_option("--rounds", options.rounds,
                       "Rounds of one sample of each library; 0: check only");
    measure.add_option("--sample-us", options.sample_us, "Microseconds of a sample");
    CLI::App &call = *app.add_subcommand("call", "Executes each problem once");
    add_problems(call, options, variant);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        std::exit(app.exit(error));
    }
    options.call = call.parsed();
    for (const Variant &built : built_variants()) {
        if (built.name == variant) options.variant = built;
    }
    if (options.variant.name != variant)
        throw std::runtime_error("no variant of this build is called " + variant);
    return options;
}

// ---- Problems that reach a form ----

// The problem's types: the variant's signature, or with --bits its types of 8 bits replaced by
// those of so many bits, which have the same kernels.
std::string signature_of(const Options &options) {
    std::string signature = options.variant.signature;
    for (size_t at = 0; options.bits > 0 && at + 1 < signature.size(); at++) {
        if ((signature[at] == 'u' || signature[at] == 'i') && signature[at + 1] == '8')
            signature.replace(at + 1, 1, std::to_string(options.bits));
    }
    return signature;
}

// Gives the problem scales for which the operator picks the form (runtime/cpu/<operator>.cpp). The
// kinds of scales are:
//   zero            the first of a row's scales is 0: QUANTIZE_LINEAR divides the row
//   extraordinary   QUANTIZED_LINEAR_ADD and REQUANTIZE divide
//   powers_of_two   its scales can be folded; half of the quotients are ties
//   sixths          its scales cannot be folded
//   far_apart       QUANTIZED_LINEAR_MUL clamps
//
// An activation gets parameters of 0.1.
void reach(Problem &problem, const Options &options) {
    const std::string &scales = options.scales;
    if (!options.activation.empty())
        problem.attributes = hewn_test::facts(problem.op).attributes_of({options.activation}, 0.1f);
    if (scales.empty()) return;
    if (scales == "zero") {
        if (problem.inputs[1].span() > 1)
            std::memset(problem.inputs[1].data, 0, problem.inputs[1].element_bytes());
        return;
    }
    if (scales == "far_apart") {
        *static_cast<float *>(problem.inputs[1].data) = 0x1p40f;
        return;
    }
    for (size_t i = 0; i < problem.inputs.size(); i++) {
        Operand &input = problem.inputs[i];
        if (!problem.is_parameter(i) || input.type != "f32") continue;
        float &scale = *static_cast<float *>(input.data);
        if (scales == "extraordinary") scale *= 0x1p-70f;
        else if (scales == "powers_of_two") scale = i == 4 ? 0x1p-6f : 0x1p-5f;
        else if (scales == "sixths") scale = i == 6 ? 6 * 0x1p-7f : 0x1p-7f;
        else throw std::runtime_error("--scales: '" + scales + "' is no kind of scales");
    }
}

// Compiles with scales and zero points as constants, as applications do. QUANTIZED_LINEAR_ADD is
// folded only with constants. `threads` is the largest number of threads; 0 means all.
Operator compile_with(const Library &library, const Problem &problem, const std::string &variant,
                      int threads) {
    hewn::CompileOptions options;
    options.variant = variant;
    options.max_threads = threads;
    options.constants = constants_of(problem);
    return {compile(problem.description(), options, library.compile), {&library}};
}

void run(const Library &library, const Operator &op, const Problem &problem) {
    const std::vector<hewn_buffer_binding> inputs = bindings_beside_constants(problem);
    const hewn_buffer_binding output = problem.output.binding();
    hewn_error error = {sizeof error, 0, ""};
    if (library.execute(op.get(), inputs.data(), uint32_t(inputs.size()), &output, 1, nullptr,
                        &error) != HEWN_STATUS_OK)
        throw std::runtime_error(error.message);
}

// ---- Checking ----

// Fills the inputs with random bits, with two exceptions. Zero points of DEQUANTIZE_LINEAR become 0
// if they were not, and vice versa, because kernels have a shortcut for 0. f32 inputs of
// QUANTIZE_LINEAR get numbers around ties, where a careless quotient would round to the other side:
// every second number, or all with `ordinary`. `ordinary` says that the form takes only ordinary
// quotients; random bits would leave every box to the form `divide`.
void scramble(Problem &problem, bool ordinary) {
    std::mt19937 random(7);
    for (size_t i = 0; i < problem.inputs.size(); i++) {
        Operand &input = problem.inputs[i];
        const bool zero_point = problem.op == "dequantize_linear" && i == 2;
        if (problem.is_parameter(i) && !zero_point) continue;
        if (ordinary && input.type != "f32") continue;  // f32 inputs get ties below
        const size_t bytes = size_t(input.span()) * input.element_bytes();
        uint8_t *const data = static_cast<uint8_t *>(input.data);
        // Zero points of 32 bits were 0, those of fewer bits were not.
        const bool all_0 = zero_point && input.element_bytes() < 4;
        for (size_t b = 0; b < bytes; b++) data[b] = all_0 ? 0 : uint8_t(random() >> 11);
        if (problem.op != "quantize_linear" || input.type != "f32") continue;
        const std::vector<double> scales = problem.inputs[1].values();
        for (int64_t e = 0; e < input.span(); e += ordinary ? 1 : 2) {
            const float tie = (float(int(random() % 512) - 256) + 0.5f) *
                              float(scales[size_t(e) % scales.size()]);
            static_cast<float *>(input.data)[e] =
                reference::from_bits(reference::to_bits(tie) + random() % 3 - 1);
        }
    }
}

// The bytes before and after an output that must stay untouched. They are more than a step writes
// with any knobs.
constexpr size_t kGuard = 16 << 10;
constexpr uint8_t kUntouched = 0xcd;

// What is wrong with a library.
struct Fault {
    // `kind` is "load", "bits", "tails" or "in place". Empty: nothing is wrong.
    std::string kind, message;
};

// Checks libraries, one after the other, on the same problems.
class Checker {
public:
    explicit Checker(const Options &options) : options_(options) {}

    // Checks all layouts, row lengths around vectors and blocks, two kinds of contents, execution
    // in place if the operator allows it, and the largest number of elements with all threads. The
    // options --only and --whole leave some of it out.
    Fault check(const Library &library);

private:
    Problem make(const std::string &layout, int64_t elements);
    void check_layout(const Library &library, const std::string &layout);
    void check_contents(const Library &library, Problem problem, const char *kind);
    void check_once(const Library &library, Problem &problem, bool in_place);
    void check_largest(const Library &library);

    const Options &options_;
    // The memory of the current problem.
    Arena arena_;
    // The kind of a fault that the current check would find.
    std::string kind_;
    // The largest problem's output, computed by the first library that was right.
    std::vector<uint8_t> largest_right_;
};

Fault Checker::check(const Library &library) {
    try {
        for (const std::string &layout : options_.only ? options_.layouts : all_layouts())
            check_layout(library, layout);
        if (!options_.whole) check_contents(library, make("dense", 70001), "tails");
        check_largest(library);
    } catch (const std::exception &error) {
        return {kind_, error.what()};
    }
    return {};
}

// Makes a problem with room around its output.
Problem Checker::make(const std::string &layout, int64_t elements) {
    arena_.reset();
    Problem problem = make_problem(options_.variant.operator_name, signature_of(options_), layout,
                                   elements, arena_);
    const size_t bytes = size_t(problem.output.span()) * problem.output.element_bytes();
    problem.output.data = static_cast<char *>(arena_.take(bytes + 2 * kGuard)) + kGuard;
    return problem;
}

void Checker::check_layout(const Library &library, const std::string &layout) {
    // A form for rows of one size is called only if there are many rows.
    const int64_t elements = std::max<int64_t>(options_.least, options_.in_rows ? 65536 : 4096);
    if (!layout_fits(options_.variant.operator_name, layout, elements)) return;
    check_contents(library, make(layout, elements), "bits");
    if (options_.whole) return;
    const std::vector<int64_t> sizes = make(layout, elements).output.sizes;
    const size_t varied = options_.in_rows ? 0 : sizes.size() - 1;
    for (const int64_t width :
         {1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 129, 255, 257, 511, 1000, 1023}) {
        const int64_t size = options_.in_rows ? 512 + width : width;
        if (size >= sizes[varied]) continue;
        Problem problem = make(layout, elements);
        for (Operand &input : problem.inputs) input.sizes[varied] = size;
        problem.output.sizes[varied] = size;
        check_contents(library, std::move(problem), "tails");
    }
}

void Checker::check_contents(const Library &library, Problem problem, const char *kind) {
    kind_ = kind;
    reach(problem, options_);
    check_once(library, problem, false);
    scramble(problem, options_.ordinary);
    check_once(library, problem, false);
    if (options_.whole || !options_.in_place || problem.inputs[0].strides != problem.output.strides)
        return;
    kind_ = "in place";
    check_once(library, problem, true);
}

void Checker::check_once(const Library &library, Problem &problem, bool in_place) {
    const Operator op = compile_with(library, problem, options_.variant.name, 1);
    const Operand &output = problem.output;
    const size_t element = output.element_bytes(), bytes = size_t(output.span()) * element;
    uint8_t *const place = static_cast<uint8_t *>(output.data);
    std::memset(place - kGuard, kUntouched, bytes + 2 * kGuard);
    void *const a = problem.inputs[0].data;
    if (in_place) problem.inputs[0].data = std::memcpy(place, a, bytes);
    const std::vector<uint8_t> before(place - kGuard, place + bytes + kGuard);
    run(library, op, problem);
    problem.inputs[0].data = a;
    check_against_reference(problem);

    // Nothing but the output's elements may have changed.
    const bool rows = output.sizes.size() == 2;
    for (int64_t y = 0; y < (rows ? output.sizes[0] : 1); y++) {
        for (int64_t x = 0; x < output.sizes.back(); x++) {
            const size_t at =
                size_t((rows ? y * output.strides[0] : 0) + x * output.strides.back()) * element;
            std::memcpy(place + at, &before[kGuard + at], element);
        }
    }
    if (std::memcmp(place - kGuard, before.data(), before.size()) != 0)
        throw std::runtime_error("bytes beside the output's elements were written");
}

// Checks the largest problem, with all threads. The reference is slow, so only the first library is
// compared with it. The others are compared with the output of the first that was right.
void Checker::check_largest(const Library &library) {
    kind_ = "bits";
    const auto &sizes = options_.elements;
    Problem problem =
        make("dense", sizes.empty() ? 1 : *std::max_element(sizes.begin(), sizes.end()));
    reach(problem, options_);
    const size_t bytes = size_t(problem.output.span()) * problem.output.element_bytes();
    uint8_t *const output = static_cast<uint8_t *>(problem.output.data);
    std::memset(output, kUntouched, bytes);
    const Operator op = compile_with(library, problem, options_.variant.name, 0);
    run(library, op, problem);
    if (largest_right_.empty()) {
        check_against_reference(problem);
        largest_right_.assign(output, output + bytes);
    } else if (std::memcmp(output, largest_right_.data(), bytes) != 0) {
        throw std::runtime_error("bits differ from the reference");
    }
}

// A library that is checked and, if it is right, timed.
struct Contender {
    std::string path;
    std::unique_ptr<Library> library;  // null if it cannot be loaded
    Fault fault;
};

std::vector<Contender> check_all(const Options &options) {
    Checker checker(options);
    std::vector<Contender> contenders;
    for (const std::string &path : options.libraries) {
        Contender &contender = contenders.emplace_back(Contender{path, nullptr, {}});
        try {
            contender.library = std::make_unique<Library>(path);
            contender.fault = checker.check(*contender.library);
        } catch (const std::exception &error) {
            contender.fault = {"load", error.what()};
        }
    }
    return contenders;
}

// ---- Timing ----

double now_ns() {
    return std::chrono::duration<double, std::nano>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// Times the contenders that are right, in rounds of one sample of each.
class Timing {
public:
    Timing(const Options &options, const std::vector<Contender> &contenders);

    // Adds a problem for all contenders. Does nothing if the operator does not have the layout, or
    // if the problem is too small for several threads.
    void add(const std::string &layout, int64_t elements, int threads);
    // Finds how many calls a sample needs to be long enough, and warms up.
    void calibrate();
    // Takes the samples.
    void run();
    void call_each_once() const;
    // The number of problems.
    size_t count() const { return timed_.size(); }
    // For each problem and each contender, the nanoseconds of a call in each round. They are null
    // for a contender that is not right.
    json report() const;

private:
    struct Timed {
        Problem problem;
        int threads;
        std::vector<hewn_buffer_binding> inputs;
        hewn_buffer_binding output;
        // An operator for each contender. Null for one that is not right.
        std::vector<Operator> ops;
        // The number of calls in a sample.
        int calls = 1;
        // For each contender, the nanoseconds of a call in each round.
        std::vector<std::vector<double>> ns;
    };
    void call(const Timed &timed, size_t contender, int times) const;
    double sample(const Timed &timed, size_t contender) const;

    const Options &options_;
    const std::vector<Contender> &contenders_;
    // The indices of the contenders that are right.
    std::vector<size_t> right_;
    Arena arena_;
    std::vector<Timed> timed_;
};

Timing::Timing(const Options &options, const std::vector<Contender> &contenders)
    : options_(options), contenders_(contenders) {
    for (size_t i = 0; i < contenders.size(); i++) {
        if (contenders[i].fault.kind.empty()) right_.push_back(i);
    }
}

void Timing::add(const std::string &layout, int64_t elements, int threads) {
    constexpr int64_t kThreadedElements = 64 << 10;
    const Variant &variant = options_.variant;
    if (!layout_fits(variant.operator_name, layout, elements) ||
        (threads != 1 && elements < kThreadedElements))
        return;
    Timed &timed = timed_.emplace_back();
    timed.problem =
        make_problem(variant.operator_name, signature_of(options_), layout, elements, arena_);
    timed.threads = threads;
    reach(timed.problem, options_);
    timed.inputs = bindings_beside_constants(timed.problem);
    timed.output = timed.problem.output.binding();
    timed.ops.resize(contenders_.size());
    timed.ns.resize(contenders_.size());
    for (const size_t i : right_) {
        timed.ops[i] = compile_with(*contenders_[i].library, timed.problem, variant.name, threads);
    }
}

void Timing::call(const Timed &timed, size_t contender, int times) const {
    const auto execute = contenders_[contender].library->execute;
    const hewn_operator *const op = timed.ops[contender].get();
    for (int i = 0; i < times; i++)
        execute(op, timed.inputs.data(), uint32_t(timed.inputs.size()), &timed.output, 1, nullptr,
                nullptr);
}

// Takes a sample: the nanoseconds of a call.
double Timing::sample(const Timed &timed, size_t contender) const {
    // Each library has its own pool of threads. Those of the last one must have gone to sleep.
    if (timed.threads != 1) settle();
    // A warm-up: the last library may have streamed the output past the caches.
    call(timed, contender, 1);
    const double start = now_ns();
    call(timed, contender, timed.calls);
    return (now_ns() - start) / timed.calls;
}

void Timing::calibrate() {
    for (Timed &timed : timed_) {
        while (sample(timed, right_.front()) * timed.calls < options_.sample_us * 1e3 &&
               timed.calls < 1 << 20)
            timed.calls *= 2;
        for (const size_t i : right_) sample(timed, i);
    }
}

void Timing::run() {
    std::mt19937 random(std::random_device{}());
    std::vector<size_t> order = right_;
    for (int round = 0; round < options_.rounds; round++) {
        for (Timed &timed : timed_) {
            std::shuffle(order.begin(), order.end(), random);
            // The caches still hold the last problem. With 1 Mi elements, even the second call
            // takes 1.4 times as long as later ones.
            call(timed, order.front(), 2);
            for (const size_t i : order) timed.ns[i].push_back(sample(timed, i));
        }
    }
}

void Timing::call_each_once() const {
    for (const Timed &timed : timed_) {
        for (const size_t i : right_) call(timed, i, 1);
    }
}

json Timing::report() const {
    json problems = json::array();
    for (const Timed &timed : timed_) {
        json ns = json::array();
        for (const std::vector<double> &rounds : timed.ns)
            ns.push_back(rounds.empty() ? json(nullptr) : json(rounds));
        problems.push_back({{"layout", timed.problem.layout},
                            {"elements", timed.problem.elements},
                            {"threads", timed.threads},
                            {"bytes", timed.problem.bytes()},
                            {"ns", ns}});
    }
    return problems;
}

void add_all(Timing &timing, const Options &options) {
    for (const std::string &layout : options.layouts) {
        for (const int64_t elements : options.elements) {
            for (const int threads : options.threads) timing.add(layout, elements, threads);
        }
    }
}

json time_all(const Options &options, const std::vector<Contender> &contenders) {
    const auto is_right = [](const Contender &contender) { return contender.fault.kind.empty(); };
    if (options.rounds == 0 || std::none_of(contenders.begin(), contenders.end(), is_right))
        return json::array();
    Timing timing(options, contenders);
    add_all(timing, options);
    timing.calibrate();
    timing.run();
    return timing.report();
}

json measure(const Options &options) {
    const std::vector<Contender> contenders = check_all(options);
    json libraries = json::array();
    for (const Contender &contender : contenders)
        libraries.push_back({{"path", contender.path},
                             {"fault", contender.fault.kind},
                             {"message", contender.fault.message}});
    return {{"libraries", libraries}, {"problems", time_all(options, contenders)}};
}

// Executes each problem once with every library, and returns the number of problems.
json call_all(const Options &options) {
    std::vector<Contender> contenders;
    for (const std::string &path : options.libraries)
        contenders.push_back({path, std::make_unique<Library>(path), {}});
    Timing timing(options, contenders);
    add_all(timing, options);
    timing.call_each_once();
    return {{"problems", timing.count()}};
}

}  // namespace

int main(int argc, char **argv) {
    try {
        const Options options = parse(argc, argv);
        std::cout << (!options.targets_of.empty() ? targets_of(options.targets_of)
                      : options.call              ? call_all(options)
                                                  : measure(options))
                  << "\n";
        return 0;
    } catch (const std::exception &error) {
        std::cerr << "tune_runner: " << error.what() << "\n";
        return 1;
    }
}
