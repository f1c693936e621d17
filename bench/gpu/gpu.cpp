// The program hewn_gpu_bench, which bench/gpu.sh runs: measures every signature on a GPU, and the
// device's own copies within its memory.
//
//     hewn_gpu_bench --device cuda|opencl
//
// Prints one JSON object a line (bench/README.md) for each of these:
//
// - dense tensors with scalar parameters, of --from to --to elements, four times as many each time.
//   Parts of the result are compared with the reference;
// - every other layout, with --layout-elements elements;
// - 4 Ki elements (only CUDA), as launches on a stream and in a captured graph;
// - types that need several launches, with --layout-elements elements.
//
// The bytes of a row are those of all tensors' elements, counted once. A copy of as many bytes
// reads one half and writes the other. A time is the best of three rounds. A round has as many
// calls as take --seconds; they are enqueued one after the other and waited for at the end. On
// CUDA, ten calls at a time are captured in a graph, as for the peers (gpu_peers.py), except in the
// rows about launches.
#include <dlfcn.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <hewn/hewn.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../../reference/evaluation.h"
#include "../../reference/variants.h"
#include "../core/problem.h"
#include "cuda.h"

namespace {

using hewn_bench::Cuda, hewn_bench::Operand, hewn_bench::Problem, hewn_test::Variant;

struct Options {
    std::string device = "cuda", once;
    std::vector<std::string> only;
    int64_t from = int64_t(1) << 20, to = int64_t(1) << 30, layout_elements = int64_t(1) << 26;
    double seconds = 0.02;
};

constexpr int64_t LAUNCHED_ELEMENTS = 4096;
constexpr int LAUNCHES_IN_A_GRAPH = 64, CALLS_IN_A_GRAPH = 10;

std::string name_of(const Variant &kernel) { return kernel.operator_name + "_" + kernel.signature; }

// One of the GPUs' variants for each kernel, or only for the named ones. The device later picks the
// variant that runs.
std::vector<Variant> kernels(const std::vector<std::string> &only) {
    std::vector<Variant> result;
    std::set<std::string> seen;
    for (const Variant &variant : hewn_test::all_variants()) {
        const std::string name = name_of(variant);
        const bool chosen = only.empty() || std::count(only.begin(), only.end(), name);
        if (variant.device() == HEWN_DEVICE_CPU) continue;
        if (chosen && seen.insert(name).second) result.push_back(variant);
    }
    if (result.empty()) throw std::runtime_error("--only: this build has no such kernel");
    return result;
}

// ---- The device ----

// The first device, with the program's own context and queue. The copies and hewn use the same
// queue.
struct Gpu {
    std::unique_ptr<Cuda> cuda;  // null: OpenCL
    void *queue = nullptr;
    int (*copy_buffer)(void *, void *, void *, size_t, size_t, size_t, unsigned, void *,
                       void *) = nullptr;
    hewn::Device device;
    std::string name;

    // Enqueues the driver's copy from device memory to device memory.
    void copy(void *to, size_t to_offset, void *from, size_t bytes) const {
        if (cuda) return cuda->copy(to, to_offset, from, bytes);
        if (const int code = copy_buffer(queue, from, to, 0, to_offset, bytes, 0, nullptr, nullptr))
            throw std::runtime_error("the driver's copy failed with code " + std::to_string(code));
    }
};

Gpu open_cuda() {
    auto cuda = std::make_unique<Cuda>();
    hewn::Device device = hewn::Device::cuda(cuda->context(), cuda->stream());
    return {std::move(cuda), nullptr, nullptr, std::move(device), ""};
}

Gpu open_opencl() {
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW), *platform = nullptr, *device = nullptr;
    if (!library) throw std::runtime_error("no OpenCL driver: libOpenCL.so.1 is not there");
    int code = 0;
    reinterpret_cast<int (*)(unsigned, void **, unsigned *)>(dlsym(library, "clGetPlatformIDs"))(
        1, &platform, nullptr);
    reinterpret_cast<int (*)(void *, uint64_t, unsigned, void **, unsigned *)>(
        dlsym(library, "clGetDeviceIDs"))(platform, 0xffffffff, 1, &device, nullptr);
    if (!device) throw std::runtime_error("OpenCL has no device");
    void *context =
        reinterpret_cast<void *(*)(const intptr_t *, unsigned, void **, void *, void *, int *)>(
            dlsym(library, "clCreateContext"))(nullptr, 1, &device, nullptr, nullptr, &code);
    void *queue = reinterpret_cast<void *(*)(void *, void *, uint64_t, int *)>(
        dlsym(library, "clCreateCommandQueue"))(context, device, 0, &code);
    const auto copy =
        reinterpret_cast<decltype(Gpu::copy_buffer)>(dlsym(library, "clEnqueueCopyBuffer"));
    return {nullptr, queue, copy, hewn::Device::opencl(context, queue), ""};
}

