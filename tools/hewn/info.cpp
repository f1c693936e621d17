#include "info.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "device.h"
#include "licenses.h"
#include "variants.h"

namespace hewn::cli {

namespace {
constexpr DeviceKind GPUS[] = {
    DeviceKind::CUDA,
    DeviceKind::OPENCL,
#if defined(_WIN32)
    DeviceKind::D3D12,
#endif
};

// Why this machine has no device of this kind: the library's error message.
std::string absence(DeviceKind kind) {
    hewn_device_info info{};
    info.struct_size = sizeof info;
    hewn_error error{sizeof error, HEWN_STATUS_OK, {}};
    hewn_get_device(static_cast<hewn_device_kind>(kind), 0, &info, &error);
    return error.message;
}

void print_json(const Choice &choice) {
    using json = nlohmann::ordered_json;
    json document = {{"version", version_string()},
                     {"picked", choice.possible ? json(choice.target) : json(nullptr)},
                     {"reason", choice.reason},
                     {"forced", choice.forced.empty() ? json(nullptr) : json(choice.forced)},
                     {"targets", json::array()},
                     {"variants", json::array()},
                     {"devices", json::array()}};
    for (const DeviceKind kind : GPUS)
        for (const hewn_device_info &device : devices(kind))
            document["devices"].push_back(
                {{"device", std::string(kind_name(kind)) + ":" + std::to_string(device.index)},
                 {"name", device.name},
                 {"memory", device.memory},
                 {"is_cpu", device.is_cpu != 0},
                 {"missing", device.missing}});
    for (const hewn_target_info &target : targets())
        document["targets"].push_back(
            {{"name", target.name},
             {"halide_target", target.halide_target},
             {"device", kind_name(static_cast<DeviceKind>(target.device))},
             {"priority", target.priority},
             {"supported", target.supported != 0},
             {"missing", target.missing},
             {"picked", picked_count(choice, target.name) > 0}});
    for (const hewn_variant_info &variant : variants())
        document["variants"].push_back({{"name", variant.name},
                                        {"operator", variant.operator_name},
                                        {"signature", variant.signature},
                                        {"target", variant.target},
                                        {"supported", variant.supported != 0},
                                        {"picked", is_picked(choice, variant)}});
    std::cout << document.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
}

void print_text(const Choice &choice) {
    std::cout << "hewn " << version_string() << "\n\ntargets, in ascending priority\n";
    const size_t kernels = picked_count(choice);
    for (const hewn_target_info &target : targets()) {
        const size_t picked = picked_count(choice, target.name);
        std::cout << "  " << target.name << "  priority " << target.priority << "  "
                  << target.halide_target << "\n      ";
        if (!target.supported) std::cout << "cannot run here: " << lack_of(target);
        else if (picked == kernels && picked > 0)
            std::cout << "runs here; picked: " << reason_of_picks(choice, target);
        else if (picked > 0)
            std::cout << "runs here; picked for " << picked << " of " << kernels
                      << " kernels: " << reason_of_picks(choice, target);
        else if (target.device != HEWN_DEVICE_CPU)
            std::cout << "runs here, with --device "
                      << kind_name(static_cast<DeviceKind>(target.device));
        else std::cout << "runs here";
        std::cout << "\n";
    }
    if (!choice.possible) std::cout << "  nothing is picked: " << choice.reason << "\n";

    std::cout << "\ndevices, beside the CPU (--device)\n";
    for (const DeviceKind kind : GPUS) {
        const std::vector<hewn_device_info> all = devices(kind);
        for (const hewn_device_info &device : all) {
            std::cout << "  " << kind_name(kind) << ":" << device.index << "  " << device.name
                      << ", " << (device.memory >> 20) << " MiB"
                      << (device.is_cpu ? ", software on the CPU" : "")
                      << (device.missing[0] ? ", cannot run hewn: it lacks " : "") << device.missing
                      << "\n";
        }
        if (all.empty())
            std::cout << "  " << kind_name(kind) << ": none; " << absence(kind) << "\n";
    }

    // A line for each kernel (operator and signature), followed by its targets.
    std::cout << "\nvariants, " << hewn_variant_count() << "  (* picked, - cannot run here)\n";
    const std::vector<hewn_variant_info> all = variants();
    for (size_t i = 0; i < all.size(); i++) {
        const std::string kernel = kernel_of(all[i]);
        bool listed = false;
        for (size_t j = 0; j < i; j++) listed |= kernel == kernel_of(all[j]);
        if (listed) continue;
        std::cout << "  " << kernel
                  << std::string(kernel.size() < 32 ? 32 - kernel.size() : 1, ' ');
        for (const hewn_variant_info &variant : all)
            if (kernel == kernel_of(variant))
                std::cout << "  "
                          << (is_picked(choice, variant) ? "*"
                              : variant.supported        ? " "
                                                         : "-")
                          << variant.target;
        std::cout << "\n";
    }
    std::cout << "\nA variant's name is <operator>_<signature>__<target>. Force a target or a "
                 "variant with --variant or "
                 "HEWN_VARIANT.\n";
}
}  // namespace

std::string version_string() {
    const uint32_t version = hewn_version();
    return std::to_string(version >> 16) + "." + std::to_string(version >> 8 & 255) + "." +
           std::to_string(version & 255);
}

void print_info(bool json) {
    const Choice choice = choose_target("");
    if (json) print_json(choice);
    else print_text(choice);
}

void print_licenses() {
    std::cout << "hewn " << version_string() << "\n\n"
              << LICENSE_TEXT << "\n\n"
              << THIRD_PARTY_TEXT << "\n";
}

}  // namespace hewn::cli
