// Files as tensors: .npy, .png, .jpg by their extension. An output file appears whole or not at
// all.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "array.h"
#include "images.h"

namespace hewn::cli {

// The tensor in a file. `normalize` is for operators on real numbers: an image becomes f32 in 0..1
// instead of u8 or u16.
Array load_array(const std::string &path, bool normalize = false, const ImageLimits &limits = {});

// Refuses, before any work, what save_array could not write.
void check_output_path(const std::string &path);
void check_output_type(const std::string &path, DataType type, const Sizes &sizes);

// Whether two output files are one: two spellings of a path, or links.
bool is_same_output(const std::string &a, const std::string &b);

// Writes a row-major array.
void save_array(const std::string &path, const Array &array);

// Writes row-major arrays, each to the file of its name. If one cannot be written, none appears.
void save_arrays(const std::vector<Array> &arrays);

// A file under a temporary name beside its final name (or beside the file that a link leads to),
// with the permissions of what it replaces. commit() moves it there. Without commit() nothing is
// left, unless SIGKILL or a crash ends the program.
class OutputFile {
public:
    explicit OutputFile(std::string path);
    ~OutputFile();
    OutputFile(const OutputFile &) = delete;
    OutputFile &operator=(const OutputFile &) = delete;

    // Keeps the final name's extension.
    const std::string &temporary() const { return temporary_; }
    // The path as it was given, for messages.
    const std::string &name() const { return name_; }
    void commit();

private:
    OutputFile() = default;

    std::string name_, path_, temporary_;
    std::optional<std::filesystem::perms> permissions_;  // of what it replaces
};

// From now on a signal that ends the program first removes the temporary files. A file that grows
// beyond the limit of its size (SIGXFSZ) ends nothing: writing it is an error.
void remove_temporaries_on_signals();

struct CloseFile {
    void operator()(std::FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

// Opens as std::fopen does. `name` is the one in messages.
File open_file(const std::string &path, const char *mode, const std::string &name);

// ".png"
std::string lowercase_extension(const std::string &path);

// Size of a regular file; InputError for anything else, "-" included.
uint64_t regular_file_size(const std::string &path);

}  // namespace hewn::cli
