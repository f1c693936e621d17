#include "images.h"

#include <png.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <jerror.h>
#include <jpeglib.h>  // needs <cstdio>

#include "files.h"

namespace hewn::cli {

namespace {
// libpng and libjpeg report an error by calling a function that must not return. That function
// stores the message here, and jumps back to guard().
struct Failure {
    std::string what;  // what the message begins with
    std::jmp_buf jump;
    char message[JMSG_LENGTH_MAX] = "";
    bool out_of_memory = false;

    // Calls work(), and throws if it failed. work() may have no local objects with destructors: the
    // jump would skip them.
    template<class Work>
    void guard(Work &&work) {
        if (setjmp(jump) == 0) work();
        else if (out_of_memory) throw MemoryError(what + "out of memory for its pixels");
        else throw InputError(what + message);
    }

    [[noreturn]] void fail(const char *text) {
        std::snprintf(message, sizeof message, "%s", text);
        std::longjmp(jump, 1);
    }
};

// The address of row y of the pixels.
std::byte *row_of(const Array &image, uint64_t y) {
    return image.data.get() + image.bytes / uint64_t(image.sizes[0]) * y;
}

// An array for an image's pixels, not initialised. Throws InputError if it is above the limit.
Array allocate_image(const std::string &path, uint64_t width, uint64_t height, int channels,
                     int bits, const ImageLimits &limits) {
    // libpng and libjpeg limit the width and the height to 2^20, so the product cannot overflow.
    const uint64_t bytes = width * height * uint64_t(channels * bits / 8);
    if (bytes > uint64_t(limits.mib) << 20)
        throw InputError(path + ": its pixels take " + std::to_string(bytes) +
                         " bytes, more than " + std::to_string(limits.mib) +
                         " MiB (--max-image-mib sets the limit)");
    Sizes sizes = {int64_t(height), int64_t(width)};
    if (channels > 1) sizes.push_back(channels);
    return Array::allocate(path, bits == 16 ? DataType::UINT16 : DataType::UINT8, sizes);
}

// ---- PNG ----

struct Png {
    Failure failure;
    png_structp png = nullptr;
    png_infop info = nullptr;

    static void on_error(png_structp png, png_const_charp text) {
        static_cast<Failure *>(png_get_error_ptr(png))->fail(text);
    }

    static void *allocate(png_structp png, size_t bytes) {
        void *memory = std::malloc(bytes);
        if (!memory) static_cast<Failure *>(png_get_mem_ptr(png))->out_of_memory = true;
        return memory;
    }

    static void release(png_structp, void *memory) { std::free(memory); }

    // `create` is png_create_read_struct_2 or png_create_write_struct_2. Warnings count as errors.
    template<class Create>
    void open(Create create, std::FILE *file) {
        png = create(PNG_LIBPNG_VER_STRING, &failure, on_error, on_error, &failure, allocate,
                     release);
        if (png) info = png_create_info_struct(png);
        if (!info) failure.fail("it cannot be opened");
        png_init_io(png, file);
    }

    // 16-bit values have the high byte first in the file, and the low byte first in memory.
    void swap_bytes() {
        if (png_get_bit_depth(png, info) == 16) png_set_swap(png);
    }
};

struct PngReader : Png {
    ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
};

struct PngWriter : Png {
    ~PngWriter() { png_destroy_write_struct(&png, &info); }
};

Array load_png(const std::string &path, std::FILE *file, const ImageLimits &limits) {
    PngReader reader;
    reader.failure.what = path + ": cannot be used as a PNG: ";
    png_structp &png = reader.png;
    png_infop &info = reader.info;
    reader.failure.guard([&] {
        reader.open(png_create_read_struct_2, file);
        // Colour profiles, texts and times are not used, so errors in them are no errors here.
        png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
        png_read_info(png, info);
        reader.swap_bytes();
    });
    const int bits = png_get_bit_depth(png, info);
    if ((bits != 8 && bits != 16) || png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE ||
        png_get_interlace_type(png, info) != PNG_INTERLACE_NONE)
        throw InputError(
            reader.failure.what +
            "only 8 or 16 bits a channel, without palette and interlacing, are supported");
    const png_uint_32 height = png_get_image_height(png, info);
    const Array image = allocate_image(path, png_get_image_width(png, info), height,
                                       png_get_channels(png, info), bits, limits);
    reader.failure.guard([&] {
        for (png_uint_32 y = 0; y < height; y++)
            png_read_row(png, reinterpret_cast<png_bytep>(row_of(image, y)), nullptr);
        png_read_end(png, nullptr);  // compares the checksum of all rows
    });
    return image;
}

// ---- JPEG ----

struct Jpeg {
    Failure failure;
    int max_scans;
    jpeg_decompress_struct jpeg{};
    jpeg_error_mgr errors{};
    jpeg_progress_mgr progress{};

    ~Jpeg() { jpeg_destroy_decompress(&jpeg); }

    static Jpeg &of(j_common_ptr info) { return *static_cast<Jpeg *>(info->client_data); }

    static void on_error(j_common_ptr info) {
        Failure &failure = of(info).failure;
        failure.out_of_memory = info->err->msg_code == JERR_OUT_OF_MEMORY;
        info->err->format_message(info, failure.message);
        std::longjmp(failure.jump, 1);
    }

    // A warning counts as an error. It says that data is missing or corrupt, which libjpeg would
    // replace with grey.
    static void on_message(j_common_ptr info, int level) {
        if (level < 0) on_error(info);
    }