Gpu open(const std::string &kind) {
    Gpu gpu = kind == "cuda" ? open_cuda() : open_opencl();
    gpu.name = hewn::devices(gpu.device.kind()).at(0).name;
    return gpu;
}

// ---- Problems in the device's memory ----

// Fills memory with bytes that are ordinary numbers in every type: f32 from 2^-15 to 2^17, f16 from
// 0.5 to 8. New memory is full of zeros, and a division of zero takes another path. Each tensor has
// other bytes: otherwise an output that no kernel has written could pass for a right one, because
// it would be equal to an input.
void fill(hewn::DeviceMemory &memory, uint64_t bytes, size_t tensor, const Gpu &gpu) {
    std::vector<uint8_t> pattern(std::min<uint64_t>(bytes, 1 << 16));
    for (size_t i = 0; i < pattern.size(); i++)
        pattern[i] = uint8_t(0x38 + ((i + 5 * tensor) * 2654435761u >> 28 & 15));
    memory.write(pattern.data(), pattern.size());
    for (uint64_t done = pattern.size(); done < bytes;) {
        const uint64_t part = std::min(done, bytes - done);
        gpu.copy(memory.get(), size_t(done), memory.get(), size_t(part));
        done += part;
    }
}

// A problem that was compiled for the device, with its tensors in the device's memory.
struct Prepared {
    Problem problem;
    hewn::Operator op;
    std::vector<hewn::DeviceMemory> memory;  // the inputs, then the output
    std::vector<hewn::InputBinding> inputs;
    hewn::Binding output;

    void execute() const { op.execute(inputs.data(), inputs.size(), &output, 1); }
};

hewn::Operator compile(const Gpu &gpu, const Problem &problem) {
    hewn_error error{sizeof error, HEWN_STATUS_OK, ""};
    hewn_operator *op = nullptr;
    if (hewn_compile(gpu.device.get(), problem.description().get(), nullptr, &op, &error))
        throw hewn::Error(error);
    return hewn::Operator(op);
}

Prepared prepare(const Gpu &gpu, const Variant &kernel, const std::string &layout,
                 int64_t elements) {
    const Problem problem =
        hewn_bench::lay_out(kernel.operator_name, kernel.signature, layout, elements);
    Prepared result{problem, compile(gpu, problem), {}, {}, {nullptr, 0}};
    std::vector<const Operand *> operands;
    for (const Operand &input : problem.inputs) operands.push_back(&input);
    operands.push_back(&problem.output);
    for (const Operand *operand : operands) {
        const uint64_t bytes = uint64_t(operand->span()) * operand->element_bytes();
        result.memory.emplace_back(gpu.device, bytes);
        fill(result.memory.back(), bytes, result.memory.size(), gpu);
        result.inputs.push_back(result.memory.back().binding());
    }
    result.output = result.memory.back().binding();
    result.inputs.pop_back();
    return result;
}

// The number of results of an executed dense problem that differ from the reference. It looks at
// some results at the start, around the middle and at the end. If the problem is launched in parts,
// these places are at the parts' ends.
int64_t differing(const Prepared &dense) {
    const Problem &problem = dense.problem;
    const int64_t part = std::min<int64_t>(problem.elements, 4096);
    int64_t count = 0;
    for (const int64_t first :
         {int64_t(0), problem.elements / 2 - part / 2, problem.elements - part}) {
        hewn_test::Evaluation evaluation;
        evaluation.op = hewn_test::parse_operator(problem.op);
        evaluation.sizes = {part};
        evaluation.attributes = problem.attributes;
        std::vector<std::vector<uint8_t>> contents;
        const auto read = [&](const Operand &operand, size_t t) {
            const bool one = operand.span() == 1;
            const size_t bytes = operand.element_bytes();
            contents.emplace_back(one ? bytes : size_t(part) * bytes);
            dense.memory[t].read(contents.back().data(), contents.back().size(),
                                 one ? 0 : uint64_t(first) * bytes);
            evaluation.types.push_back(hewn_test::parse_type(operand.type));
            evaluation.strides.push_back({one ? 0 : 1});
        };
        for (size_t i = 0; i < problem.inputs.size(); i++) {
            read(problem.inputs[i], i);
            evaluation.inputs.push_back(contents.back().data());
        }
        read(problem.output, problem.inputs.size());
        count += hewn_test::count_differences(evaluation, contents.back().data());
    }
    return count;
}

