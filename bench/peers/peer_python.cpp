// Peers that are Python libraries. Each of them has a module peer_<name>.py with the functions
// version() and prepare().
#include <pybind11/numpy.h>

#include "../core/contender.h"
#include "python.h"

namespace py = pybind11;

namespace hewn_bench {
namespace {

// A NumPy array that uses the operand's own memory.
py::array array_of(const Operand &operand) {
    static const std::pair<const char *, const char *> names[] = {
        {"f32", "float32"}, {"f16", "float16"}, {"i64", "int64"},
        {"i32", "int32"},   {"i16", "int16"},   {"i8", "int8"},
        {"u32", "uint32"},  {"u16", "uint16"},  {"u8", "uint8"}};
    std::string dtype;
    for (const auto &[type, name] : names) {
        if (operand.type == type) dtype = name;
    }
    std::vector<py::ssize_t> strides;
    for (const int64_t stride : operand.strides)
        strides.push_back(stride * py::ssize_t(operand.element_bytes()));
    return py::array(py::dtype(dtype), operand.sizes, strides, operand.data,
                     py::capsule(operand.data, [](void *) {}));
}

class PythonPeer : public Contender {
public:
    PythonPeer(std::string name, const char *module)
        : name_(std::move(name)), module_(python_module(module)) {}
    std::string name() const override { return name_; }
    std::string version() const override { return module_.attr("version")().cast<std::string>(); }

    Runner prepare(const Problem &problem, int threads) override {
        py::list inputs;
        for (const Operand &input : problem.inputs) inputs.append(array_of(input));
        const py::object run =
            module_.attr("prepare")(problem.op, inputs, array_of(problem.output), threads);
        if (run.is_none()) return {};
        return [run](int64_t n) { run(n); };
    }

private:
    std::string name_;
    py::module_ module_;
};

}  // namespace

std::unique_ptr<Contender> make_python_peer(const std::string &name, const char *module,
                                            const std::string &packages) {
    try {
        if (!packages.empty()) add_python_packages(packages);
        return std::make_unique<PythonPeer>(name, module);
    } catch (const py::error_already_set &error) {
        throw std::runtime_error(name + ": " + error.what());
    }
}

}  // namespace hewn_bench
