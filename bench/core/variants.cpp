// The program bench_variants: measures every variant of the build in every layout, with Google
// Benchmark. A row is called <variant>/<layout>/<elements>/threads:<n>. Variants that the machine
// cannot run are skipped.
//
//     bench_variants --benchmark_filter='quantize_linear_f32_u8__.*/dense/65536/threads:1'
#include <benchmark/benchmark.h>

#include <map>

#include "problem.h"

namespace {
using namespace hewn_bench;

constexpr int64_t SIZES[] = {16, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 128 << 20};

void run(benchmark::State &state, const Variant &variant, const std::string &layout,
         int64_t elements, int threads) {
    static Arena arena;
    arena.reset();
    const Problem problem =
        make_problem(variant.operator_name, variant.signature, layout, elements, arena);
    hewn::CompileOptions options;
    options.variant = variant.name;
    options.max_threads = threads;
    const hewn::Operator op = compile(problem, options);
    const std::vector<hewn_buffer_binding> inputs = input_bindings(problem);
    const hewn_buffer_binding output = problem.output.binding();
    for (auto _ : state) {
        hewn_execute(op.get(), inputs.data(), uint32_t(inputs.size()), &output, 1, nullptr,
                     nullptr);
        benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(state.iterations() * problem.elements);
    state.counters["bytes_per_second"] = {double(state.iterations()) * problem.bytes(),
                                          benchmark::Counter::kIsRate};
}

void register_all() {
    std::map<std::string, std::string> missing;  // {target: what this machine lacks for it}
    for (const hewn_target_info &target : hewn::targets())
        missing[target.name] = target.supported ? "" : target.missing;
    for (const Variant &variant : built_variants()) {
        for (const std::string &layout : all_layouts()) {
            for (const int64_t elements : SIZES) {
                for (const int threads : {1, 2}) {
                    if (!layout_fits(variant.operator_name, layout, elements)) continue;
                    const std::string name = variant.name + "/" + layout + "/" +
                                             std::to_string(elements) +
                                             "/threads:" + std::to_string(threads);
                    const std::string &lacks = missing.at(variant.target);
                    const auto body = [=, &variant](benchmark::State &state) {
                        if (lacks.empty()) run(state, variant, layout, elements, threads);
                        else state.SkipWithError(("this machine lacks " + lacks).c_str());
                    };
                    benchmark::RegisterBenchmark(name.c_str(), body)->UseRealTime();
                }
            }
        }
    }
}

}  // namespace

int main(int argc, char **argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    register_all();
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}
