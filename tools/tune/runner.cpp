// Checks and times candidates: hewn libraries that differ in their kernels' knobs, loaded side by side.
//
//     tune_runner --variant quantize_linear_f32_u8__x86_64_avx2 --form reciprocal --rounds 30 incumbent.so candidate.so
//
// A library whose bits are not the reference's is reported and never timed. The result is one JSON object on the standard output.
#include <dlfcn.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include "../../bench/problem.h"
#include "../../bench/settle.h"
#include "../../runtime/folding.h"
#include "../../tests/reference.h"

// ---- Libraries: problem.cpp's calls of the C API go to `current` ----

namespace {

struct Library {
    std::string path;
    decltype(&::hewn_compile) compile;
    decltype(&::hewn_execute) execute;
    decltype(&::hewn_destroy_operator) destroy;

    explicit Library(const std::string &file) : path(file) {
        void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!handle) throw std::runtime_error(dlerror());
        const auto find = [&](auto &function, const char *name) {
            function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name));
            if (!function) throw std::runtime_error(file + " has no " + name);
        };
        find(compile, "hewn_compile");
        find(execute, "hewn_execute");
        find(destroy, "hewn_destroy_operator");
    }
};

const Library *current = nullptr;

}  // namespace

hewn_status hewn_compile(hewn_device *device, const hewn_operator_desc *desc, const hewn_compile_options *options,
                         hewn_operator **op, hewn_error *error) {
    return current->compile(device, desc, options, op, error);
}
void hewn_destroy_operator(hewn_operator *op) { current->destroy(op); }

