#include "images.h"

#include <HalideBuffer.h>
#include <halide_image_io.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "files.h"

namespace hewn::cli {

namespace {
using Image = Halide::Runtime::Buffer<>;

// Halide's loaders trust what they read: the PNG loader reads beyond its rows below 8 bits, both allocate what a header asks for,
// and libjpeg's default error handler ends the process. So a file is first decoded once here, without keeping the pixels. libpng
// and libjpeg report errors with a jump, so these functions hold C objects only.

// Halide's buffers have a plane for each channel, and strides of 32 bits: beyond them it would write outside its memory.
bool planes_fit(uint64_t width, uint64_t height, int channels, char (&message)[256]) {
    if (channels == 1 || width * height <= uint64_t(INT32_MAX)) return true;
    std::snprintf(message, sizeof message, "with several channels at most %d pixels are supported", int(INT32_MAX));
    return false;
}

// True if the file can be used; otherwise `message` says why not.
bool decode_png(std::FILE *file, char (&message)[256]) {
    const auto on_error = [](png_structp png, png_const_charp text) {
        std::snprintf(static_cast<char *>(png_get_error_ptr(png)), 256, "%s", text);
        png_longjmp(png, 1);
    };
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, message, on_error, [](png_structp, png_const_charp) {});
    png_infop info = png ? png_create_info_struct(png) : nullptr;
    png_bytep volatile row = nullptr;
    volatile bool good = false;
    if (info && !setjmp(png_jmpbuf(png))) {
        png_init_io(png, file);
        png_read_info(png, info);
        const int depth = png_get_bit_depth(png, info);
        if ((depth != 8 && depth != 16) || png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE ||
            png_get_interlace_type(png, info) != PNG_INTERLACE_NONE) {
            std::snprintf(message, sizeof message, "only 8 or 16 bits a channel, without palette and interlacing, are supported");
        } else if (planes_fit(png_get_image_width(png, info), png_get_image_height(png, info), png_get_channels(png, info),
                              message)) {
            row = static_cast<png_bytep>(png_malloc(png, png_get_rowbytes(png, info)));
            for (png_uint_32 y = 0, height = png_get_image_height(png, info); y < height; y++) png_read_row(png, row, nullptr);
            png_read_end(png, nullptr);
            good = true;
        }
    }
    if (png) png_free(png, row);
    png_destroy_read_struct(&png, &info, nullptr);
    return good;
}

struct JpegErrors {
    jpeg_error_mgr base;
    std::jmp_buf jump;
    char *message;
};
static_assert(JMSG_LENGTH_MAX <= 256);

bool decode_jpeg(std::FILE *file, char (&message)[256]) {
    JpegErrors error_handler;
    JpegErrors *errors = &error_handler;
    errors->message = message;
    jpeg_decompress_struct jpeg{};
    jpeg.err = jpeg_std_error(&errors->base);
    errors->base.error_exit = [](j_common_ptr info) {
        JpegErrors *self = reinterpret_cast<JpegErrors *>(info->err);
        info->err->format_message(info, self->message);
        std::longjmp(self->jump, 1);
    };
    // A warning (truncated or corrupt data, which libjpeg fills with grey) is an error here.
    errors->base.emit_message = [](j_common_ptr info, int level) {
        if (level < 0) info->err->error_exit(info);
    };
    if (setjmp(errors->jump)) {
        jpeg_destroy_decompress(&jpeg);
        return false;
    }
    jpeg_create_decompress(&jpeg);
    jpeg_stdio_src(&jpeg, file);
    jpeg_read_header(&jpeg, TRUE);
    const bool cmyk = jpeg.num_components == 4;  // which Halide would take for red, green, blue and transparency
    if (cmyk) std::snprintf(message, 256, "CMYK is not supported");
    if (cmyk || !planes_fit(jpeg.image_width, jpeg.image_height, jpeg.num_components, message)) {
        jpeg_destroy_decompress(&jpeg);
        return false;
    }
    jpeg_start_decompress(&jpeg);
    JSAMPARRAY row = (*jpeg.mem->alloc_sarray)(reinterpret_cast<j_common_ptr>(&jpeg), JPOOL_IMAGE,
                                               jpeg.output_width * jpeg.output_components, 1);
    while (jpeg.output_scanline < jpeg.output_height) jpeg_read_scanlines(&jpeg, row, 1);
    jpeg_finish_decompress(&jpeg);
    jpeg_destroy_decompress(&jpeg);
    return true;
}

// Throws if the file is not a whole image.
void examine(const std::string &path) {
    regular_file_size(path);
    std::FILE *file = std::fopen(path.c_str(), "rb");
    if (!file) throw InputError(path + ": cannot be read");
    const bool png = lowercase_extension(path) == ".png";
    char message[256] = "out of memory";
    const bool good = png ? decode_png(file, message) : decode_jpeg(file, message);
    std::fclose(file);
    if (!good) throw InputError(path + (png ? ": cannot be used as a PNG: " : ": cannot be used as a JPEG: ") + message);
}

// In place of aligned_alloc, whose result Halide's buffers use even where it is null.
void *allocate_pixels(size_t bytes) {
    void *memory = std::malloc(bytes);
    if (!memory) throw std::bad_alloc();
    return memory;
}
}  // namespace

