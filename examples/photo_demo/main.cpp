// The four operators on a photograph: quantizes it per channel, adds two quantized exposures of it,
// dequantizes. Writes PNGs to look at, prints how fast each operator ran, and compares every result
// with the scalar truth in reference/reference.h.
//
//     photo_demo PHOTO OUTPUT_FOLDER        exit status 1 if a single result differs

#include <hewn/hewn.hpp>

#include "files.h"
#include "reference.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using hewn::DataType;
using hewn::TensorDesc;

constexpr int64_t kChannels = 3;
constexpr double kPixels =
    5e6;  // a smaller photograph is repeated up to this size, so that a run takes milliseconds
constexpr double kMostPixels = 6e6;  // a larger one is thinned out to this size, about 0.8 GB
constexpr int kRuns = 15;

// A picture in NHWC order without the N: height x width x 3, values of 0..1.
struct Picture {
    int64_t height = 0, width = 0;
    std::vector<float> values;
};

// Loads every n-th pixel of every n-th row, so that a demonstration with a camera's photograph fits
// into memory.
Picture load(const std::string &path) {
    const hewn::cli::Array image = hewn::cli::load_array(path, true);
    if (image.type != DataType::FLOAT32 || image.sizes.size() < 2 || image.sizes.size() > 3 ||
        image.count() == 0)
        throw std::runtime_error(path + ": not a picture");
    const int64_t height = image.sizes[0], width = image.sizes[1],
                  channels = image.sizes.size() == 3 ? image.sizes[2] : 1;
    const auto step = int64_t(std::ceil(std::sqrt(double(height) * double(width) / kMostPixels)));
    Picture picture{(height + step - 1) / step, (width + step - 1) / step, {}};
    for (int64_t y = 0; y < height; y += step) {
        for (int64_t x = 0; x < width; x += step) {
            const float *const pixel = image.as<float>() + (y * width + x) * channels;
            for (int64_t c = 0; c < kChannels;
                 c++)  // with 1 or 2 channels the first is grey; of 4 the last is transparency
                picture.values.push_back(pixel[channels < kChannels ? 0 : c]);
        }
    }
    return picture;
}

Picture repeat(const Picture &tile, int64_t count) {
    Picture picture{tile.height * count, tile.width * count, {}};
    const int64_t tile_row = tile.width * kChannels;
    for (int64_t y = 0; y < picture.height; y++) {
        const auto row = tile.values.begin() + y % tile.height * tile_row;
        for (int64_t x = 0; x < count; x++)
            picture.values.insert(picture.values.end(), row, row + tile_row);
    }
    return picture;
}

// value(i, c) for each i below `count`, where c is the channel of the i-th value.
template<class Value>
auto generate(size_t count, Value value) {
    std::vector<decltype(value(size_t(0), size_t(0)))> values(count);
    for (size_t i = 0; i < count; i++) values[i] = value(i, i % kChannels);
    return values;
}

// Writes the pictures (all of one size, values of 0..1) to a PNG, side by side in rows of
// `columns`.
void save(const std::string &path, const std::vector<Picture> &pictures, int64_t columns = 1) {
    const int64_t height = pictures[0].height, width = pictures[0].width;
    const int64_t rows = (int64_t(pictures.size()) + columns - 1) / columns;
    hewn::cli::Array image = hewn::cli::Array::allocate(
        path, DataType::UINT8, {height * rows, width * columns, kChannels});
    std::fill_n(image.as<uint8_t>(), image.count(), uint8_t(255));
    for (int64_t p = 0; p < int64_t(pictures.size()); p++) {
        for (int64_t i = 0; i < height * width * kChannels; i++) {
            const int64_t x = i / kChannels % width + p % columns * width,
                          y = i / kChannels / width + p / columns * height;
            const float value =
                std::min(std::max(pictures[size_t(p)].values[size_t(i)], 0.0f), 1.0f);
            image.as<uint8_t>()[(y * width * columns + x) * kChannels + i % kChannels] =
                uint8_t(std::lround(value * 255));
        }
    }
    hewn::cli::save_array(path, image);
}

// Scale and zero point that spread [low, high], widened to hold 0, over all of T.
template<class T>
struct Range {
    float scale;
    T zero_point;

    Range(float low, float high) {
        low = std::min(low, 0.0f), high = std::max(high, 0.0f);
        scale = (high - low) / 255;
        zero_point = T(std::lround(std::numeric_limits<T>::min() - low / scale));
    }
};

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + int64_t(values.size()) / 2, values.end());
    return values[values.size() / 2];
}

