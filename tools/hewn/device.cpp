#include "device.h"

#include <charconv>

namespace hewn::cli {

namespace {
constexpr DeviceKind KINDS[] = {DeviceKind::CPU, DeviceKind::CUDA, DeviceKind::OPENCL, DeviceKind::D3D12};
}

const char *kind_name(DeviceKind kind) {
    return kind == DeviceKind::CUDA     ? "cuda"
           : kind == DeviceKind::OPENCL ? "opencl"
           : kind == DeviceKind::D3D12  ? "d3d12"
                                        : "cpu";
}

DeviceName parse_device(const std::string &text) {
    const size_t colon = text.find(':');
    for (const DeviceKind kind : KINDS) {
        if (text.substr(0, colon) != kind_name(kind)) continue;
        DeviceName name{kind};
        const char *begin = text.data() + (colon == std::string::npos ? text.size() : colon + 1),
                   *end = text.data() + text.size();
        if (colon == std::string::npos) return name;
        const auto [rest, error] = std::from_chars(begin, end, name.index);
        if (error == std::errc() && rest == end && name.index != HEWN_ANY_DEVICE) return name;
    }
    throw InputError("--device: " + text +
                     " is none of cpu, cuda, opencl and d3d12, with an index where there are several: cuda:1");
}

std::optional<Device> open_device(const std::string &text) {
    const DeviceName name = text.empty() ? DeviceName() : parse_device(text);
    if (name.kind == DeviceKind::CPU && (name.index == 0 || name.index == HEWN_ANY_DEVICE)) return std::nullopt;
    return Device::open(name.kind, name.index);
}

void execute(const Operator &op, const Device *device, const std::vector<const Array *> &inputs, Array &output) {
    std::vector<DeviceMemory> copies;
    std::vector<InputBinding> bindings;
    for (const Array *input : inputs) {
        if (input && device) {
            copies.emplace_back(*device, input->bytes).write(input->data.get(), input->bytes);
            bindings.push_back(InputBinding(copies.back().get(), input->bytes));
        } else {
            bindings.push_back(input ? InputBinding(input->binding()) : InputBinding(nullptr));
        }
    }
    Binding result = output.binding();
    if (device) result = Binding(copies.emplace_back(*device, output.bytes).get(), output.bytes);
    op.execute(bindings.data(), bindings.size(), &result, 1);
    if (device) copies.back().read(output.data.get(), output.bytes);
}

}  // namespace hewn::cli