Array load_image(const std::string &path, bool normalize) {
    examine(path);
    Image::set_default_allocate_fn(allocate_pixels);
    Image image;
    try {
        if (!Halide::Tools::load(path, &image)) throw InputError(path + ": cannot be decoded");
    } catch (const std::bad_alloc &) {
        throw InputError(path + ": out of memory for its pixels");
    }

    // Halide's order is x, y, channel, innermost first.
    const bool has_channels = image.dimensions() == 3;
    const bool wide = image.type().bits == 16;
    const int64_t width = image.width(), height = image.height(), channels = has_channels ? image.channels() : 1;
    Array array = Array::allocate(path,
                                  normalize ? DataType::FLOAT32
                                  : wide    ? DataType::UINT16
                                            : DataType::UINT8,
                                  has_channels ? Sizes{height, width, channels} : Sizes{height, width});
    const auto copy = [&](auto *to, const auto *from, auto convert) {
        const int64_t x_stride = image.dim(0).stride(), y_stride = image.dim(1).stride(),
                      c_stride = has_channels ? image.dim(2).stride() : 0;
        for (int64_t y = 0; y < height; y++)
            for (int64_t x = 0; x < width; x++)
                for (int64_t c = 0; c < channels; c++) *to++ = convert(from[y * y_stride + x * x_stride + c * c_stride]);
    };
    const auto same = [](auto value) { return value; };
    const auto *bytes = static_cast<const uint8_t *>(image.data());
    const auto *words = static_cast<const uint16_t *>(image.data());
    if (normalize && wide) copy(array.as<float>(), words, [](uint16_t value) { return float(value) / 65535.0f; });
    else if (normalize) copy(array.as<float>(), bytes, [](uint8_t value) { return float(value) / 255.0f; });
    else if (wide) copy(array.as<uint16_t>(), words, same);
    else copy(array.as<uint8_t>(), bytes, same);
    return array;
}

void check_png(const std::string &name, DataType type, const Sizes &sizes) {
    const bool shape_fits = sizes.size() == 2 || (sizes.size() == 3 && sizes[2] >= 1 && sizes[2] <= 4);
    const bool type_fits =
        type == DataType::UINT8 || type == DataType::UINT16 || type == DataType::FLOAT32 || type == DataType::FLOAT16;
    if (!type_fits)
        throw InputError(name + ": a PNG holds u8 or u16 (f32 and f16 as 0..1), not " + std::string(type_name(type)) +
                         "; write a .npy file");
    if (!shape_fits)
        throw InputError(name + ": a PNG has sizes [height, width] or [height, width, 1 to 4], not " + to_string(sizes) +
                         "; write a .npy file");
    // libpng's own limits
    if (sizes[0] < 1 || sizes[1] < 1 || sizes[0] > 1000000 || sizes[1] > 1000000)
        throw InputError(name + ": a PNG is 1 to 1000000 pixels wide and high, not " + to_string(sizes) + "; write a .npy file");
}

void save_png(const std::string &path, const std::string &name, const Array &array) {
    check_png(name, array.type, array.sizes);
    Array pixels = array;
    if (is_float(array.type)) {
        pixels = Array::allocate(name, DataType::UINT8, array.sizes);
        for (int64_t i = 0, count = array.count(); i < count; i++) {
            const double value =
                array.type == DataType::FLOAT32 ? double(array.as<float>()[i]) : double_from_f16(array.as<uint16_t>()[i]);
            pixels.as<uint8_t>()[i] = value > 0 ? uint8_t(std::nearbyint(std::min(value, 1.0) * 255)) : 0;  // NaN is black
        }
    }
    const int height = int(array.sizes[0]), width = int(array.sizes[1]),
              channels = array.sizes.size() == 3 ? int(array.sizes[2]) : 1;
    const halide_type_t type(halide_type_uint, pixels.type == DataType::UINT16 ? 16 : 8);
    Image image = Image::make_interleaved(type, pixels.data.get(), width, height, channels);
    if (array.sizes.size() == 2) image = Image(type, pixels.data.get(), width, height);
    if (!Halide::Tools::save(image, path)) throw InputError(name + ": cannot be written");
    // Halide ignores fclose's result, so on a full disk the file may be cut.
    try {
        examine(path);
    } catch (const InputError &) {
        throw InputError(name + ": cannot be written whole");
    }
}

}  // namespace hewn::cli
