// Runs four operators on a photograph: QUANTIZE_LINEAR per channel, DEQUANTIZE_LINEAR, and the sum
// of two exposures by QUANTIZED_LINEAR_ADD and by ADD.
//
//     photo_demo PHOTO OUTPUT_FOLDER
//
// It compares every result with the scalar reference (reference/reference.h), and prints how fast
// each operator ran. It writes index.html, a page with the pictures, the table, and commands that
// do the same with the tool hewn. Next to the page are the pictures as PNGs, and the tensors that
// the commands read (inputs/) and should produce (results/). The exit status is 1 if a single
// result differs.

#include <hewn/hewn.hpp>

#include "files.h"
#include "machine.h"
#include "page.h"
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
#include <utility>
#include <vector>

namespace {

using hewn::DataType;
using hewn::TensorDesc;
using photo_demo::shell_word;

constexpr int64_t kChannels = 3;
// A smaller photograph is repeated to about this many pixels, so that a run takes milliseconds.
constexpr double kPixels = 5e6;
// A larger photograph is thinned out to about this many pixels, for which the demo takes 0.8 GB.
constexpr double kMostPixels = 6e6;
// The pictures and tensors that are written are thinned out further, to about this many pixels.
constexpr double kMostShown = 6e5;
constexpr int kRuns = 15;

// A picture: height x width x 3 values of 0..1.
struct Picture {
    int64_t height = 0, width = 0;
    std::vector<float> values;
};

// The n for which every n-th pixel of every n-th row make about `most` pixels or fewer.
int64_t thinning(int64_t height, int64_t width, double most) {
    return int64_t(std::ceil(std::sqrt(double(height) * double(width) / most)));
}

// Loads a photograph. A large one is thinned out, so that the demo fits into memory.
Picture load(const std::string &path) {
    const hewn::cli::Array image = hewn::cli::load_array(path, true);
    if (image.type != DataType::FLOAT32 || image.sizes.size() < 2 || image.sizes.size() > 3 ||
        image.count() == 0)
        throw std::runtime_error(path + ": not a picture");
    const int64_t height = image.sizes[0], width = image.sizes[1],
                  channels = image.sizes.size() == 3 ? image.sizes[2] : 1;
    const int64_t step = thinning(height, width, kMostPixels);
    Picture picture{(height + step - 1) / step, (width + step - 1) / step, {}};
    for (int64_t y = 0; y < height; y += step) {
        for (int64_t x = 0; x < width; x += step) {
            const float *const pixel = image.as<float>() + (y * width + x) * channels;
            // If there are 1 or 2 channels, the first is grey. If there are 4, the last is the
            // transparency.
            for (int64_t c = 0; c < kChannels; c++)
                picture.values.push_back(pixel[channels < kChannels ? 0 : c]);
        }
    }
    return picture;
}

// The picture repeated `count` times in each direction.
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

// A vector of value(i, c) for each i below `count`, where c is the channel of the i-th value.
template<class Value>
auto generate(size_t count, Value value) {
    std::vector<decltype(value(size_t(0), size_t(0)))> values(count);
    for (size_t i = 0; i < count; i++) values[i] = value(i, i % kChannels);
    return values;
}

// The values of a large tensor that are written to files: those of every step-th pixel of every
// step-th row of its first tile. Operators are element-wise, so the tool gives the same results for
// these values as the demo did for the large tensor.
struct Sample {
    int64_t height, width, step, large_width;

    Sample(const Picture &tile, const Picture &large)
        : step(thinning(tile.height, tile.width, kMostShown)), large_width(large.width) {
        height = (tile.height + step - 1) / step;
        width = (tile.width + step - 1) / step;
    }

    // A vector of value(i, c) for the sample, where i counts the values of the large tensor.
    template<class Value>
    auto generate(Value value) const {
        return ::generate(size_t(height * width * kChannels), [&](size_t i, size_t c) {
            const int64_t pixel = int64_t(i) / kChannels;
            const int64_t y = pixel / width * step, x = pixel % width * step;
            return value(size_t((y * large_width + x) * kChannels) + c, c);
        });
    }
};

constexpr DataType type_of(float) { return DataType::FLOAT32; }
constexpr DataType type_of(uint8_t) { return DataType::UINT8; }
constexpr DataType type_of(int8_t) { return DataType::INT8; }

template<class T>
void save_tensor(const std::string &path, const std::vector<int64_t> &sizes,
                 const std::vector<T> &values) {
    hewn::cli::Array array = hewn::cli::Array::allocate(path, type_of(T()), sizes);
    std::copy(values.begin(), values.end(), array.as<T>());
    hewn::cli::save_array(path, array);
}

// The 8-bit value in a PNG for a value of 0..1.
uint8_t pixel(float value) {
    return uint8_t(std::lround(std::min(std::max(value, 0.0f), 1.0f) * 255));
}

// Writes the pictures, which all have the same size, to one PNG, side by side in rows of `columns`.
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
            image.as<uint8_t>()[(y * width * columns + x) * kChannels + i % kChannels] =
                pixel(pictures[size_t(p)].values[size_t(i)]);
        }
    }
    hewn::cli::save_array(path, image);
}

