#include "python.h"

namespace hewn_bench {

pybind11::module_ python_module(const char *name) {
    // The interpreter is never destroyed, because modules keep threads and objects until the
    // process ends.
    static auto *const interpreter = [] {
        PyConfig config;
        PyConfig_InitPythonConfig(&config);
        config.install_signal_handlers = 0;  // so that Ctrl-C ends the program
        PyConfig_SetBytesString(&config, &config.executable, HEWN_BENCH_PYTHON);
        // Without the current folder in its path, which might have modules of the same names.
        auto *const started = new pybind11::scoped_interpreter(&config, 0, nullptr, false);
        pybind11::module_::import("sys").attr("path").attr("insert")(0, HEWN_BENCH_DIR);
        return started;
    }();
    (void)interpreter;
    return pybind11::module_::import(name);
}

void add_python_packages(const std::string &folder) {
    python_module("sys").attr("path").attr("append")(folder);
}

}  // namespace hewn_bench
