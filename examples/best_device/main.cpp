// Dequantizes on the best device: an NVIDIA GPU, else a GPU by OpenCL, else the CPU. Prints the
// variant and its speed.
#include <hewn/hewn.hpp>

#include <chrono>
#include <cstdio>
#include <optional>
#include <vector>

namespace {

// Returns nothing for the CPU, whose kernels need no device.
std::optional<hewn::Device> best_device() {
    for (const hewn::DeviceKind kind : {hewn::DeviceKind::CUDA, hewn::DeviceKind::OPENCL}) {
        for (const hewn_device_info &info : hewn::devices(kind)) {
            if (info.is_cpu || info.missing[0]) continue;
            std::printf("%s\n", info.name);
            return hewn::Device::open(kind, info.index);
        }
    }
    std::printf("CPU\n");
    return std::nullopt;
}

}  // namespace

int main() try {
    constexpr int64_t n = 1 << 24;
    const std::vector<int64_t> sizes = {n}, all_the_same = {0};
    const hewn::DequantizeLinearDesc desc = {
        {hewn::DataType::UINT8, sizes},
        {hewn::DataType::FLOAT32, sizes, all_the_same},
        hewn::TensorDesc{hewn::DataType::UINT8, sizes, all_the_same},
        {hewn::DataType::FLOAT32, sizes}};
    const std::optional<hewn::Device> gpu = best_device();
    const hewn::Device cpu;
    const hewn::Device &device = gpu ? *gpu : cpu;
    const hewn::Operator dequantize = hewn::compile(desc, {}, &device);

    // The same lines for every device. On the CPU, device memory is its own memory, and copies are
    // plain copies.
    const std::vector<uint8_t> quantized(n, 131);
    const float scale = 0.25f;
    const uint8_t zero_point = 128;
    hewn::DeviceMemory input(device, n), scales(device, sizeof scale),
        zero_points(device, sizeof zero_point), output(device, 4 * n);
    input.write(quantized.data(), n);
    scales.write(&scale, sizeof scale);
    zero_points.write(&zero_point, sizeof zero_point);

    const auto run = [&] {
        dequantize.execute({input.binding(), scales.binding(), zero_points.binding()},
                           {output.binding()});
    };
    run();  // the first touches the memory
    device.synchronize();
    constexpr int runs = 20;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; i++) run();
    device.synchronize();  // so far a GPU was only given work
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / runs;

    float last = 0;
    output.read(&last, sizeof last, 4 * (n - 1));
    std::printf("%g by %s, %.1f GB/s\n", last, dequantize.variant(), 5.0 * n / seconds / 1e9);
    return last == 0.75f ? 0 : 1;
} catch (const hewn::Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
