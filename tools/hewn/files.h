// Reads files as tensors and writes tensors to files. The extension decides the format: .npy
// (npy.h), .png or .jpg (images.h). An output file appears whole or not at all: it is written under
// a temporary name and then renamed.
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

// Reads the tensor in a file. `normalize` is for operators on real numbers: an image becomes f32 in
// 0..1 instead of u8 or u16. `untyped` is that of load_npy. Throws InputError or MemoryError.
Array load_array(const std::string &path, bool normalize = false, const ImageLimits &limits = {},
                 std::optional<DataType> untyped = {});

// Throw InputError if save_array could not write such a file. They are called before any work.
void check_output_path(const std::string &path);
void check_output_type(const std::string &path, DataType type, const Sizes &sizes);

// Whether two names of output files lead to the same file, by two spellings of a path or by links.
bool is_same_output(const std::string &a, const std::string &b);

// Writes a row-major array. Throws InputError.
void save_array(const std::string &path, const Array &array);

// Writes row-major arrays, each to the file that Array::name names. If one of them cannot be
// written, no file appears. Throws InputError.
void save_arrays(const std::vector<Array> &arrays);

// An output file while it is written. It has a temporary name in the folder of the final file (of
// the file that the name leads to, if it is a link), and the permissions of the file that it
// replaces. commit() gives it the final name. Without commit() the destructor removes it, so
// nothing is left unless SIGKILL or a crash ends the program.
class OutputFile {
public:
    explicit OutputFile(std::string path);
    ~OutputFile();
    OutputFile(const OutputFile &) = delete;
    OutputFile &operator=(const OutputFile &) = delete;

    // The path to write to. It has the final name's extension.
    const std::string &temporary() const { return temporary_; }
    // The path as it was given, for messages.
    const std::string &name() const { return name_; }
    // Gives the file its final name. Throws InputError.
    void commit();

private:
    OutputFile() = default;

    std::string name_, path_, temporary_;
    // Those of the file that this one replaces. Nothing: there is no such file.
    std::optional<std::filesystem::perms> permissions_;
};

// From now on, a signal that ends the program first removes the temporary files. If a file grows
// beyond the system's limit (SIGXFSZ), the program does not end: writing returns an error.
void remove_temporaries_on_signals();

struct CloseFile {
    void operator()(std::FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

// Opens a file as std::fopen does. `name` is the file's name in messages. Throws InputError, or
// std::bad_alloc.
File open_file(const std::string &path, const char *mode, const std::string &name);

// The extension of the path in lower case: ".png".
std::string lowercase_extension(const std::string &path);

// The size of a regular file in bytes. Throws InputError if it is anything else; "-" too is
// refused.
uint64_t regular_file_size(const std::string &path);

}  // namespace hewn::cli
