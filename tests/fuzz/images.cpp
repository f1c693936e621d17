// Fuzzes the tool's reading of PNG and JPEG files. The first byte says which of the two it is,
// whether the values are normalized, and from which allocation on allocations fail.
#include "../../tools/hewn/images.h"

#include "fuzz.h"

HEWN_FUZZ(images) {
    hewn_fuzz::Input input(data, size);
    const unsigned way = unsigned(input.below(64));
    const char *const extension = way & 1 ? ".png" : ".jpg";
    hewn_fuzz::with_file(input.rest(), extension, way / 4, [&](const std::string &path) {
        hewn::cli::ImageLimits limits;
        limits.mib = 4;
        limits.scans = 20;
        hewn::cli::load_image(path, way & 2, limits);
    });
}
