// Reads and writes images: PNG by libpng, and JPEG (only reading) by libjpeg. An image is a tensor
// [height, width] or [height, width, channels]. A build without these libraries has no_images.cpp
// instead of images.cpp.
#pragma once

#include <string>

#include "array.h"

namespace hewn::cli {

// The largest image that is decoded. Without limits, a small file could hold an image that takes
// minutes and gigabytes to decode.
struct ImageLimits {
    // MiB of the pixels as stored.
    int mib = 512;
    // Scans of a progressive JPEG. Encoders write about ten.
    int scans = 100;
};

// Reads an image as u8 (as u16 if it is a 16-bit PNG). With `normalize` it becomes f32: each value
// divided by 255 (by 65535), rounded once. Warnings of libpng and libjpeg, such as those about
// wrong checksums and missing data, are errors. Throws InputError or MemoryError.
Array load_image(const std::string &path, bool normalize, const ImageLimits &limits);

// Throws InputError if a PNG cannot hold such a tensor. It holds u8 and u16 as they are, and f32
// and f16 as 0..1, clamped and rounded to u8. The rank is 2, or 3 with 1 to 4 channels.
void check_png(const std::string &name, DataType type, const Sizes &sizes);
// Writes a row-major array. `path` is the file to write, `name` the one in messages. Throws
// InputError.
void save_png(const std::string &path, const std::string &name, const Array &array);

}  // namespace hewn::cli
