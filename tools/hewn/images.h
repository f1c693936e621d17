// PNG and JPEG through libpng and libjpeg. An image is a tensor [height, width] or [height, width,
// channels].
#pragma once

#include <string>

#include "array.h"

namespace hewn::cli {

// A small file can hold an image that takes minutes and gigabytes to decode.
struct ImageLimits {
    int mib = 512;    // of the pixels as stored
    int scans = 100;  // of a JPEG; encoders write some ten
};

// u8 (a 16-bit PNG: u16) as stored; with `normalize` f32, value / 255 (65535), rounded once. A
// warning of libpng or libjpeg, as for wrong checksums and missing data, is an error.
Array load_image(const std::string &path, bool normalize, const ImageLimits &limits);

// A PNG holds u8 and u16 as they are, and f32 and f16 as 0..1, clamped and rounded to u8. Rank 2,
// or rank 3 with 1 to 4 channels.
void check_png(const std::string &name, DataType type, const Sizes &sizes);
void save_png(const std::string &path, const std::string &name, const Array &array);

}  // namespace hewn::cli