namespace {

using namespace hewn_bench;

// ---- Problems that reach a form ----

// Operators pick their form by the parameters, too (runtime/operators.cpp). In QUANTIZED_LINEAR_ADD an extraordinary output scale
// divides, scales that are powers of two can be folded, and sums of sixths never. In QUANTIZE_LINEAR one extraordinary scale
// leaves its row to division.
void reach(Problem &problem, const std::string &form) {
    if (problem.op == "quantize_linear" && form == "divide" && problem.inputs[1].span() > 1)
        std::memset(problem.inputs[1].data, 0, problem.inputs[1].element_bytes());
    if (problem.op != "quantized_linear_add") return;
    for (size_t i = 0; i < problem.inputs.size(); i++) {
        Operand &input = problem.inputs[i];
        if (!problem.is_parameter(i) || input.type != "f32") continue;
        float &scale = *static_cast<float *>(input.data);
        if (form == "divide") scale *= 0x1p-70f;
        if (form == "folded") scale = i == 4 ? 0x1p-6f : 0x1p-5f;  // half of the quotients are ties
        if (form == "reciprocal") scale = i == 6 ? 6 * 0x1p-7f : 0x1p-7f;
    }
}

// threads: 0 is all.
hewn::Operator compile_with(const Library &library, const Problem &problem, const std::string &variant, int threads) {
    current = &library;
    hewn::CompileOptions options;
    options.variant = variant;
    options.max_threads = threads;
    return compile(problem, options);
}

void run(const Library &library, const hewn::Operator &op, const Problem &problem, int64_t times = 1) {
    const std::vector<hewn_buffer_binding> inputs = input_bindings(problem);
    const hewn_buffer_binding output = problem.output.binding();
    hewn_error error = {sizeof error, 0, ""};
    for (int64_t i = 0; i < times; i++) {
        if (library.execute(op.get(), inputs.data(), uint32_t(inputs.size()), &output, 1, nullptr, &error) != HEWN_STATUS_OK)
            throw std::runtime_error(error.message);
    }
}

// Executes until the operator knows whether QUANTIZED_LINEAR_ADD's scales can be folded (runtime/folding.h).
void run_in(const Library &library, const hewn::Operator &op, const Problem &problem, const std::string &form) {
    if (problem.op != "quantized_linear_add" || form == "divide") return;
    int64_t elements = 1;
    for (int64_t size : problem.output.sizes) elements *= size;
    run(library, op, problem, hewn::kElementsBeforeSearch / elements + 1);
}

// ---- Checking ----

// Whether the form takes ordinary quotients alone, and leaves all others to `divide`.
bool takes_ordinary(const std::string &op, const std::string &form) {
    return form == "reciprocal" || form == "columns" || (op == "quantize_linear" && form == "repeating");
}

// Any bits; for DEQUANTIZE_LINEAR zero points of the kind that the problem has not, 0 or another, for 0 has a shortcut; and for
// QUANTIZE_LINEAR numbers around ties, where a careless quotient lands on the other side.
void scramble(Problem &problem, const std::string &form) {
    std::mt19937 random(7);
    for (size_t i = 0; i < problem.inputs.size(); i++) {
        Operand &input = problem.inputs[i];
        const bool zero_point = problem.op == "dequantize_linear" && i == 2;
        if (problem.is_parameter(i) && !zero_point) continue;
        // Any bits would leave all to `divide`; f32 gets ties below.
        if (takes_ordinary(problem.op, form) && input.type != "f32") continue;
        const size_t bytes = size_t(input.span()) * input.element_bytes();
        uint8_t *const data = static_cast<uint8_t *>(input.data);
        const bool all_0 = zero_point && input.element_bytes() < 4;  // those of 32 bits are 0 before
        for (size_t b = 0; b < bytes; b++) data[b] = all_0 ? 0 : uint8_t(random() >> 11);
        if (problem.op != "quantize_linear" || input.type != "f32") continue;
        const std::vector<double> scales = problem.inputs[1].values();
        for (int64_t e = 0; e < input.span(); e += takes_ordinary(problem.op, form) ? 1 : 2) {
            const float tie = (float(int(random() % 512) - 256) + 0.5f) * float(scales[size_t(e) % scales.size()]);
            static_cast<float *>(input.data)[e] = reference::from_bits(reference::to_bits(tie) + random() % 3 - 1);
        }
    }
}

// Bytes before and behind an output: more than a step of any knobs writes.
constexpr size_t kGuard = 16 << 10;
constexpr uint8_t kUntouched = 0xcd;

void check_once(const Library &library, Problem &problem, const std::string &variant, const std::string &form, bool in_place) {
    const hewn::Operator op = compile_with(library, problem, variant, 1);
    const Operand &output = problem.output;
    const size_t element = output.element_bytes(), bytes = size_t(output.span()) * element;
    uint8_t *const place = static_cast<uint8_t *>(output.data);
    std::memset(place - kGuard, kUntouched, bytes + 2 * kGuard);
    void *const a = problem.inputs[0].data;
    if (in_place) problem.inputs[0].data = std::memcpy(place, a, bytes);
    const std::vector<uint8_t> before(place - kGuard, place + bytes + kGuard);
    run_in(library, op, problem, form);
    run(library, op, problem);
    problem.inputs[0].data = a;
    check_against_reference(problem);

    // Nothing but the output's elements may have changed.
    const bool rows = output.sizes.size() == 2;
    for (int64_t y = 0; y < (rows ? output.sizes[0] : 1); y++) {
        for (int64_t x = 0; x < output.sizes.back(); x++) {
            const size_t at = size_t((rows ? y * output.strides[0] : 0) + x * output.strides.back()) * element;
            std::memcpy(place + at, &before[kGuard + at], element);
        }
    }
    if (std::memcmp(place - kGuard, before.data(), before.size()) != 0)
        throw std::runtime_error("bytes beside the output's elements were written");
}

// In all threads. The reference takes its time: after the first library that was right its results are what is right.
void check_largest(const Library &library, Problem &problem, const std::string &variant, const std::string &form) {
    static std::vector<uint8_t> right;
    const size_t bytes = size_t(problem.output.span()) * problem.output.element_bytes();
    uint8_t *const output = static_cast<uint8_t *>(problem.output.data);
    std::memset(output, kUntouched, bytes);
    const hewn::Operator op = compile_with(library, problem, variant, 0);
    run_in(library, op, problem, form);
    run(library, op, problem);
    if (right.empty()) {
        check_against_reference(problem);
        right.assign(output, output + bytes);
    } else if (std::memcmp(output, right.data(), bytes) != 0) {
        throw std::runtime_error("bits differ from the reference");
    }
}

struct Fault {
    std::string kind, message;  // "bits", "tails", "in place"
};

// All `layouts`, row lengths around vectors and blocks, both contents, in place where the operator allows it; `largest` elements
// in several threads.
Fault check(const Library &library, const Variant &variant, const std::string &form, const std::vector<std::string> &layouts,
            bool whole, int64_t largest) {
    static Arena arena;
    std::string kind;
    const auto check_both = [&](Problem problem, const char *what) {
        kind = what;
        reach(problem, form);
        check_once(library, problem, variant.name, form, false);
        scramble(problem, form);
        check_once(library, problem, variant.name, form, false);
        kind = "in place";
        if (!whole && problem.op == "add" && problem.inputs[0].strides == problem.output.strides)
            check_once(library, problem, variant.name, form, true);
    };
    const auto make = [&](const std::string &layout, int64_t elements) {
        arena.reset();
        Problem problem = make_problem(variant.op, variant.signature, layout, elements, arena);
        const size_t bytes = size_t(problem.output.span()) * problem.output.element_bytes();
        problem.output.data = static_cast<char *>(arena.take(bytes + 2 * kGuard)) + kGuard;
        return problem;
    };
    try {
        const bool repeating = form == "repeating";
        const int64_t elements = form == "columns" || repeating ? 65536 : 4096;  // they take rows to pay
        for (const std::string &layout : layouts) {
            if (!layout_fits(variant.op, layout, elements)) continue;
            check_both(make(layout, elements), "bits");
            const std::vector<int64_t> sizes = make(layout, elements).output.sizes;
            for (const int64_t width : {1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 129, 255, 257, 511, 1000, 1023}) {
                // Of `repeating` the last dimension is the period: the others' number makes its rows, and it takes some to pay.
                const size_t varied = repeating ? 0 : sizes.size() - 1;
                const int64_t size = repeating ? 512 + width : width;
                if (whole || size >= sizes[varied]) continue;
                Problem problem = make(layout, elements);
                for (Operand &input : problem.inputs) input.sizes[varied] = size;
                problem.output.sizes[varied] = size;
                check_both(std::move(problem), "tails");
            }
        }
        if (!whole) check_both(make("dense", 70001), "tails");
        kind = "bits";
        Problem problem = make("dense", largest);
        reach(problem, form);
        check_largest(library, problem, variant.name, form);
    } catch (const std::exception &error) {
        return {kind, error.what()};
    }
    return {};
}

// ---- Timing ----

double now_ns() { return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

int main(int argc, char **argv) {
    CLI::App app("Checks and times candidate libraries");
    std::string variant_name, form;
    std::vector<std::string> paths, layouts = {"dense"};
    std::vector<int64_t> sizes;
    std::vector<int> threads = {1};
    int rounds = 0;
    bool only = false, whole = false;
    double sample_us = 200;
    app.add_option("--variant", variant_name, "<operator>_<signature>__<target>")->required();
    app.add_option("--form", form, "The form that the candidates differ in")->required();
    app.add_option("--layouts", layouts, "Layouts to time")->delimiter(',');
    app.add_flag("--only", only, "Check no other layouts than these");
    app.add_flag("--whole", whole, "Check neither rows that are no multiple of a vector nor execution in place");
    app.add_option("--elements", sizes, "Elements to time")->delimiter(',');
    app.add_option("--threads", threads, "Threads to time, 0 for all; only one below 64 Ki elements")->delimiter(',');
    app.add_option("--rounds", rounds, "Rounds of one sample of each library; 0: check only");
    app.add_option("--sample-us", sample_us, "Microseconds of a sample");
    app.add_option("libraries", paths, "Libraries, the incumbent first")->required();
    CLI11_PARSE(app, argc, argv);

    const Variant *variant = nullptr;
    for (const Variant &built : built_variants()) {
        if (built.name == variant_name) variant = &built;
    }
    if (!variant) {
        std::cerr << "tune_runner: no variant of this build is called " << variant_name << "\n";
        return 2;
    }
    nlohmann::json result = {{"libraries", nlohmann::json::array()}, {"problems", nlohmann::json::array()}};
    std::vector<std::unique_ptr<Library>> right;
    std::vector<size_t> index;  // of each right one among all
    for (size_t i = 0; i < paths.size(); i++) {
        Fault fault;
        try {
            auto library = std::make_unique<Library>(paths[i]);
            const int64_t largest = sizes.empty() ? 1 : *std::max_element(sizes.begin(), sizes.end());
            fault = check(*library, *variant, form, only ? layouts : all_layouts(), whole, largest);
            if (fault.kind.empty()) {
                right.push_back(std::move(library));
                index.push_back(i);
            }
        } catch (const std::exception &error) {
            fault = {"load", error.what()};
        }
        result["libraries"].push_back({{"path", paths[i]}, {"fault", fault.kind}, {"message", fault.message}});
    }
    if (rounds == 0 || right.empty()) {
        std::cout << result << "\n";
        return 0;
    }

    struct Timed {
        Problem problem;
        int threads;
        std::vector<hewn::Operator> ops;  // one a right library
        std::vector<hewn_buffer_binding> inputs;
        hewn_buffer_binding output;
        int calls = 1;
        std::vector<std::vector<double>> ns;  // by library, by round
    };
    Arena arena;
    std::vector<Timed> timed;
    const auto add = [&](const std::string &layout, int64_t elements, int count) {
        constexpr int64_t kThreadedElements = 64 << 10;
        if (!layout_fits(variant->op, layout, elements) || (count != 1 && elements < kThreadedElements)) return;
        Timed t{make_problem(variant->op, variant->signature, layout, elements, arena), count, {}, {}, {}, 1, {}};
        reach(t.problem, form);
        for (const auto &library : right) {
            t.ops.push_back(compile_with(*library, t.problem, variant->name, count));
            run_in(*library, t.ops.back(), t.problem, form);
        }
        t.inputs = input_bindings(t.problem);
        t.output = t.problem.output.binding();
        t.ns.resize(right.size());
        timed.push_back(std::move(t));
    };
    for (const std::string &layout : layouts) {
        for (const int64_t elements : sizes) {
            for (const int count : threads) add(layout, elements, count);
        }
    }
    const auto call = [&](Timed &t, size_t l, int times) {
        const auto execute = right[l]->execute;
        const hewn_operator *const op = t.ops[l].get();
        for (int c = 0; c < times; c++) execute(op, t.inputs.data(), uint32_t(t.inputs.size()), &t.output, 1, nullptr, nullptr);
    };
    const auto sample = [&](Timed &t, size_t l) {
        if (t.threads != 1) settle();  // the other libraries have pools of their own
        call(t, l, 1);                 // the library before may have left the output outside the caches: it streams
        const double start = now_ns();
        call(t, l, t.calls);
        return (now_ns() - start) / t.calls;
    };
    for (Timed &t : timed) {
        for (size_t l = 0; l < right.size(); l++) {
            while (l == 0 && sample(t, 0) * t.calls < sample_us * 1e3 && t.calls < 1 << 20) t.calls *= 2;
            sample(t, l);  // warm
        }
    }
    std::mt19937 random(std::random_device{}());
    std::vector<size_t> order(right.size());
    for (size_t l = 0; l < order.size(); l++) order[l] = l;
    for (int round = 0; round < rounds; round++) {
        for (Timed &t : timed) {
            std::shuffle(order.begin(), order.end(), random);
            // The caches hold the problem before: of 1 Mi elements even the second call takes 1.4 times as long as those that
            // follow.
            call(t, order.front(), 2);
            for (const size_t l : order) t.ns[l].push_back(sample(t, l));
        }
    }
    for (const Timed &t : timed) {
        nlohmann::json ns = nlohmann::json::array();
        for (size_t i = 0; i < paths.size(); i++) ns.push_back(nullptr);
        for (size_t l = 0; l < right.size(); l++) ns[index[l]] = t.ns[l];
        result["problems"].push_back({{"layout", t.problem.layout},
                                      {"elements", t.problem.elements},
                                      {"threads", t.threads},
                                      {"bytes", t.problem.bytes()},
                                      {"ns", ns}});
    }
    std::cout << result << "\n";
    std::cout.flush();
    std::_Exit(0);  // the operators belong to several libraries
}
