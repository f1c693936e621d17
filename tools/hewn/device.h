// --device: where operators run; brings arrays there and back.
#pragma once

#include <hewn/hewn.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "array.h"

namespace hewn::cli {

// An error of the library, on named files or in the choice of a variant: exit code 1.
struct OperatorError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// What runs, and where.
struct ExecutionOptions {
    std::string device;   // as parse_device takes it; empty: the CPU
    std::string variant;  // a target or a variant to force; empty: none
    int threads = 0;      // the most; 0: as many as help
};

// "cpu", "cuda", "opencl", "d3d12": the first that is not software on a CPU; with an index that
// one: "cuda:1". Throws InputError.
struct DeviceName {
    DeviceKind kind = DeviceKind::CPU;
    uint32_t index = HEWN_ANY_DEVICE;
};
DeviceName parse_device(const std::string &text);
const char *kind_name(DeviceKind kind);                  // "cuda"
std::string kind_names(const std::string &conjunction);  // "cpu, cuda, opencl or d3d12"
std::vector<std::string> kind_words();                   // "cpu", "cuda", ...

// Nothing for the CPU. Throws Error if there is no such device.
std::optional<Device> open_device(const std::string &text);

// Executes and waits. Inputs and outputs are in the operator's order; an absent input is null. For
// a GPU, copies there and back.
void execute(const Operator &op, const Device *device, const std::vector<const Array *> &inputs,
             std::vector<Array> &outputs);

}  // namespace hewn::cli
