// Every signature on a GPU, dense with scalar parameters, beside the device's own rate of copying
// within its memory. One JSON object a line.
//   gpu --device cuda|opencl [--from 1Mi] [--to 1Gi] [--seconds 0.3]
// Bytes are what each tensor's elements take, once; a copy's are read and written. Times are of as
// many calls as fill --seconds, enqueued one behind the other and waited for at the end; the best
// of three.
#include <dlfcn.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <hewn/hewn.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../reference/operators.h"
#include "../reference/variants.h"

namespace {

using hewn::DataType, hewn::TensorDesc, hewn_test::Variant;

// A variant of each kernel: which one runs is up to the device.
std::vector<Variant> kernels() {
    std::vector<Variant> result;
    std::set<std::string> seen;
    for (const Variant &variant : hewn_test::all_variants()) {
        if (seen.insert(variant.operator_name + "_" + variant.signature).second)
            result.push_back(variant);
    }
    return result;
}

// The tensors of a kernel on n elements, output last.
struct Problem {
    hewn::Operator op;
    std::vector<TensorDesc> tensors;
};

Problem make_problem(const Variant &kernel, int64_t n, const hewn::Device &device) {
    const hewn_test::OperatorFacts &facts = hewn_test::facts(kernel.operator_name);
    std::vector<TensorDesc> tensors;
    for (const hewn_data_type type : hewn_test::operand_types(facts, kernel.signature)) {
        const bool parameter = facts.is_parameter(tensors.size());
        tensors.push_back(parameter ? TensorDesc::broadcast_scalar(DataType(type), {n})
                                    : TensorDesc{DataType(type), {n}});
    }
    hewn_test::TensorDescs descs;
    for (const TensorDesc &tensor : tensors) descs.push_back(tensor.c_desc());
    const hewn_test::Description description(facts.type, std::move(descs));
    hewn_error error{sizeof error, HEWN_STATUS_OK, ""};
    hewn_operator *op = nullptr;
    if (hewn_compile(device.get(), description.get(), nullptr, &op, &error) != HEWN_STATUS_OK)
        throw hewn::Error(error);
    return {hewn::Operator(op), tensors};
}

// Seconds of one call: the best of three rounds of as many as fill `seconds`.
double time_of(const hewn::Device &device, double seconds, const std::function<void()> &call) {
    const auto round = [&](int calls) {
        device.synchronize();
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < calls; i++) call();
        device.synchronize();
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
               calls;
    };
    round(1);
    const int calls = int(std::min(10000.0, std::max(3.0, seconds / round(2))));
    double best = round(calls);
    for (int i = 0; i < 2; i++) best = std::min(best, round(calls));
    return best;
}

// The driver's copy from device memory to device memory, enqueued.
class DeviceCopy {
public:
    DeviceCopy(const hewn::Device &device, void *stream)
        : cuda_(device.kind() == hewn::DeviceKind::CUDA), stream_(stream) {
        void *library = dlopen(cuda_ ? "libcuda.so.1" : "libOpenCL.so.1", RTLD_NOW);
        function_ = library ? dlsym(library, cuda_ ? "cuMemcpyDtoDAsync_v2" : "clEnqueueCopyBuffer")
                            : nullptr;
        if (!function_) throw std::runtime_error("the driver cannot copy");
    }
    void operator()(void *to, size_t to_offset, void *from, size_t bytes) const {
        const int code =
            cuda_ ? reinterpret_cast<int (*)(uint64_t, uint64_t, size_t, void *)>(function_)(
                        reinterpret_cast<uintptr_t>(to) + to_offset,
                        reinterpret_cast<uintptr_t>(from), bytes, stream_)
                  : reinterpret_cast<int (*)(void *, void *, void *, size_t, size_t, size_t,
                                             unsigned, void *, void *)>(function_)(
                        stream_, from, to, 0, to_offset, bytes, 0, nullptr, nullptr);
        if (code)
            throw std::runtime_error("the driver's copy failed with code " + std::to_string(code));
    }

private:
    bool cuda_;
    void *stream_, *function_;
};

// Fills memory with what is an ordinary number in every type: f32 from 2^-15 to 2^17, f16 from 0.5
// to 8. A division of a zero, of which new memory is full, takes another path.
void fill(hewn::DeviceMemory &memory, uint64_t bytes, const DeviceCopy &copy) {
    std::vector<uint8_t> pattern(std::min<uint64_t>(bytes, 1 << 16));
    for (size_t i = 0; i < pattern.size(); i++)
        pattern[i] = uint8_t(0x38 + (i * 2654435761u >> 28 & 15));
    memory.write(pattern.data(), pattern.size());
    for (uint64_t done = pattern.size(); done < bytes;) {
        const uint64_t part = std::min(done, bytes - done);
        copy(memory.get(), size_t(done), memory.get(), size_t(part));
        done += part;
    }
}

