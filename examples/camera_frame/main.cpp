// Converts a camera's frame to the input of a neural network in one step, without another copy. The
// frame is HWC: rows of pixels of three bytes, each row padded to `pitch` bytes. The input is CHW:
// three planes of floats from 0 to 1.
#include <hewn/hewn.hpp>

#include <cstdio>
#include <vector>

int main() try {
    const int64_t height = 480, width = 640, pitch = 2048;
    std::vector<uint8_t> frame(height * pitch);
    for (size_t i = 0; i < frame.size(); i++) frame[i] = uint8_t(i * 151 >> 3);

    const auto u8 = hewn::DataType::UINT8, f32 = hewn::DataType::FLOAT32;
    const std::vector<int64_t> chw = {3, height, width};
    // The strides: how far it is to the next channel, to the next row and to the next column.
    const hewn::TensorDesc pixels = {u8, chw, {{1, pitch, 3}}};
    const hewn::TensorDesc planes = {f32, chw};  // no strides: contiguous
    const hewn::TensorDesc one_scale = hewn::TensorDesc::broadcast_scalar(f32, chw);

    // u8 -> f32 is DEQUANTIZE_LINEAR: (pixel - zero point) * scale, here without a zero point.
    const hewn::Operator to_planes =
        hewn::compile(hewn::DequantizeLinearDesc{pixels, one_scale, std::nullopt, planes});
    std::vector<float> input(3 * height * width);
    to_planes.execute({frame, 1 / 255.0f, nullptr}, {input});  // for each frame

    // Compare every float with the product that it should be.
    int64_t wrong = 0, i = 0;
    for (int64_t c = 0; c < 3; c++) {
        for (int64_t y = 0; y < height; y++) {
            for (int64_t x = 0; x < width; x++)
                wrong += input[i++] != frame[y * pitch + x * 3 + c] * (1 / 255.0f);
        }
    }
    std::printf("%lld of %lld floats wrong (%s)\n", (long long)wrong, (long long)i,
                to_planes.variant());
    return wrong != 0;
} catch (const hewn::Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
