#include <hewn/hewn.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
    // ADD: all three tensors are four contiguous floats.
    const std::vector<float> a = {1, 2, 3, 4}, b = {10, 20, 30, 40};
    std::vector<float> sum(4);
    const hewn::TensorDesc f32 = {hewn::DataType::FLOAT32, {4}};
    const hewn::Operator add = hewn::compile(hewn::AddDesc{f32, f32, f32});
    add.execute({a, b}, {sum});
    std::printf("%g %g %g %g (%s)\n", sum[0], sum[1], sum[2], sum[3], add.variant());

    // QUANTIZE_LINEAR: the sums as u8. broadcast_scalar describes one scale, and one zero point,
    // that serve all four elements.
    const float scale = 0.25f;
    const uint8_t zero_point = 10;
    std::vector<uint8_t> quantized(4);  // round(sum / scale) + zero_point
    const hewn::TensorDesc u8 = {hewn::DataType::UINT8, {4}};
    const auto one_f32 = hewn::TensorDesc::broadcast_scalar(hewn::DataType::FLOAT32, {4});
    const auto one_u8 = hewn::TensorDesc::broadcast_scalar(hewn::DataType::UINT8, {4});
    const hewn::Operator quantize =
        hewn::compile(hewn::QuantizeLinearDesc{f32, one_f32, one_u8, u8});
    quantize.execute({sum, scale, zero_point}, {quantized});
    std::printf("%d %d %d %d (%s)\n", quantized[0], quantized[1], quantized[2], quantized[3],
                quantize.variant());
}