// ---- Operators in several launches: types that kernels do not take, and ranges of the input ----

using hewn::TensorDesc, hewn::DataType;

// An operator that runs in several passes.
struct Passes {
    std::string kernel, layout;  // the names in the output
    hewn_operator_type type;
    std::vector<TensorDesc> tensors;  // all, in the operator's order
    std::vector<int32_t> attributes;
};

std::vector<Passes> all_passes(int64_t n) {
    const auto of = [&](DataType type) { return TensorDesc{type, {n}}; };
    const auto one = [&](DataType type) { return TensorDesc::broadcast_scalar(type, {n}); };
    const auto single = [](DataType type) { return TensorDesc{type, {1}}; };
    const DataType f32 = DataType::FLOAT32, f16 = DataType::FLOAT16, u8 = DataType::UINT8,
                   u4 = DataType::UINT4;
    const auto quantize = HEWN_OPERATOR_QUANTIZE_LINEAR;
    const auto dequantize = HEWN_OPERATOR_DEQUANTIZE_LINEAR;
    const auto blocks = [&](DataType type) { return TensorDesc::in_blocks(type, {n}, {32}); };
    std::vector<Passes> all = {
        {"quantize_linear_f32_u4", "sub-byte", quantize, {of(f32), one(f32), one(u4), of(u4)}, {}},
        {"dequantize_linear_u4_f32",
         "sub-byte",
         dequantize,
         {of(u4), one(f32), one(u4), of(f32)},
         {}},
        {"dequantize_linear_u4_f32",
         "blocks of 32",
         dequantize,
         {of(u4), blocks(f32), blocks(u4), of(f32)},
         {}},
        {"dequantize_linear_u8_f32",
         "blocks of 32",
         dequantize,
         {of(u8), blocks(f32), blocks(u8), of(f32)},
         {}},
        {"quantize_linear_f16_u8", "scale f32", quantize, {of(f16), one(f32), one(u8), of(u8)}, {}},
        {"quantize_linear_f32_u8",
         "precision f16",
         quantize,
         {of(f32), one(f32), one(u8), of(u8)},
         {HEWN_PRECISION_FLOAT16}}};
    for (const DataType type : {f32, f16})
        all.push_back(
            {type == f32 ? "dynamic_quantize_linear_f32_u8" : "dynamic_quantize_linear_f16_u8",
             "range",
             HEWN_OPERATOR_DYNAMIC_QUANTIZE_LINEAR,
             {of(type), of(u8), single(f32), single(u8)},
             {}});
    return all;
}

// Such an operator, compiled for the device, with its tensors in the device's memory.
class PreparedPasses {
public:
    double bytes = 0;
    hewn::Operator op;

    PreparedPasses(const Gpu &gpu, const Passes &passes) : op(compile(gpu, passes)) {
        for (const TensorDesc &tensor : passes.tensors) {
            const uint64_t size = tensor.size_in_bytes();
            memory_.emplace_back(gpu.device, size);
            fill(memory_.back(), size, memory_.size(), gpu);
            bytes += double(size);
        }
        const size_t inputs = hewn_test::facts(passes.type).inputs();
        for (size_t t = 0; t < memory_.size(); t++) {
            if (t < inputs) inputs_.push_back(memory_[t].binding());
            else bindings_.push_back(memory_[t].binding());
        }
    }

    void execute() const {
        op.execute(inputs_.data(), inputs_.size(), bindings_.data(), bindings_.size());
    }

private:
    static hewn::Operator compile(const Gpu &gpu, const Passes &passes) {
        std::vector<const TensorDesc *> tensors;
        for (const TensorDesc &tensor : passes.tensors) tensors.push_back(&tensor);
        return hewn::compile(passes.type, tensors, {}, &gpu.device, passes.attributes);
    }

