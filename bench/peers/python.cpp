#include "python.h"

namespace hewn_bench {

pybind11::module_ python_module(const char *name) {
    // Not destroyed: modules keep threads and objects of their own until the process ends.
    static auto *const interpreter = [] {
        PyConfig config;
        PyConfig_InitPythonConfig(&config);
        config.install_signal_handlers = 0;  // Ctrl-C ends the program
        PyConfig_SetBytesString(&config, &config.executable, HEWN_BENCH_PYTHON);
        // Without the folder that the program was started in, where modules could be found.
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
