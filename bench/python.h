// The one Python interpreter inside this program: NumPy is a peer, and makes ONNX models and
// bootstrap intervals.
#pragma once

#include <pybind11/embed.h>
#include <pybind11/stl.h>

namespace hewn_bench {

// A module of this folder or of the virtual environment; starts the interpreter at the first call.
pybind11::module_ python_module(const char *name);

}  // namespace hewn_bench