    std::vector<hewn::DeviceMemory> memory_;
    std::vector<hewn::InputBinding> inputs_;
    std::vector<hewn::Binding> bindings_;
};

// ---- Times ----

// The seconds of one call, in the best of three rounds. A round has as many calls as take
// `seconds`.
double time_of(const Gpu &gpu, double seconds, const std::function<void()> &call) {
    const auto round = [&](int calls) {
        gpu.device.synchronize();
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; i++) call();
        gpu.device.synchronize();
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
               calls;
    };
    round(1);
    const int calls = int(std::min(10000.0, std::max(1.0, seconds / round(1))));
    double best = round(calls);
    for (int i = 0; i < 2; i++) best = std::min(best, round(calls));
    return best;
}

// The same, but on CUDA a graph of `calls` calls is launched instead.
double time_in_graph(const Gpu &gpu, double seconds, int calls, const std::function<void()> &call) {
    if (!gpu.cuda) return time_of(gpu, seconds, call);
    const Cuda::Graph graph(*gpu.cuda, [&] {
        for (int i = 0; i < calls; i++) call();
    });
    return time_of(gpu, seconds, [&] { graph.launch(); }) / calls;
}

// The speed of the device's copies. Each size is measured once.
class Copies {
public:
    Copies(const Gpu &gpu, double seconds) : gpu_(gpu), seconds_(seconds) {}
    // The GB/s of a copy that reads and writes this many bytes together.
    double rate(uint64_t bytes) {
        const auto [at, added] = rates_.emplace(bytes, 0);
        if (!added) return at->second;
        const uint64_t half = std::max<uint64_t>(bytes / 2, 1);
        hewn::DeviceMemory source(gpu_.device, half), target(gpu_.device, half);
        fill(source, half, 0, gpu_);
        const auto copy = [&] { gpu_.copy(target.get(), 0, source.get(), size_t(half)); };
        // In a graph, large copies are slower and small ones faster (docs/lab/gpu.md).
        const double time = std::min(time_of(gpu_, seconds_, copy),
                                     time_in_graph(gpu_, seconds_, CALLS_IN_A_GRAPH, copy));
        return at->second = double(2 * half) / time / 1e9;
    }

private:
    const Gpu &gpu_;
    double seconds_;
    std::map<uint64_t, double> rates_;
};

// ---- Rows ----

using Row = nlohmann::ordered_json;

// Measures rows and prints them. A row that cannot be measured has an error, and the others go on.
class Rows {
public:
    Rows(const Gpu &gpu, const Options &options)
        : gpu_(gpu), options_(options), copies_(gpu, options.seconds) {}

    void dense(const Variant &kernel, int64_t elements) {
        print(kernel, "dense", elements, [&](const Prepared &prepared, Row &row) {
            bandwidth(prepared, prepared.problem.bytes(), row);
            row["differing"] = differing(prepared);
        });
    }
    void layout(const Variant &kernel, const std::string &layout, int64_t elements) {
        print(kernel, layout, elements, [&](const Prepared &prepared, Row &row) {
            bandwidth(prepared, prepared.problem.bytes(), row);
        });
    }
    void passes(const Passes &passes, int64_t elements) {
        print(passes.kernel, passes.layout, elements, [&](Row &row) {
            const PreparedPasses prepared(gpu_, passes);
            row["variant"] = prepared.op.variant();
            row["passes"] = true;
            bandwidth(prepared, prepared.bytes, row);
        });
    }
    void launches(const Variant &kernel) {
        print(kernel, "launch", LAUNCHED_ELEMENTS, [&](const Prepared &prepared, Row &row) {
            row["seconds"] = time_of(gpu_, options_.seconds, [&] { prepared.execute(); });
        });
        print(kernel, "graph", LAUNCHED_ELEMENTS, [&](const Prepared &prepared, Row &row) {
            row["seconds"] = time_in_graph(gpu_, options_.seconds, LAUNCHES_IN_A_GRAPH,
                                           [&] { prepared.execute(); });
        });
    }

private:
    template<class AnyPrepared>
    void bandwidth(const AnyPrepared &prepared, double bytes, Row &row) {
        const double time =
            time_in_graph(gpu_, options_.seconds, CALLS_IN_A_GRAPH, [&] { prepared.execute(); });
        row["bytes"] = bytes;
        row["seconds"] = time;
        row["gb_per_s"] = bytes / time / 1e9;
        row["copy_gb_per_s"] = copies_.rate(uint64_t(bytes));
    }
    template<class Measure>
    void print(const Variant &kernel, const std::string &row_layout, int64_t elements,
               const Measure &measure) {
        print(name_of(kernel), row_layout, elements, [&](Row &row) {
            const bool launched = row_layout == "launch" || row_layout == "graph";
            const Prepared prepared =
                prepare(gpu_, kernel, launched ? "dense" : row_layout, elements);
            row["variant"] = prepared.op.variant();
            measure(prepared, row);
        });
    }
    template<class Measure>
    void print(const std::string &kernel, const std::string &row_layout, int64_t elements,
               const Measure &measure) {
        Row row = {{"by", "hewn"},
                   {"kernel", kernel},
                   {"layout", row_layout},
                   {"elements", elements},
                   {"device", gpu_.name}};
        try {
            measure(row);
        } catch (const std::exception &error) {  // such as too little memory
            row["error"] = error.what();
        }
        std::printf("%s\n", row.dump().c_str());
        std::fflush(stdout);
    }

