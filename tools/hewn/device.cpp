#include "device.h"

#include <charconv>

#include "../../runtime/base/device_kinds.h"

namespace hewn::cli {

const char *kind_name(DeviceKind kind) {
    return names_of(static_cast<hewn_device_kind>(kind)).word;
}

std::string kind_names(const std::string &conjunction) {
    std::string text;
    int left = kDeviceKindCount;
    for (const DeviceKindNames &names : kDeviceKinds) {
        text += names.word;
        if (--left) text += left == 1 ? " " + conjunction + " " : ", ";
    }
    return text;
}

std::vector<std::string> kind_words() {
    std::vector<std::string> words;
    for (const DeviceKindNames &names : kDeviceKinds) words.push_back(names.word);
    return words;
}

DeviceName parse_device(const std::string &text) {
    const size_t colon = text.find(':');
    for (const DeviceKindNames &names : kDeviceKinds) {
        if (text.substr(0, colon) != names.word) continue;
        DeviceName name{static_cast<DeviceKind>(names.kind)};
        const char *begin = text.data() + (colon == std::string::npos ? text.size() : colon + 1),
                   *end = text.data() + text.size();
        if (colon == std::string::npos) return name;
        const auto [rest, error] = std::from_chars(begin, end, name.index);
        if (error == std::errc() && rest == end && name.index != HEWN_ANY_DEVICE) return name;
    }
    throw InputError("--device: " + text + " is none of " + kind_names("and") +
                     ", with an index where there are several: cuda:1");
}

std::optional<Device> open_device(const std::string &text) {
    const DeviceName name = text.empty() ? DeviceName() : parse_device(text);
    if (name.kind == DeviceKind::CPU && (name.index == 0 || name.index == HEWN_ANY_DEVICE))
        return std::nullopt;
    return Device::open(name.kind, name.index);
}

void execute(const Operator &op, const Device *device, const std::vector<const Array *> &inputs,
             std::vector<Array> &outputs) {
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
    const size_t first = copies.size();
    std::vector<Binding> results;
    for (const Array &output : outputs)
        results.push_back(
            !output.data ? Binding(nullptr, 0)  // the operator does not write it
            : device     ? Binding(copies.emplace_back(*device, output.bytes).get(), output.bytes)
                         : output.binding());
    op.execute(bindings.data(), bindings.size(), results.data(), results.size());
    size_t copy = first;
    for (Array &output : outputs)
        if (device && output.data) copies[copy++].read(output.data.get(), output.bytes);
}

}  // namespace hewn::cli
