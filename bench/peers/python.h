// The Python interpreter inside the program `compare`. NumPy, PyTorch and OpenVINO are peers that
// run in it, and the package onnx makes models for ONNX Runtime.
#pragma once

#include <pybind11/embed.h>
#include <pybind11/stl.h>

namespace hewn_bench {

// Imports a module of this folder or of the virtual environment. The first call starts the
// interpreter.
pybind11::module_ python_module(const char *name);

// Makes Python look for modules in this folder too, after all others.
void add_python_packages(const std::string &folder);

}  // namespace hewn_bench