    const Gpu &gpu_;
    const Options &options_;
    Copies copies_;
};

int execute_once(const Gpu &gpu, const std::vector<Variant> &chosen, const Options &options) {
    for (const Variant &kernel : chosen) {
        const Prepared prepared = prepare(gpu, kernel, options.once, options.layout_elements);
        prepared.execute();
        gpu.device.synchronize();
    }
    return 0;
}

int run(const Options &options) {
    const Gpu gpu = open(options.device);
    Rows rows(gpu, options);
    const std::vector<Variant> chosen = kernels(options.only);
    if (!options.once.empty()) return execute_once(gpu, chosen, options);
    if (gpu.cuda)
        for (const Variant &kernel : chosen) rows.launches(kernel);
    // The rows that need most memory and time are last, so that a run which is cut short has the
    // others.
    for (int64_t n = options.from; n < options.layout_elements && n <= options.to; n *= 4)
        for (const Variant &kernel : chosen) rows.dense(kernel, n);
    for (const std::string &layout : hewn_bench::all_layouts()) {
        for (const Variant &kernel : chosen) {
            const int64_t n = options.layout_elements;
            if (layout != "dense" && hewn_bench::layout_fits(kernel.operator_name, layout, n))
                rows.layout(kernel, layout, n);
        }
    }
    for (const Passes &passes : all_passes(options.layout_elements)) {
        if (options.only.empty()) rows.passes(passes, options.layout_elements);
    }
    for (int64_t n = options.from; n <= options.to; n *= 4) {
        if (n < options.layout_elements) continue;
        for (const Variant &kernel : chosen) rows.dense(kernel, n);
    }
    return 0;
}

}  // namespace

int main(int argc, char **argv) {
    CLI::App app("Every signature on a GPU, beside the device's own copies", "gpu");
    Options options;
    app.add_option("--device", options.device, "cuda or opencl")
        ->check(CLI::IsMember({"cuda", "opencl"}));
    const auto elements = [&](const char *name, int64_t &value, const char *what) {
        app.add_option(name, value, what)
            ->transform(CLI::AsSizeValue(false))
            ->check(CLI::PositiveNumber);
    };
    elements("--from", options.from, "dense elements, e.g. 1Mi");
    elements("--to", options.to, "dense elements, up to which there are steps of 4");
    elements("--layout-elements", options.layout_elements, "elements in the other layouts");
    app.add_option("--seconds", options.seconds, "of a round")->check(CLI::PositiveNumber);
    app.add_option("--only", options.only, "these kernels alone: add_f32 add_i8");
    app.add_option("--once", options.once,
                   "for a profiler: one execution of --layout-elements in this layout")
        ->check(CLI::IsMember(hewn_bench::all_layouts()));
    CLI11_PARSE(app, argc, argv);
    try {
        return run(options);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "gpu: %s\n", error.what());
        return 1;
    }
}
