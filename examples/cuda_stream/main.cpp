// hewn in a CUDA program: it uses the program's context, stream and memory. Three operators run on
// the stream: quantize, add, dequantize. None of the calls waits; the program itself waits for the
// stream at the end.
#include <cuda_runtime_api.h>
#include <hewn/hewn.hpp>

#include <cstdio>
#include <stdexcept>
#include <vector>

namespace {

void check(cudaError_t code) {
    if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorString(code));
}

// Allocates memory on the GPU and copies the values to it, both on the stream.
template<class T>
T *to_device(const std::vector<T> &values, cudaStream_t stream) {
    T *memory = nullptr;
    check(cudaMallocAsync(reinterpret_cast<void **>(&memory), values.size() * sizeof(T), stream));
    check(cudaMemcpyAsync(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice,
                          stream));
    return memory;
}

}  // namespace

int main() try {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreate(&stream));  // also makes the device's context current

    // QUANTIZE_LINEAR and DEQUANTIZE_LINEAR take a scale and a zero point of the tensor's sizes. A
    // stride of 0 repeats one element. QUANTIZED_LINEAR_ADD takes single elements.
    constexpr int64_t n = 1 << 20;
    const std::vector<int64_t> sizes = {n}, one = {1}, all_the_same = {0};
    const hewn::TensorDesc f32 = {hewn::DataType::FLOAT32, sizes},
                           u8 = {hewn::DataType::UINT8, sizes};
    const hewn::TensorDesc scale = {hewn::DataType::FLOAT32, sizes, all_the_same},
                           zero_point = {hewn::DataType::UINT8, sizes, all_the_same};
    const hewn::TensorDesc one_scale = {hewn::DataType::FLOAT32, one},
                           one_zero_point = {hewn::DataType::UINT8, one};

    // A device with the current context of CUDA's runtime API (nullptr) and the program's stream.
    // Compiling loads the kernels; executing only launches them.
    const hewn::Device device = hewn::Device::cuda(nullptr, stream);
    const hewn::Operator quantize =
        hewn::compile(hewn::QuantizeLinearDesc{f32, scale, zero_point, u8}, {}, &device);
    const hewn::Operator add =
        hewn::compile(hewn::QuantizedLinearAddDesc{u8, one_scale, one_zero_point, u8, one_scale,
                                                   one_zero_point, one_scale, one_zero_point, u8},
                      {}, &device);
    const hewn::Operator dequantize =
        hewn::compile(hewn::DequantizeLinearDesc{u8, scale, zero_point, f32}, {}, &device);

    float *x = to_device(std::vector<float>(n, 1.6f), stream),
          *s = to_device<float>({0.5f}, stream);
    uint8_t *z = to_device<uint8_t>({100}, stream), *q = to_device(std::vector<uint8_t>(n), stream),
            *sum = to_device(std::vector<uint8_t>(n), stream);
    const hewn::Binding values(x, n * sizeof(float)), scales(s, sizeof(float)), zero_points(z, 1),
        quantized(q, n), sums(sum, n);

    quantize.execute({values, scales, zero_points}, {quantized});
    add.execute(
        {quantized, scales, zero_points, quantized, scales, zero_points, scales, zero_points},
        {sums});
    dequantize.execute({sums, scales, zero_points}, {values});

    std::vector<float> result(n);
    check(cudaMemcpyAsync(result.data(), x, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));
    // 1.6 is quantized to 3 steps of 0.5. Twice that is 3.
    std::printf("%g (%s)\n", result[n - 1], dequantize.variant());
    for (void *memory : {static_cast<void *>(x), static_cast<void *>(s), static_cast<void *>(z),
                         static_cast<void *>(q), static_cast<void *>(sum)})
        check(cudaFreeAsync(memory, stream));
    check(cudaStreamSynchronize(stream));
    return result[n - 1] == 3.0f ? 0 : 1;
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