    // libjpeg calls this for each row of blocks of each scan.
    static void on_progress(j_common_ptr info) {
        Jpeg &self = of(info);
        if (self.jpeg.input_scan_number <= self.max_scans) return;
        char text[100];
        std::snprintf(text, sizeof text, "it has more than %d scans (--max-scans sets the limit)",
                      self.max_scans);
        self.failure.fail(text);
    }

    void open(std::FILE *file) {
        jpeg.err = jpeg_std_error(&errors);
        errors.error_exit = on_error;
        errors.emit_message = on_message;
        jpeg.client_data = this;
        jpeg_create_decompress(&jpeg);
        progress.progress_monitor = on_progress;
        jpeg.progress = &progress;
        jpeg_stdio_src(&jpeg, file);
    }
};

Array load_jpeg(const std::string &path, std::FILE *file, const ImageLimits &limits) {
    Jpeg reader;
    reader.failure.what = path + ": cannot be used as a JPEG: ";
    reader.max_scans = limits.scans;
    jpeg_decompress_struct &jpeg = reader.jpeg;
    reader.failure.guard([&] {
        reader.open(file);
        jpeg_read_header(&jpeg, TRUE);
        jpeg_calc_output_dimensions(&jpeg);
    });
    if (jpeg.num_components == 4) throw InputError(reader.failure.what + "CMYK is not supported");
    const Array image = allocate_image(path, jpeg.output_width, jpeg.output_height,
                                       jpeg.output_components, 8, limits);
    reader.failure.guard([&] {
        jpeg_start_decompress(&jpeg);
        while (jpeg.output_scanline < jpeg.output_height) {
            JSAMPROW row = reinterpret_cast<JSAMPROW>(row_of(image, jpeg.output_scanline));
            jpeg_read_scanlines(&jpeg, &row, 1);
        }
        jpeg_finish_decompress(&jpeg);
    });
    return image;
}

// ---- Values ----

// u8 or u16 as f32 in 0..1.
Array normalized(const Array &image) {
    Array result = Array::allocate(image.name, DataType::FLOAT32, image.sizes);
    const auto divide = [&](const auto *values, float most) {
        for (int64_t i = 0, count = image.count(); i < count; i++)
            result.as<float>()[i] = float(values[i]) / most;
    };
    if (image.type == DataType::UINT16) divide(image.as<uint16_t>(), 65535);
    else divide(image.as<uint8_t>(), 255);
    return result;
}

// The array as a PNG stores it: f32 and f16 become u8; u8 and u16 are returned as they are.
Array pixels_of(const Array &array) {
    if (!is_float(array.type)) return array;
    Array pixels = Array::allocate(array.name, DataType::UINT8, array.sizes);
    for (int64_t i = 0, count = array.count(); i < count; i++) {
        const double value = array.type == DataType::FLOAT32
                                 ? double(array.as<float>()[i])
                                 : double_from_f16(array.as<uint16_t>()[i]);
        pixels.as<uint8_t>()[i] =
            value > 0 ? uint8_t(std::nearbyint(std::min(value, 1.0) * 255)) : 0;  // NaN is black
    }
    return pixels;
}
}  // namespace

Array load_image(const std::string &path, bool normalize, const ImageLimits &limits) {
    const File file = open_file(path, "rb", path);
    const Array image = lowercase_extension(path) == ".png" ? load_png(path, file.get(), limits)
                                                            : load_jpeg(path, file.get(), limits);
    return normalize ? normalized(image) : image;
}

void check_png(const std::string &name, DataType type, const Sizes &sizes) {
    const bool shape_fits =
        sizes.size() == 2 || (sizes.size() == 3 && sizes[2] >= 1 && sizes[2] <= 4);
    const bool type_fits = type == DataType::UINT8 || type == DataType::UINT16 ||
                           type == DataType::FLOAT32 || type == DataType::FLOAT16;
    if (!type_fits)
        throw InputError(name + ": a PNG holds u8 or u16 (f32 and f16 as 0..1), not " +
                         std::string(type_name(type)) + "; write a .npy file");
    if (!shape_fits)
        throw InputError(name +
                         ": a PNG has sizes [height, width] or [height, width, 1 to 4], not " +
                         to_string(sizes) + "; write a .npy file");
    // These limits are libpng's own.
    if (sizes[0] < 1 || sizes[1] < 1 || sizes[0] > 1000000 || sizes[1] > 1000000)
        throw InputError(name + ": a PNG is 1 to 1000000 pixels wide and high, not " +
                         to_string(sizes) + "; write a .npy file");
}

void save_png(const std::string &path, const std::string &name, const Array &array) {
    check_png(name, array.type, array.sizes);
    const Array pixels = pixels_of(array);
    constexpr int COLOR_TYPES[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                   PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    const png_uint_32 height = png_uint_32(array.sizes[0]), width = png_uint_32(array.sizes[1]);
    const int color_type = COLOR_TYPES[array.sizes.size() == 3 ? array.sizes[2] - 1 : 0];
    File file = open_file(path, "wb", name);
    PngWriter writer;
    writer.failure.what = name + ": cannot be written: ";
    writer.failure.guard([&] {
        writer.open(png_create_write_struct_2, file.get());
        png_set_IHDR(writer.png, writer.info, width, height,
                     pixels.type == DataType::UINT16 ? 16 : 8, color_type, PNG_INTERLACE_NONE,
                     PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
        png_write_info(writer.png, writer.info);
        writer.swap_bytes();
        for (png_uint_32 y = 0; y < height; y++)
            png_write_row(writer.png, reinterpret_cast<png_const_bytep>(row_of(pixels, y)));
        png_write_end(writer.png, nullptr);
    });
    // That the disk is full may become known only here.
    if (std::fclose(file.release()) != 0)
        throw InputError(writer.failure.what + std::strerror(errno));
}

}  // namespace hewn::cli
