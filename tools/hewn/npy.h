// Reads and writes NumPy's .npy format, versions 1.0 to 3.0, as numpy/lib/format.py defines it. The
// code is our own because the loaders of Halide and xtensor have no f16, expect the keys in a fixed
// order, and trust sizes before they have checked them.
#pragma once

#include <optional>
#include <string>

#include "array.h"

namespace hewn::cli {

// Reads a little-endian file of rank 0 to 8. The types are f32, f16, all integers from i8 to u64,
// bf16 as two bytes without a type (V2), and f8e5m2 as a float of one byte (f1). `untyped` is the
// small float that a byte without a type (V1) is; without it such files are refused. Fortran order
// becomes strides. Throws InputError for any other file; the message names the file and what is
// wrong with it. Allocates no more memory than the file has bytes; twice that for a small
// float below 8 bits.
Array load_npy(const std::string &path, std::optional<DataType> untyped = {});

// Advice for a message: what a user of NumPy has to do to give a file this type. For f32: "save it
// with .astype('<f4')".
std::string astype_hint(DataType type);

// Writes a row-major array as version 1.0. Small floats become bytes without a type (V1), as which
// NumPy reads them. `path` is the file to write, `name` the one in messages.
// Throws InputError.
void save_npy(const std::string &path, const std::string &name, const Array &array);

}  // namespace hewn::cli
