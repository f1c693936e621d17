// The extension module hewn._hewn, which the package hewn is built on. hewn/_hewn.pyi declares it.
#include <cstdlib>

#include "library.h"

namespace hewn_python {

namespace {
const char *kind_of(hewn_device_kind kind) {
    const char *names[] = {"cpu", "cuda", "opencl", "d3d12"};
    return names[kind];
}

// Whether variants for this kind of device can run. The library may have kernels for GPUs, but the
// package opens no device: every operator runs on the CPU, whatever drivers this machine has.
bool is_usable(hewn_device_kind kind) { return kind == HEWN_DEVICE_CPU; }
constexpr const char *no_device = "GPU support in the Python package";

nb::list targets() {
    nb::list list;
    for (const hewn_target_info &t : hewn::targets()) {
        const bool usable = is_usable(t.device);
        list.append(nb::make_tuple(t.name, t.priority, usable && t.supported,
                                   usable ? t.missing : no_device, kind_of(t.device)));
    }
    return list;
}

nb::list variants() {
    nb::list list;
    for (const hewn_variant_info &v : hewn::variants()) {
        const bool usable = is_usable(v.device);
        list.append(nb::make_tuple(v.name, v.operator_name, v.signature, v.target,
                                   usable && v.supported, usable && v.picked, kind_of(v.device)));
    }
    return list;
}

std::string version() {
    const uint32_t number = hewn_version();
    return std::to_string(number >> 16) + "." + std::to_string(number >> 8 & 255) + "." +
           std::to_string(number & 255);
}
}  // namespace

}  // namespace hewn_python

NB_MODULE(_hewn, module) {
    using namespace hewn_python;
    const auto any = [](const char *name) { return nb::arg(name).none(); };
    static PyType_Slot collected[] = {
        {Py_tp_traverse, reinterpret_cast<void *>(Library::traverse)},
        {Py_tp_clear, reinterpret_cast<void *>(Library::clear)},
        {0, nullptr},
    };
    // nanobind warns about objects that are left at the end. Daemon threads that wait for the end
    // of the process keep their objects, so only tests, which have no such threads, ask for
    // warnings.
    nb::set_leak_warnings(std::getenv("HEWN_PYTHON_LEAKS") != nullptr);
    const nb::module_ numpy = nb::module_::import_("numpy");
    nb::object array = numpy.attr("ndarray"), masked = numpy.attr("ma").attr("MaskedArray");
    know_numpy(array.release(), masked.release());
    nb::class_<Library>(module, "Library", nb::type_slots(collected))
        .def(nb::init<nb::dict, nb::object, nb::object>())
        .def("call", &Library::call);  // no names, no None: nanobind then calls fastest
    nb::class_<Operator>(module, "Operator")
        .def(nb::init<nb::object, int, nb::tuple, nb::tuple, bool>())
        .def("__call__", &Operator::call, nb::arg("inputs"), any("out") = nb::none())
        .def(
            "bind",
            [](nb::object self, nb::args inputs, nb::handle out) {
                return new BoundOperator(std::move(self), std::move(inputs), out);
            },
            nb::arg("inputs"), any("out") = nb::none())
        .def_prop_ro("variant", &Operator::variant)
        .def_prop_ro("inputs", &Operator::inputs);
    nb::class_<BoundOperator>(module, "BoundOperator").def("__call__", &BoundOperator::run);
    module.def("targets", &targets);
    module.def("variants", &variants);
    module.def("version", [] { return nb::str(version().c_str()); });
}
