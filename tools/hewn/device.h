// --device: where operators run; brings arrays there and back.
#ifndef HEWN_TOOLS_DEVICE_H
#define HEWN_TOOLS_DEVICE_H

#include <hewn/hewn.hpp>
#include <optional>
#include <string>
#include <vector>

#include "array.h"

namespace hewn::cli {

// "cpu", "cuda", "opencl", "d3d12": the first that is not software on a CPU; with an index that one: "cuda:1". Throws InputError.
struct DeviceName {
    DeviceKind kind = DeviceKind::CPU;
    uint32_t index = HEWN_ANY_DEVICE;
};
DeviceName parse_device(const std::string &text);
const char *kind_name(DeviceKind kind);                  // "cuda"
std::string kind_names(const std::string &conjunction);  // "cpu, cuda, opencl or d3d12"

// Nothing for the CPU. Throws Error if there is no such device.
std::optional<Device> open_device(const std::string &text);

// Executes and waits. Inputs are in the operator's order; an absent one is null. For a GPU, copies there and back.
void execute(const Operator &op, const Device *device, const std::vector<const Array *> &inputs, Array &output);

}  // namespace hewn::cli

#endif  // HEWN_TOOLS_DEVICE_H
