// The one Python interpreter inside this program: NumPy, PyTorch and OpenVINO are peers, and onnx
// makes ONNX Runtime's models.
#pragma once

#include <pybind11/embed.h>
#include <pybind11/stl.h>

namespace hewn_bench {

// A module of this folder or of the virtual environment; starts the interpreter at the first call.
pybind11::module_ python_module(const char *name);

// Has Python look for modules in this folder too, after all others.
void add_python_packages(const std::string &folder);

}  // namespace hewn_bench
