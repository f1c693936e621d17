// Peers that are Python libraries. Each of them has a module peer_<name>.py with the functions
// version() and prepare().
#include <pybind11/numpy.h>

#include <memory>

#include "../../reference/types.h"
#include "../core/contender.h"
#include "python.h"

namespace py = pybind11;

namespace hewn_bench {
namespace {

// NumPy's type of that name, which for some types ml_dtypes adds to NumPy.
py::dtype dtype_of(const std::string &type) {
    static const std::pair<const char *, const char *> names[] = {
        {"f32", "float32"}, {"f16", "float16"}, {"bf16", "bfloat16"}, {"i64", "int64"},
        {"i32", "int32"},   {"i16", "int16"},   {"i8", "int8"},       {"i4", "int4"},
        {"i2", "int2"},     {"u32", "uint32"},  {"u16", "uint16"},    {"u8", "uint8"},
        {"u4", "uint4"},    {"u2", "uint2"},
#define HEWN_SMALL_FLOAT(word, name, numpy, ...) {#word, #numpy},
#include "types.inc"
    };
    for (const auto &[word, name] : names) {
        if (type != word) continue;
        const py::module_ added = python_module("ml_dtypes");
        return py::dtype::from_args(py::hasattr(added, name) ? added.attr(name)
                                                             : py::object(py::str(name)));
    }
    throw std::logic_error("no type of NumPy for " + type);
}

bool is_sub_byte(const Operand &operand) {
    return hewn_test::sub_byte_bits_of(hewn_test::parse_type(operand.type)) > 0;
}

// A NumPy array that uses the operand's own memory. If the type is a sub-byte type, it is a copy
// instead, because ml_dtypes has each element in a byte of its own.
py::array array_of(const Operand &operand) {
    std::vector<py::ssize_t> strides;
    for (const int64_t stride : operand.strides)
        strides.push_back(stride * py::ssize_t(operand.element_bytes()));
    void *data = operand.data;
    py::capsule owner(data, [](void *) {});
    if (is_sub_byte(operand)) {
        auto *const bytes = new std::vector<uint8_t>(size_t(operand.span()));
        owner = py::capsule(bytes, [](void *p) { delete static_cast<std::vector<uint8_t> *>(p); });
        data = bytes->data();
        hewn_test::with_sub_byte_type(hewn_test::parse_type(operand.type), [&](auto tag) {
            using T = decltype(tag);
            for (size_t i = 0; i < bytes->size(); i++) {
                const T value = hewn_test::element<T>(operand.data, int64_t(i));
                if constexpr (hewn_test::is_small_float<T>) (*bytes)[i] = value.bits;
                else (*bytes)[i] = uint8_t(value);
            }
        });
    }
    return py::array(dtype_of(operand.type), operand.sizes, strides, data, owner);
}

// Writes such a copy back to the operand.
void pack(const py::array &copy, const Operand &operand) {
    hewn_test::with_sub_byte_type(hewn_test::parse_type(operand.type), [&](auto tag) {
        using T = decltype(tag);
        const auto *const bytes = static_cast<const uint8_t *>(copy.data());
        for (int64_t i = 0; i < operand.span(); i++)
            hewn_test::set_element(operand.data, i, hewn_test::from_lowest<T>(bytes[i]));
    });
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
        const py::array output = array_of(problem.output);
        const py::object run =
            module_.attr("prepare")(problem.op, inputs, output, problem.has_relu(), threads);
        if (run.is_none()) return {};
        if (!is_sub_byte(problem.output)) return [run](int64_t n) { run(n); };
        // Only the results of the first call are looked at.
        const auto is_first = std::make_shared<bool>(true);
        return [run, output, is_first, operand = problem.output](int64_t n) {
            run(n);
            if (*is_first) pack(output, operand);
            *is_first = false;
        };
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
