// Replaces images.cpp in a build without libpng and libjpeg: every image is refused.
#include "files.h"
#include "images.h"

namespace hewn::cli {

namespace {
[[noreturn]] void refuse(const std::string &name) {
    throw InputError(name + ": this build of hewn has neither PNG nor JPEG; use a .npy file");
}
}  // namespace

Array load_image(const std::string &path, bool, const ImageLimits &) { refuse(path); }
void check_png(const std::string &name, DataType, const Sizes &) { refuse(name); }
void save_png(const std::string &, const std::string &name, const Array &) { refuse(name); }

}  // namespace hewn::cli