// The scale and the zero point that spread the range from `low` to `high` over all values of T. The
// range is first widened to include 0.
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

// The seconds that function() takes.
template<class Function>
double seconds(Function function) {
    const auto start = std::chrono::steady_clock::now();
    function();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Runs operators. Each gets a line of the table, with its speed compared with memcpy and the number
// of results that differ from the reference. Saves the results in `folder`.
class Table {
public:
    Table(std::string folder, const Sample &sample, size_t most_bytes)
        : folder_(std::move(folder)),
          sample_(sample),
          source_(most_bytes / 2 + 1, 1),
          destination_(most_bytes / 2 + 1) {
        std::printf("%-21s %-9s %-50s %-19s %9s %7s %9s %10s\n", "operator", "signature", "variant",
                    "of what", "time", "GB/s", "of memcpy", "differing");
    }

    // Executes `op`, which reads `input_bytes`, and compares output[i] with reference_at(i,
    // channel). Between the runs, memcpy moves as many bytes (half read, half written), so that
    // both are measured in the same state of the machine. `command` has the tool's arguments that
    // compute the result `name`.
    template<class T, class Reference>
    void line(const char *operator_name, const char *what, const std::string &name,
              const std::string &command, const hewn::Operator &op,
              std::initializer_list<hewn::InputBinding> inputs, size_t input_bytes,
              std::vector<T> &output, Reference reference_at) {
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
            differing += !reference::same(output[i], reference_at(i, i % kChannels));
        total_differing_ += differing;

        const std::string variant = op.variant();
        const size_t signature = std::strlen(operator_name) + 1;
        const double time = median(times), copy_time = median(copy_times);
        copy_speeds_.push_back(double(bytes) / copy_time / 1e9);
        const photo_demo::Row row = {operator_name,
                                     variant.substr(signature, variant.find("__") - signature),
                                     variant,
                                     what,
                                     time * 1e3,
                                     double(bytes) / time / 1e9,
                                     100 * copy_time / time,
                                     differing,
                                     "hewn " + command + " -o by_hand/" + name + ".npy"};
        std::printf("%-21s %-9s %-50s %-19s %6.2f ms %7.2f %8.0f%% %10zu\n",
                    row.operator_name.c_str(), row.signature.c_str(), row.variant.c_str(),
                    row.what.c_str(), row.milliseconds, row.gigabytes_per_second,
                    row.percent_of_memcpy, row.differing);
        rows_.push_back(row);
        save_tensor(folder_ + "/" + name + ".npy", {sample_.height, sample_.width, kChannels},
                    sample_.generate([&](size_t i, size_t) { return output[i]; }));
    }

    const std::vector<photo_demo::Row> &rows() const { return rows_; }
    size_t total_differing() const { return total_differing_; }
    double copy_speed() const { return median(copy_speeds_); }

private:
    std::string folder_;
    Sample sample_;
    std::vector<photo_demo::Row> rows_;
    std::vector<char> source_, destination_;
    volatile char sink_ = 0;
    size_t total_differing_ = 0;
    std::vector<double> copy_speeds_;
};

// The text that printf would print.
template<class... Values>
std::string text(const char *format, Values... values) {
    std::string result(size_t(std::snprintf(nullptr, 0, format, values...)), '\0');
    std::snprintf(result.data(), result.size() + 1, format, values...);
    return result;
}

// The tool's options for the scale and the zero point of a quantized tensor. A float that is
// written with 9 digits is read back exactly.
std::string scale_option(const char *prefix, float scale, int zero_point) {
    return text(" --%sscale=%.9g --%szero-point=%d", prefix, double(scale), prefix, zero_point);
}

int demo(const std::string &path, const std::string &folder) {
    const std::string inputs = folder + "/inputs", results = folder + "/results";
    for (const std::string &made : {inputs, results}) std::filesystem::create_directories(made);
    const Picture photo = load(path);
    const int64_t tiles =
        std::max<int64_t>(1, std::lround(std::sqrt(kPixels / double(photo.height * photo.width))));
    const Picture large = repeat(photo, tiles);
    const size_t count = large.values.size();
    const Sample sample(photo, large);
    const std::vector<int64_t> sizes = {large.height, large.width, kChannels};

    const std::string subject =
        text("%s: %lld x %lld pixels, repeated %lld x %lld times: %zu values, %.1f MB as f32.",
             path.c_str(), (long long)photo.width, (long long)photo.height, (long long)tiles,
             (long long)tiles, count, double(count) * 4e-6);
    const std::string method = text(
        "Median of %d runs on one thread; memcpy on one thread, of as many bytes, between them.",
        kRuns);
    std::printf("%s\n%s\n\n", subject.c_str(), method.c_str());

    const TensorDesc f32{DataType::FLOAT32, sizes}, u8{DataType::UINT8, sizes},
        i8{DataType::INT8, sizes};
    // One value per channel. Strides of 0 repeat it over height and width.
    const auto per_channel = [&](DataType type) {
        return TensorDesc{type, sizes, std::vector<int64_t>{0, 0, 1}};
    };
    const auto per_tensor = [&](DataType type) {
        return TensorDesc::broadcast_scalar(type, sizes);
    };
    hewn::CompileOptions options;
    options.max_threads = 1;
    Table table(results, sample, 3 * count * sizeof(float));

    // Adds a picture of value(i, channel) to the page.
    std::vector<Picture> pictures;
    std::vector<photo_demo::Figure> figures;
    const auto keep = [&](const char *name, const char *title, const std::string &caption,
                          auto value) {
        const std::string file = std::string(name) + ".png";
        const auto as_float = [&](size_t i, size_t c) { return float(value(i, c)); };
        pictures.push_back({sample.height, sample.width, sample.generate(as_float)});
        save(folder + "/" + file, {pictures.back()});
        figures.push_back({file, title, caption, sample.width, sample.height});
    };
    const auto keep_input = [&](const char *name, const auto &values) {
        save_tensor(inputs + "/" + name + ".npy", {sample.height, sample.width, kChannels},
                    sample.generate([&](size_t i, size_t) { return values[i]; }));
    };
    keep("1_photo", "The photograph", "Its values are f32, from 0 to 1.",
         [&](size_t i, size_t) { return large.values[i]; });

    // ---- Quantize per channel. The photograph is prepared as for neural networks: x = (value -
    // mean) / deviation.
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
    keep_input("photo", x);
    save_tensor(inputs + "/scale.npy", {kChannels}, scale);
    save_tensor(inputs + "/u8_zero_point.npy", {kChannels}, u8_zero_point);
    save_tensor(inputs + "/i8_zero_point.npy", {kChannels}, i8_zero_point);
    const std::string
        u8_options = " --scale inputs/scale.npy --zero-point inputs/u8_zero_point.npy --axis 2",
        i8_options = " --scale inputs/scale.npy --zero-point inputs/i8_zero_point.npy --axis 2";

    std::vector<uint8_t> x_u8(count);
    table.line("QUANTIZE_LINEAR", "photo, per channel", "photo_u8",
               "quantize inputs/photo.npy" + u8_options + " --type u8",
               hewn::compile(hewn::QuantizeLinearDesc{f32, per_channel(DataType::FLOAT32),
                                                      per_channel(DataType::UINT8), u8},
                             options),
               {x, scale, u8_zero_point}, count * sizeof(float), x_u8, [&](size_t i, size_t c) {
                   return reference::quantize_linear(x[i], scale[c], u8_zero_point[c]);
               });
    keep("2_quantized_u8", "Quantized to u8",
         "QUANTIZE_LINEAR with a scale and a zero point for each channel, which spread the "
         "channel's "
         "values over 0 to 255. Shown are these integers, so the contrast is higher.",
         [&](size_t i, size_t) { return float(x_u8[i]) / 255; });

    std::vector<int8_t> x_i8(count);
    table.line("QUANTIZE_LINEAR", "photo, per channel", "photo_i8",
               "quantize inputs/photo.npy" + i8_options + " --type i8",
               hewn::compile(hewn::QuantizeLinearDesc{f32, per_channel(DataType::FLOAT32),
                                                      per_channel(DataType::INT8), i8},
                             options),
               {x, scale, i8_zero_point}, count * sizeof(float), x_i8, [&](size_t i, size_t c) {
                   return reference::quantize_linear(x[i], scale[c], i8_zero_point[c]);
               });

    // ---- Dequantize. This gives the original back, up to half a step.
    std::vector<float> restored(count);
    // Adds a picture of the restored photograph. Its caption says how far that is from the
    // original.
    const auto keep_restored = [&](const char *name, const char *title, const char *type) {
        const auto value = [&](size_t i, size_t c) { return restored[i] * deviation[c] + mean[c]; };
        float largest = 0;
        size_t others = 0;
        for (size_t i = 0; i < count; i++) {
            const float x = value(i, i % kChannels);
            largest = std::max(largest, std::abs(x - large.values[i]));
            others += pixel(x) != pixel(large.values[i]);
        }
        keep(name, title,
             text("DEQUANTIZE_LINEAR of the photograph in %s. No value is more than %.4f away from "
                  "the original's, of a range of 1. Rounded to the 8 bits of a PNG, %zu of %zu "
                  "values differ from the original's.",
                  type, double(largest), others, count),
             value);
    };
    table.line("DEQUANTIZE_LINEAR", "photo, per channel", "photo_u8_f32",
               "dequantize by_hand/photo_u8.npy" + u8_options,
               hewn::compile(hewn::DequantizeLinearDesc{u8, per_channel(DataType::FLOAT32),
                                                        per_channel(DataType::UINT8), f32},
                             options),
               {x_u8, scale, u8_zero_point}, count, restored, [&](size_t i, size_t c) {
                   return reference::dequantize_linear(x_u8[i], scale[c], u8_zero_point[c]);
               });
    keep_restored("3_dequantized_u8", "Dequantized from u8", "u8");

    table.line("DEQUANTIZE_LINEAR", "photo, per channel", "photo_i8_f32",
               "dequantize by_hand/photo_i8.npy" + i8_options,
               hewn::compile(hewn::DequantizeLinearDesc{i8, per_channel(DataType::FLOAT32),
                                                        per_channel(DataType::INT8), f32},
                             options),
               {x_i8, scale, i8_zero_point}, count, restored, [&](size_t i, size_t c) {
                   return reference::dequantize_linear(x_i8[i], scale[c], i8_zero_point[c]);
               });
    keep_restored("4_dequantized_i8", "Dequantized from i8", "i8");

    // ---- Quantize two exposures: a dark one that keeps the highlights, and a bright one that
    // clips them.
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
    keep_input("dark", dark);
    keep_input("bright", bright);

    std::vector<uint8_t> dark_u8(count);
    table.line("QUANTIZE_LINEAR", "dark, per tensor", "dark_u8",
               "quantize inputs/dark.npy" + scale_option("", dark_scale[0], dark_zero_point[0]) +
                   " --type u8",
               hewn::compile(hewn::QuantizeLinearDesc{f32, per_tensor(DataType::FLOAT32),
                                                      per_tensor(DataType::UINT8), u8},
                             options),
               {dark, dark_scale, dark_zero_point}, count * sizeof(float), dark_u8,
               [&](size_t i, size_t) {
                   return reference::quantize_linear(dark[i], dark_scale[0], dark_zero_point[0]);
               });
    keep("5_dark", "A dark exposure",
         text("The photograph's values times %g. QUANTIZE_LINEAR makes u8 of them, with one scale.",
              double(dark_gain)),
         [&](size_t i, size_t) { return dark[i]; });

    std::vector<int8_t> bright_i8(count);
    table.line("QUANTIZE_LINEAR", "bright, per tensor", "bright_i8",
               "quantize inputs/bright.npy" +
                   scale_option("", bright_scale[0], bright_zero_point[0]) + " --type i8",
               hewn::compile(hewn::QuantizeLinearDesc{f32, per_tensor(DataType::FLOAT32),
                                                      per_tensor(DataType::INT8), i8},
                             options),
               {bright, bright_scale, bright_zero_point}, count * sizeof(float), bright_i8,
               [&](size_t i, size_t) {
                   return reference::quantize_linear(bright[i], bright_scale[0],
                                                     bright_zero_point[0]);
               });
    keep("6_bright", "A bright exposure",
         text("The values times %g, at most 1, so the brightest parts are lost. QUANTIZE_LINEAR "
              "makes i8 of them.",
              double(bright_gain)),
         [&](size_t i, size_t) { return bright[i]; });

    // ---- Add the exposures without leaving 8 bits.
    const TensorDesc one_f32 = {DataType::FLOAT32, {1, 1, 1}},
                     one_u8 = {DataType::UINT8, {1, 1, 1}}, one_i8 = {DataType::INT8, {1, 1, 1}};
    std::vector<uint8_t> sum_u8(count);
    table.line("QUANTIZED_LINEAR_ADD", "dark + bright", "sum_u8",
               "qadd by_hand/dark_u8.npy by_hand/bright_i8.npy" +
                   scale_option("a-", dark_scale[0], dark_zero_point[0]) +
                   scale_option("b-", bright_scale[0], bright_zero_point[0]) +
                   scale_option("", sum_scale[0], sum_zero_point[0]),
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

    table.line("DEQUANTIZE_LINEAR", "the sum, per tensor", "sum_u8_f32",
               "dequantize by_hand/sum_u8.npy" + scale_option("", sum_scale[0], sum_zero_point[0]),
               hewn::compile(hewn::DequantizeLinearDesc{u8, per_tensor(DataType::FLOAT32),
                                                        per_tensor(DataType::UINT8), f32},
                             options),
               {sum_u8, sum_scale, sum_zero_point}, count, restored, [&](size_t i, size_t) {
                   return reference::dequantize_linear(sum_u8[i], sum_scale[0], sum_zero_point[0]);
               });
    keep("7_quantized_sum", "The quantized sum",
         text("QUANTIZED_LINEAR_ADD of both exposures: u8 and i8 in, u8 out, and dequantized to be "
              "shown. Its values go up to %g and are divided by that.",
              double(dark_gain + 1)),
         [&](size_t i, size_t) { return restored[i] / (dark_gain + 1); });

    // ---- Compute the same sum in floating point, to compare.
    std::vector<float> sum(count);
    table.line("ADD", "dark + bright", "sum_f32", "add inputs/dark.npy inputs/bright.npy",
               hewn::compile(hewn::AddDesc{f32, f32, f32}, options), {dark, bright},
               2 * count * sizeof(float), sum,
               [&](size_t i, size_t) { return reference::add(dark[i], bright[i]); });
    keep("8_float_sum", "The same sum in f32",
         "ADD of both exposures as they were before quantizing.",
         [&](size_t i, size_t) { return sum[i] / (dark_gain + 1); });
    float largest = 0;
    for (size_t i = 0; i < count; i++) largest = std::max(largest, std::abs(restored[i] - sum[i]));
    const std::string distance =
        text("The quantized sum is at most %.2f of its steps (%.5f) away from the float sum.",
             double(largest / sum_range.scale), double(sum_range.scale));
    keep("9_difference_x200", "The difference, 200 times",
         "What quantizing costs: black is no difference. " + distance,
         [&](size_t i, size_t) { return std::abs(restored[i] - sum[i]) / (dark_gain + 1) * 200; });
    save(folder + "/overview.png", pictures, 3);

    const std::string copy_speed =
        text("memcpy: %.1f GB/s, read and written bytes together.", table.copy_speed());
    const std::string verdict =
        text("%zu results differ from the scalar reference.", table.total_differing());
    const uint32_t version = hewn_version();
    photo_demo::Page page;
    page.introduction = {
        subject,
        "Pictures 1 to 4 are the photograph in 8 bits and back. Pictures 5 to 9 add two "
        "exposures of it in 8 bits, and compare that with the sum of the floats."};
    if (sample.step > 1)
        page.introduction.push_back(text("Shown is one pixel of %lld x %lld.",
                                         (long long)sample.step, (long long)sample.step));
    page.figures = figures;
    page.measurement = {
        text("hewn %u.%u.%u on %s, %s.", version >> 16, version >> 8 & 255, version & 255,
             hewn::cli::processor_name().c_str(), hewn::cli::system_name().c_str()),
        method + " " + copy_speed,
        "Differing results: how many of all values are not, bit for bit, those of the scalar "
        "reference. " +
            verdict};
    page.rows = table.rows();
    page.by_hand =
        "These commands run the same operators by the command line tool. They read the tensors in "
        "inputs/, write theirs to by_hand/, and compare them with the demo's in results/. The last "
        "line appears if all files are the same to the last bit.";
    const std::string absolute = std::filesystem::canonical(folder).string();
    page.prepare = {"cd " + shell_word(absolute),
                    "PATH=" + shell_word(PHOTO_DEMO_TOOL_FOLDER) + ":$PATH", "mkdir -p by_hand"};
    page.compare = {"diff -r results by_hand && echo 'the same bits'"};
    write_page(folder, page);

    std::printf("\n%s\n%s\n%s\n", copy_speed.c_str(), distance.c_str(), verdict.c_str());
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
