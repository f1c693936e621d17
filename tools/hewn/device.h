// The option --device: names and opens the device on which operators run, and executes operators
// there on arrays, which it copies to a GPU's memory and back.
#pragma once

#include <hewn/hewn.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "array.h"

namespace hewn::cli {

// The library refused an operator, or no variant can run. The message also names the user's files.
// The program ends with exit code 1.
struct OperatorError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// What runs, and where. The commands' options --device, --variant and --threads.
struct ExecutionOptions {
    // As parse_device takes it. Empty: the CPU.
    std::string device;
    // A target or a variant to force. Empty: none.
    std::string variant;
    // The largest number of threads. 0: as many as help.
    int threads = 0;
};

// A device as the user names it. "cuda" (or "cpu", "opencl", "d3d12") is the first device of that
// kind that is not software on a CPU; "cuda:1" is the one with that index. Throws InputError if the
// text is neither.
struct DeviceName {
    DeviceKind kind = DeviceKind::CPU;
    uint32_t index = HEWN_ANY_DEVICE;
};
DeviceName parse_device(const std::string &text);
const char *kind_name(DeviceKind kind);                  // "cuda"
std::string kind_names(const std::string &conjunction);  // "cpu, cuda, opencl or d3d12"
std::vector<std::string> kind_words();                   // "cpu", "cuda", ...

// Opens the device that `text` names (parse_device). Returns nothing for the CPU. Throws Error if
// there is no such device.
std::optional<Device> open_device(const std::string &text);

// Executes the operator and waits for it. Inputs and outputs are in the operator's order; an absent
// input is null. On a GPU, the arrays are copied to its memory before and back after.
void execute(const Operator &op, const Device *device, const std::vector<const Array *> &inputs,
             std::vector<Array> &outputs);

}  // namespace hewn::cli