// The application's own context and queue, which the copy shares with hewn.
hewn::Device open(const std::string &name, void **stream) {
    if (name == "cuda") {
        void *library = dlopen("libcuda.so.1", RTLD_NOW), *context = nullptr;
        if (!library) throw std::runtime_error("no CUDA driver: libcuda.so.1 is not there");
        int device = 0;
        const auto check = [](int code) {
            if (code)
                throw std::runtime_error("the CUDA driver failed with code " +
                                         std::to_string(code));
        };
        check(reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"))(0));
        check(reinterpret_cast<int (*)(int *, int)>(dlsym(library, "cuDeviceGet"))(&device, 0));
        check(reinterpret_cast<int (*)(void **, int)>(dlsym(library, "cuDevicePrimaryCtxRetain"))(
            &context, device));
        check(reinterpret_cast<int (*)(void *)>(dlsym(library, "cuCtxPushCurrent_v2"))(context));
        check(reinterpret_cast<int (*)(void **, unsigned)>(dlsym(library, "cuStreamCreate"))(stream,
                                                                                             1));
        return hewn::Device::cuda(context, *stream);
    }
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
    *stream = reinterpret_cast<void *(*)(void *, void *, uint64_t, int *)>(
        dlsym(library, "clCreateCommandQueue"))(context, device, 0, &code);
    return hewn::Device::opencl(context, *stream);
}

struct Options {
    std::string device = "cuda";
    int64_t from = int64_t(1) << 20, to = int64_t(1) << 30;
    double seconds = 0.3;
};

int run(const Options &options) {
    const double seconds = options.seconds;
    void *stream = nullptr;
    const hewn::Device device = open(options.device, &stream);
    const DeviceCopy copy(device, stream);
    const hewn_device_info info = hewn::devices(device.kind()).at(0);
    for (int64_t n = options.from; n <= options.to; n *= 4) {
        const auto print = [&](const std::string &what, const std::string &variant, uint64_t bytes,
                               double time) {
            const nlohmann::ordered_json line = {{"device", info.name},
                                                 {"kernel", what},
                                                 {"variant", variant},
                                                 {"elements", n},
                                                 {"bytes", bytes},
                                                 {"seconds", time},
                                                 {"gb_per_s", double(bytes) / time / 1e9}};
            std::printf("%s\n", line.dump().c_str());
            std::fflush(stdout);
        };
        try {
            hewn::DeviceMemory source(device, uint64_t(n) * 4), target(device, uint64_t(n) * 4);
            print("copy", "", uint64_t(n) * 8, time_of(device, seconds, [&] {
                      copy(target.get(), 0, source.get(), size_t(n) * 4);
                  }));
        } catch (const hewn::Error &error) {
            std::fprintf(stderr, "copy of %lld elements: %s\n", static_cast<long long>(n),
                         error.what());
        }
        for (const Variant &kernel : kernels()) {
            try {
                const Problem problem = make_problem(kernel, n, device);
                std::vector<hewn::DeviceMemory> memory;
                std::vector<hewn::InputBinding> inputs;
                uint64_t bytes = 0;
                for (const TensorDesc &tensor : problem.tensors) {
                    const uint64_t size = tensor.size_in_bytes();
                    memory.emplace_back(device, size);
                    inputs.push_back(memory.back().binding());
                    if (size >= uint64_t(n)) bytes += size;
                    fill(memory.back(), size, copy);
                }
                const hewn::Binding output = memory.back().binding();
                const double time = time_of(device, seconds, [&] {
                    problem.op.execute(inputs.data(), inputs.size() - 1, &output, 1);
                });
                print(kernel.operator_name + "_" + kernel.signature, problem.op.variant(), bytes,
                      time);
            } catch (const hewn::Error &error) {
                std::fprintf(stderr, "%s_%s of %lld elements: %s\n", kernel.operator_name.c_str(),
                             kernel.signature.c_str(), static_cast<long long>(n), error.what());
            }
        }
    }
    return 0;
}

}  // namespace

int main(int argc, char **argv) {
    CLI::App app("Every signature on a GPU, beside the device's own copies", "gpu");
    Options options;
    app.add_option("--device", options.device, "cuda or opencl")
        ->check(CLI::IsMember({"cuda", "opencl"}));
    app.add_option("--from", options.from, "elements, e.g. 1Mi")
        ->transform(CLI::AsSizeValue(false))
        ->check(CLI::PositiveNumber);
    app.add_option("--to", options.to, "elements, up to which there are steps of 4")
        ->transform(CLI::AsSizeValue(false))
        ->check(CLI::PositiveNumber);
    app.add_option("--seconds", options.seconds, "of a round")->check(CLI::PositiveNumber);
    CLI11_PARSE(app, argc, argv);
    try {
        return run(options);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "gpu: %s\n", error.what());
        return 1;
    }
}
