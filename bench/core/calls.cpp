// The program bench_calls: the cost of a call itself. It measures executions with only 16 elements,
// through the C interface and through hewn.hpp, and it measures compiling. Its rows are called
// <kernel>/execute, <kernel>/execute_cpp and <kernel>/compile.
#include <benchmark/benchmark.h>

#include <set>

#include "problem.h"

namespace {
using namespace hewn_bench;

constexpr int64_t ELEMENTS = 16;

void execute_c(benchmark::State &state, const Variant &variant) {
    Arena arena;
    const Problem problem =
        make_problem(variant.operator_name, variant.signature, "dense", ELEMENTS, arena);
    const hewn::Operator op = compile(problem, {});
    const std::vector<hewn_buffer_binding> inputs = input_bindings(problem);
    const hewn_buffer_binding output = problem.output.binding();
    for (auto _ : state) {
        hewn_execute(op.get(), inputs.data(), uint32_t(inputs.size()), &output, 1, nullptr,
                     nullptr);
        benchmark::ClobberMemory();
    }
}

// The bindings are made in each call, as programs do it.
void execute_cpp(benchmark::State &state, const Variant &variant) {
    Arena arena;
    const Problem problem =
        make_problem(variant.operator_name, variant.signature, "dense", ELEMENTS, arena);
    const hewn::Operator op = compile(problem, {});
    const hewn::Binding out = problem.output.binding();
    std::vector<hewn::Binding> in;
    for (const Operand &input : problem.inputs) in.push_back(input.binding());
    const auto measure = [&](auto call) {
        for (auto _ : state) {
            call();
            benchmark::ClobberMemory();
        }
    };
    if (in.size() == 2) measure([&] { op.execute({in[0], in[1]}, {out}); });
    else if (in.size() == 3) measure([&] { op.execute({in[0], in[1], in[2]}, {out}); });
    else
        measure([&] {
            op.execute({in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7]}, {out});
        });
}

void compile_and_destroy(benchmark::State &state, const Variant &variant) {
    Arena arena;
    const Problem problem =
        make_problem(variant.operator_name, variant.signature, "dense", ELEMENTS, arena);
    const hewn_test::Description description = problem.description();
    for (auto _ : state) hewn::Operator(compile(description, {}));
}

}  // namespace

int main(int argc, char **argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    std::set<std::string> seen;  // each kernel once, because the picked variant runs anyway
    for (const Variant &variant : built_variants()) {
        const std::string name = variant.operator_name + "_" + variant.signature;
        if (!seen.insert(name).second) continue;
        benchmark::RegisterBenchmark((name + "/execute").c_str(), execute_c, variant)
            ->UseRealTime();
        benchmark::RegisterBenchmark((name + "/execute_cpp").c_str(), execute_cpp, variant)
            ->UseRealTime();
        benchmark::RegisterBenchmark((name + "/compile").c_str(), compile_and_destroy, variant)
            ->UseRealTime();
    }
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}
