#include "files.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>

#include "npy.h"

#ifndef _WIN32
#include <unistd.h>
#endif

namespace fs = std::filesystem;

namespace hewn::cli {

namespace {
// Refuses pipes and devices. The size of an input is checked before it is read, and an output
// appears whole: neither is possible with a stream.
void check_is_no_stream(const std::string &path, const fs::file_status &status) {
    if (path.empty()) throw InputError("'': the name of a file is empty");
    const bool special =
        fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
    if (path == "-" || special)
        throw InputError(
            path +
            ": standard input and output, pipes and devices are not supported; use a regular file");
}

// The path to which symbolic links lead. The file need not exist yet.
fs::path behind_links(const std::string &path) {
    constexpr int MOST_LINKS = 40;  // Linux's own limit
    fs::path at(path);
    std::error_code error;
    for (int links = 0; fs::is_symlink(at, error); links++) {
        if (links == MOST_LINKS) throw InputError(path + ": too many symbolic links");
        at = at.parent_path() / fs::read_symlink(at, error);
    }
    return at;
}

// A spelling of the path that is the same for all spellings of it.
fs::path spelled_once(const std::string &path) {
    const fs::path at = behind_links(path);
    std::error_code error;
    const fs::path folder = fs::weakly_canonical(fs::absolute(at).parent_path(), error);
    return folder / at.filename();
}

// The names of the temporary files that exist, for the signal handler, which may not wait for a
// lock. A run has at most three output files. If there were more than these slots, a signal would
// leave the files without a slot.
std::atomic<const char *> temporaries[8];

void remember(const char *temporary) {
    for (std::atomic<const char *> &slot : temporaries) {
        const char *none = nullptr;
        if (slot.compare_exchange_strong(none, temporary)) return;
    }
}

void forget(const char *temporary) {
    for (std::atomic<const char *> &slot : temporaries) {
        const char *expected = temporary;
        slot.compare_exchange_strong(expected, nullptr);
    }
}

#ifndef _WIN32
// The signal handler. It sends the signal again, which then ends the program as it would have
// without a handler, because SA_RESETHAND has removed this one.
void remove_temporaries(int signal) {
    for (const std::atomic<const char *> &slot : temporaries)
        if (const char *temporary = slot.load()) unlink(temporary);
    raise(signal);
}
#endif
}  // namespace

void remove_temporaries_on_signals() {
#ifndef _WIN32
    std::signal(SIGXFSZ, SIG_IGN);
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXCPU}) {
        struct sigaction action;
        sigaction(signal, nullptr, &action);
        if (action.sa_handler == SIG_IGN) continue;  // stays ignored, as under nohup
        action.sa_handler = remove_temporaries;
        action.sa_flags = int(SA_RESETHAND);
        sigaction(signal, &action, nullptr);
    }
#endif
}

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
    if (status.type() == fs::file_type::none)  // an error other than that there is no such file
        throw InputError(path + ": cannot be read: " + error.message());
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

Array load_array(const std::string &path, bool normalize, const ImageLimits &limits,
                 std::optional<DataType> untyped) {
    regular_file_size(path);
    const std::string extension = lowercase_extension(path);
    if (extension == ".npy") return load_npy(path, untyped);
    if (extension == ".png" || extension == ".jpg" || extension == ".jpeg")
        return load_image(path, normalize, limits);
    throw InputError(path +
                     ": cannot read this kind of file; it must end in .npy, .png, .jpg or .jpeg");
}

void check_output_path(const std::string &path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    check_is_no_stream(path, status);
    if (status.type() == fs::file_type::none)  // a loop of symbolic links, or too long a name
        throw InputError(path + ": cannot be written: " + error.message());
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

bool is_same_output(const std::string &a, const std::string &b) {
    std::error_code error;  // ignored: one of the files may not exist yet
    return fs::equivalent(a, b, error) || spelled_once(a) == spelled_once(b);
}

namespace {
void write_array(const OutputFile &file, const Array &array) {
    if (lowercase_extension(file.name()) == ".png") save_png(file.temporary(), file.name(), array);
    else save_npy(file.temporary(), file.name(), array);
}
}  // namespace

void save_array(const std::string &path, const Array &array) {
    OutputFile file(path);
    write_array(file, array);
    file.commit();
}

void save_arrays(const std::vector<Array> &arrays) {
    std::vector<std::unique_ptr<OutputFile>> files;
    for (const Array &array : arrays) {
        files.push_back(std::make_unique<OutputFile>(array.name));
        write_array(*files.back(), array);
    }
    for (const std::unique_ptr<OutputFile> &file : files) file->commit();
}

// Delegates to another constructor. After that one has ended, the destructor runs even if this one
// throws, and removes the temporary file.
OutputFile::OutputFile(std::string path) : OutputFile() {
    name_ = std::move(path);
    const std::string extension = fs::path(name_).extension().string();
    // A link stays a link: the file that it leads to is made or replaced.
    path_ = behind_links(name_).string();
    // The temporary file is in the same folder, because a rename cannot leave the file system. The
    // clock gives two runs different names. The final name is no part of this name, because it may
    // already be as long as a name can be.
    const fs::path final(path_);
    const auto ticks = std::chrono::steady_clock::now().time_since_epoch().count();
    temporary_ =
        (final.parent_path() / (".hewn." + std::to_string(ticks) + ".tmp" + extension)).string();
    remember(temporary_.c_str());
    std::error_code error;
    // The replaced file may be private, so this one gets its permissions before it has contents.
    const fs::file_status replaced = fs::status(final, error);
    if (!fs::exists(replaced)) return;
    permissions_ = replaced.permissions();
    const std::ofstream created(temporary_);
    fs::permissions(temporary_, *permissions_ | fs::perms::owner_write, error);
}

OutputFile::~OutputFile() {
    std::error_code ignored;
    if (temporary_.empty()) return;
    fs::remove(temporary_, ignored);
    forget(temporary_.c_str());
}

void OutputFile::commit() {
    std::error_code error;
    if (permissions_) fs::permissions(temporary_, *permissions_, error);
    fs::rename(temporary_, path_, error);
    if (error) throw InputError(name_ + ": cannot be written: " + error.message());
    forget(temporary_.c_str());
    temporary_.clear();
}

}  // namespace hewn::cli