template<class Function>
double seconds(Function function) {
    const auto start = std::chrono::steady_clock::now();
    function();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Runs operators and prints a line for each, against memcpy and the scalar truth.
class Table {
public:
    explicit Table(size_t most_bytes)
        : source_(most_bytes / 2 + 1, 1), destination_(most_bytes / 2 + 1) {
        std::printf("%-21s %-9s %-50s %-19s %9s %7s %9s %10s\n", "operator", "signature", "variant",
                    "of what", "time", "GB/s", "of memcpy", "differing");
    }

    // Executes `op`, which reads `input_bytes`, and compares output[i] with truth(i, channel).
    // Between the runs memcpy moves as many bytes (half read, half written), so that both see the
    // same state of the machine.
    template<class T, class Truth>
    void line(const char *operator_name, const char *what, const hewn::Operator &op,
              std::initializer_list<hewn::InputBinding> inputs, size_t input_bytes,
              std::vector<T> &output, Truth truth) {
        const size_t bytes = input_bytes + output.size() * sizeof(T);
        std::vector<double> times, copy_times;
        for (int run = 0; run < kRuns; run++) {
            copy_times.push_back(seconds([&] {
                std::memcpy(destination_.data(), source_.data(), bytes / 2);
                sink_ = destination_[bytes / 4];
            }));
            times.push_back(seconds([&] { op.execute(inputs, {output}); }));
        }
        size_t differing = 0;
        for (size_t i = 0; i < output.size(); i++)
            differing += !reference::same(output[i], truth(i, i % kChannels));
        total_differing_ += differing;

        const std::string variant = op.variant();
        const size_t signature = std::strlen(operator_name) + 1;
        const double time = median(times), copy_time = median(copy_times);
        copy_speeds_.push_back(double(bytes) / copy_time / 1e9);
        std::printf("%-21s %-9s %-50s %-19s %6.2f ms %7.2f %8.0f%% %10zu\n", operator_name,
                    variant.substr(signature, variant.find("__") - signature).c_str(),
                    variant.c_str(), what, time * 1e3, double(bytes) / time / 1e9,
                    100 * copy_time / time, differing);
    }

    size_t total_differing() const { return total_differing_; }
    double copy_speed() const { return median(copy_speeds_); }

private:
    std::vector<char> source_, destination_;
    volatile char sink_ = 0;
    size_t total_differing_ = 0;
    std::vector<double> copy_speeds_;
};

int demo(const std::string &path, const std::string &folder) {
    std::filesystem::create_directories(folder);
    const Picture photo = load(path);
    const int64_t tiles =
        std::max<int64_t>(1, std::lround(std::sqrt(kPixels / double(photo.height * photo.width))));
    const Picture large = repeat(photo, tiles);
    const size_t count = large.values.size(), photo_count = photo.values.size();
    const std::vector<int64_t> sizes = {large.height, large.width, kChannels};

    std::printf("%s: %lld x %lld pixels, repeated %lld x %lld times: %zu values, %.1f MB as f32.\n",
                path.c_str(), (long long)photo.width, (long long)photo.height, (long long)tiles,
                (long long)tiles, count, double(count) * 4e-6);
    std::printf(
        "Median of %d runs on one thread; memcpy on one thread, of as many bytes, between "
        "them.\n\n",
        kRuns);

    const TensorDesc f32{DataType::FLOAT32, sizes}, u8{DataType::UINT8, sizes},
        i8{DataType::INT8, sizes};
    // One value per channel, repeated over height and width by strides of 0.
    const auto per_channel = [&](DataType type) {
        return TensorDesc{type, sizes, std::vector<int64_t>{0, 0, 1}};
    };
    const auto per_tensor = [&](DataType type) {
        return TensorDesc::broadcast_scalar(type, sizes);
    };
    hewn::CompileOptions options;
    options.max_threads = 1;
    Table table(3 * count * sizeof(float));

    // Keeps the first tile of a large tensor, as a picture of value(i, channel).
    std::vector<Picture> pictures;
    const auto keep = [&](const char *name, auto value) {
        const auto row = size_t(photo.width * kChannels),
                   large_row = size_t(large.width * kChannels);
        Picture picture{photo.height, photo.width, {}};
        picture.values = generate(photo_count, [&](size_t i, size_t c) {
            return float(value(i / row * large_row + i % row, c));
        });
        pictures.push_back(picture);
        save(folder + "/" + name + ".png", {picture});
    };
    keep("1_photo", [&](size_t i, size_t) { return large.values[i]; });

    // ---- Quantize per channel: the photograph as neural networks take it, x = (value - mean) /
    // deviation.
    const std::array<float, kChannels> mean = {0.485f, 0.456f, 0.406f},
                                       deviation = {0.229f, 0.224f, 0.225f};
    const std::vector<float> x = generate(
        count, [&](size_t i, size_t c) { return (large.values[i] - mean[c]) / deviation[c]; });
    std::vector<float> scale;
    std::vector<uint8_t> u8_zero_point;
    std::vector<int8_t> i8_zero_point;
    for (size_t c = 0; c < kChannels; c++) {
        float low = x[c], high = x[c];
        for (size_t i = c; i < count; i += kChannels)
            low = std::min(low, x[i]), high = std::max(high, x[i]);
        scale.push_back(Range<uint8_t>(low, high).scale);
        u8_zero_point.push_back(Range<uint8_t>(low, high).zero_point);
        i8_zero_point.push_back(Range<int8_t>(low, high).zero_point);
    }

    std::vector<uint8_t> x_u8(count);
    table.line("QUANTIZE_LINEAR", "photo, per channel",
               hewn::compile(hewn::QuantizeLinearDesc{f32, per_channel(DataType::FLOAT32),
                                                      per_channel(DataType::UINT8), u8},
                             options),
               {x, scale, u8_zero_point}, count * sizeof(float), x_u8, [&](size_t i, size_t c) {
                   return reference::quantize_linear(x[i], scale[c], u8_zero_point[c]);
               });
    keep("2_quantized_u8", [&](size_t i, size_t) { return float(x_u8[i]) / 255; });

    std::vector<int8_t> x_i8(count);
    table.line("QUANTIZE_LINEAR", "photo, per channel",
               hewn::compile(hewn::QuantizeLinearDesc{f32, per_channel(DataType::FLOAT32),
                                                      per_channel(DataType::INT8), i8},
                             options),
               {x, scale, i8_zero_point}, count * sizeof(float), x_i8, [&](size_t i, size_t c) {
                   return reference::quantize_linear(x[i], scale[c], i8_zero_point[c]);
               });

    // ---- Dequantize: back to the original, up to half a step.
    std::vector<float> restored(count);
    table.line("DEQUANTIZE_LINEAR", "photo, per channel",
               hewn::compile(hewn::DequantizeLinearDesc{u8, per_channel(DataType::FLOAT32),
                                                        per_channel(DataType::UINT8), f32},
                             options),
               {x_u8, scale, u8_zero_point}, count, restored, [&](size_t i, size_t c) {
                   return reference::dequantize_linear(x_u8[i], scale[c], u8_zero_point[c]);
               });
    keep("3_dequantized_u8",
         [&](size_t i, size_t c) { return restored[i] * deviation[c] + mean[c]; });

    table.line("DEQUANTIZE_LINEAR", "photo, per channel",
               hewn::compile(hewn::DequantizeLinearDesc{i8, per_channel(DataType::FLOAT32),
                                                        per_channel(DataType::INT8), f32},
                             options),
               {x_i8, scale, i8_zero_point}, count, restored, [&](size_t i, size_t c) {
                   return reference::dequantize_linear(x_i8[i], scale[c], i8_zero_point[c]);
               });
    keep("4_dequantized_i8",
         [&](size_t i, size_t c) { return restored[i] * deviation[c] + mean[c]; });

    // ---- Two exposures, quantized: a dark one that keeps the highlights, a bright one that clips
    // them.
    const float dark_gain = 0.45f, bright_gain = 1.6f;
    const std::vector<float> dark =
        generate(count, [&](size_t i, size_t) { return large.values[i] * dark_gain; });
    const std::vector<float> bright = generate(
        count, [&](size_t i, size_t) { return std::min(large.values[i] * bright_gain, 1.0f); });
    const Range<uint8_t> dark_range(0, dark_gain), sum_range(0, dark_gain + 1);
    const Range<int8_t> bright_range(0, 1);
    const std::array<float, 1> dark_scale = {dark_range.scale}, bright_scale = {bright_range.scale},
                               sum_scale = {sum_range.scale};
    const std::array<uint8_t, 1> dark_zero_point = {dark_range.zero_point},
                                 sum_zero_point = {sum_range.zero_point};
    const std::array<int8_t, 1> bright_zero_point = {bright_range.zero_point};

    std::vector<uint8_t> dark_u8(count);
    table.line("QUANTIZE_LINEAR", "dark, per tensor",
               hewn::compile(hewn::QuantizeLinearDesc{f32, per_tensor(DataType::FLOAT32),
                                                      per_tensor(DataType::UINT8), u8},
                             options),
               {dark, dark_scale, dark_zero_point}, count * sizeof(float), dark_u8,
               [&](size_t i, size_t) {
                   return reference::quantize_linear(dark[i], dark_scale[0], dark_zero_point[0]);
               });
    keep("5_dark", [&](size_t i, size_t) { return dark[i]; });

    std::vector<int8_t> bright_i8(count);
    table.line("QUANTIZE_LINEAR", "bright, per tensor",
               hewn::compile(hewn::QuantizeLinearDesc{f32, per_tensor(DataType::FLOAT32),
                                                      per_tensor(DataType::INT8), i8},
                             options),
               {bright, bright_scale, bright_zero_point}, count * sizeof(float), bright_i8,
               [&](size_t i, size_t) {
                   return reference::quantize_linear(bright[i], bright_scale[0],
                                                     bright_zero_point[0]);
               });
    keep("6_bright", [&](size_t i, size_t) { return bright[i]; });

    // ---- Add them without leaving 8 bits.
    const TensorDesc one_f32 = {DataType::FLOAT32, {1, 1, 1}},
                     one_u8 = {DataType::UINT8, {1, 1, 1}}, one_i8 = {DataType::INT8, {1, 1, 1}};
    std::vector<uint8_t> sum_u8(count);
    table.line("QUANTIZED_LINEAR_ADD", "dark + bright",
               hewn::compile(hewn::QuantizedLinearAddDesc{u8, one_f32, one_u8, i8, one_f32, one_i8,
                                                          one_f32, one_u8, u8},
                             options),
               {dark_u8, dark_scale, dark_zero_point, bright_i8, bright_scale, bright_zero_point,
                sum_scale, sum_zero_point},
               2 * count, sum_u8, [&](size_t i, size_t) {
                   return reference::quantized_linear_add(
                       dark_u8[i], dark_scale[0], dark_zero_point[0], bright_i8[i], bright_scale[0],
                       bright_zero_point[0], sum_scale[0], sum_zero_point[0]);
               });

    table.line("DEQUANTIZE_LINEAR", "the sum, per tensor",
               hewn::compile(hewn::DequantizeLinearDesc{u8, per_tensor(DataType::FLOAT32),
                                                        per_tensor(DataType::UINT8), f32},
                             options),
               {sum_u8, sum_scale, sum_zero_point}, count, restored, [&](size_t i, size_t) {
                   return reference::dequantize_linear(sum_u8[i], sum_scale[0], sum_zero_point[0]);
               });
    keep("7_quantized_sum", [&](size_t i, size_t) { return restored[i] / (dark_gain + 1); });

    // ---- The same sum in floating point, to compare.
    std::vector<float> sum(count);
    table.line("ADD", "dark + bright", hewn::compile(hewn::AddDesc{f32, f32, f32}, options),
               {dark, bright}, 2 * count * sizeof(float), sum,
               [&](size_t i, size_t) { return reference::add(dark[i], bright[i]); });
    keep("8_float_sum", [&](size_t i, size_t) { return sum[i] / (dark_gain + 1); });
    float largest = 0;
    for (size_t i = 0; i < count; i++) largest = std::max(largest, std::abs(restored[i] - sum[i]));
    keep("9_difference_x200",
         [&](size_t i, size_t) { return std::abs(restored[i] - sum[i]) / (dark_gain + 1) * 200; });
    save(folder + "/overview.png", pictures, 3);

    std::printf("\nmemcpy: %.1f GB/s, read and written bytes together.\n", table.copy_speed());
    std::printf("The quantized sum is at most %.2f of its steps (%.5f) away from the float sum.\n",
                double(largest / sum_range.scale), double(sum_range.scale));
    std::printf("Pictures: %s/overview.png and the %zu single ones beside it.\n", folder.c_str(),
                pictures.size());
    std::printf("%zu results differ from the scalar truth.\n", table.total_differing());
    return table.total_differing() == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: photo_demo PHOTO OUTPUT_FOLDER\n");
        return 2;
    }
    try {
        return demo(argv[1], argv[2]);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "photo_demo: %s\n", error.what());
        return 1;
    }
}
