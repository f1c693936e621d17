// Dequantizes a tensor on the best device of the machine: an NVIDIA GPU if there is one, otherwise
// a GPU with OpenCL, otherwise the CPU. Prints the variant that ran and its speed.
#include <hewn/hewn.hpp>

#include <chrono>
#include <cstdio>
#include <optional>
#include <vector>

namespace {

// Opens the best device. Returns nothing for the CPU, which needs no hewn::Device.
std::optional<hewn::Device> best_device() {
    for (const hewn::DeviceKind kind : {hewn::DeviceKind::CUDA, hewn::DeviceKind::OPENCL}) {
        for (const hewn_device_info &info : hewn::devices(kind)) {
            // Skip OpenCL in software on the CPU, and devices that cannot run hewn.
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
    // The scale and the zero point have the tensor's sizes, and a stride of 0: all elements use the
    // same value.
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

    // These lines are the same for every device. On the CPU, a DeviceMemory is ordinary memory, and
    // write() and read() are plain copies.
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
    run();  // a warm-up, which also touches all memory for the first time
    device.synchronize();
    constexpr int runs = 20;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < runs; i++) run();
    device.synchronize();  // waits for a GPU, which has only been given the work so far
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
