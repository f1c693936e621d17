// NumPy's .npy format, versions 1.0 to 3.0, as numpy/lib/format.py defines it. It is our own code
// because neither Halide's nor xtensor's loader has f16, reads keys in any order or checks sizes
// before it trusts them.
#pragma once

#include <string>

#include "array.h"

namespace hewn::cli {

// Types f32 f16 i8 ... u64, and bf16 as two bytes of no type, little-endian; ranks 0 to 8; Fortran
// order becomes strides. Anything else is an InputError that names the file and what is wrong with
// it. Allocates no more than the file holds.
Array load_npy(const std::string &path);

// What a user of NumPy does for the type to be right: "save it with .astype('<f4')".
std::string astype_hint(DataType type);

// Writes a row-major array as version 1.0. `path` is the real path, `name` the one in messages.
void save_npy(const std::string &path, const std::string &name, const Array &array);

}  // namespace hewn::cli
