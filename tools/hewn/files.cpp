#include "files.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>

#include "npy.h"

namespace fs = std::filesystem;

namespace hewn::cli {

namespace {
// Sizes are checked before anything is read, and what is written appears whole: neither is possible
// with a stream.
void check_is_no_stream(const std::string &path, const fs::file_status &status) {
    const bool special =
        fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
    if (path == "-" || special)
        throw InputError(
            path +
            ": standard input and output, pipes and devices are not supported; use a regular file");
}
}  // namespace

std::string lowercase_extension(const std::string &path) {
    std::string extension = fs::path(path).extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char c) { return char(std::tolower(c)); });
    return extension;
}

uint64_t regular_file_size(const std::string &path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    check_is_no_stream(path, status);
    if (!fs::exists(status))
        throw InputError(path + ": no such file" +
                         (is_number(path) ? "; a number is not taken here" : ""));
    if (!fs::is_regular_file(status)) throw InputError(path + ": not a regular file");
    const uint64_t size = fs::file_size(path, error);
    if (error) throw InputError(path + ": " + error.message());
    return size;
}

File open_file(const std::string &path, const char *mode, const std::string &name) {
    File file(std::fopen(path.c_str(), mode));
    if (file) return file;
    if (errno == ENOMEM) throw std::bad_alloc();
    throw InputError(name + (*mode == 'r' ? ": cannot be read: " : ": cannot be written: ") +
                     std::strerror(errno));
}

Array load_array(const std::string &path, bool normalize, const ImageLimits &limits) {
    regular_file_size(path);
    const std::string extension = lowercase_extension(path);
    if (extension == ".npy") return load_npy(path);
    if (extension == ".png" || extension == ".jpg" || extension == ".jpeg")
        return load_image(path, normalize, limits);
    throw InputError(path +
                     ": cannot read this kind of file; it must end in .npy, .png, .jpg or .jpeg");
}

void check_output_path(const std::string &path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    check_is_no_stream(path, status);
    const std::string extension = lowercase_extension(path);
    if (extension != ".npy" && extension != ".png")
        throw InputError(path + ": the output must end in .npy or .png");
    const fs::path parent = fs::path(path).parent_path();
    if (!parent.empty() && !fs::is_directory(parent, error))
        throw InputError(path + ": the folder " + parent.string() + " does not exist");
    if (fs::is_directory(status)) throw InputError(path + ": exists and is not a regular file");
}

void check_output_type(const std::string &path, DataType type, const Sizes &sizes) {
    if (lowercase_extension(path) == ".png") check_png(path, type, sizes);
}

void save_array(const std::string &path, const Array &array) {
    OutputFile file(path);
    if (lowercase_extension(path) == ".png") save_png(file.temporary(), path, array);
    else save_npy(file.temporary(), path, array);
    file.commit();
}

// Delegates, so that what fails here, too, leaves nothing behind: the destructor then runs.
OutputFile::OutputFile(std::string path) : OutputFile() {
    path_ = std::move(path);
    const std::string extension = fs::path(path_).extension().string();
    // A link stays a link: the file that it leads to is made or replaced.
    std::error_code error;
    for (int links = 0; links < 40 && fs::is_symlink(path_, error); links++) {
        const fs::path link(path_);
        path_ = (link.parent_path() / fs::read_symlink(link, error)).string();
    }
    // In the same folder, because a rename cannot leave the file system. The clock keeps two runs
    // apart. Without the final name, which may already be as long as a name can be.
    const fs::path final(path_);
    const auto ticks = std::chrono::steady_clock::now().time_since_epoch().count();
    temporary_ =
        (final.parent_path() / (".hewn." + std::to_string(ticks) + ".tmp" + extension)).string();
    // The replaced file may be private, so this one is too from the beginning.
    const fs::file_status replaced = fs::status(final, error);
    if (!fs::exists(replaced)) return;
    permissions_ = replaced.permissions();
    const std::ofstream created(temporary_);
    fs::permissions(temporary_, *permissions_ | fs::perms::owner_write, error);
}

OutputFile::~OutputFile() {
    std::error_code ignored;
    if (!temporary_.empty()) fs::remove(temporary_, ignored);
}

void OutputFile::commit() {
    std::error_code error;
    if (permissions_) fs::permissions(temporary_, *permissions_, error);
    fs::rename(temporary_, path_, error);
    if (error) throw InputError(path_ + ": cannot be written: " + error.message());
    temporary_.clear();
}

}  // namespace hewn::cli
