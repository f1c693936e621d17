#include "variants.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace hewn::cli {

namespace {
std::string kernel_of(const hewn_variant_info &variant) { return std::string(variant.operator_name) + "_" + variant.signature; }

// With a forced target: of it and those below it, each kernel's of the highest rank.
std::set<std::string> picked_up_to(const hewn_target_info &forced) {
    std::map<std::string, std::string> names;
    for (const hewn_target_info &target : targets()) {  // in ascending rank
        if (target.device != forced.device || !target.supported || target.rank > forced.rank) continue;
        for (const hewn_variant_info &variant : variants())
            if (std::string(variant.target) == target.name) names[kernel_of(variant)] = variant.name;
    }
    std::set<std::string> picked;
    for (const auto &[kernel, name] : names) picked.insert(name);
    return picked;
}
}  // namespace

Choice choose_target(const std::string &variant_option, DeviceKind device) {
    Choice choice;
    const char *environment = std::getenv("HEWN_VARIANT");
    choice.forced = !variant_option.empty() ? variant_option : environment ? environment : "";
    const std::string by = !variant_option.empty() ? "--variant " : "HEWN_VARIANT=";
    std::vector<hewn_target_info> all = targets();

    if (!choice.forced.empty()) {
        std::string name = choice.forced;
        for (const hewn_variant_info &variant : variants())
            if (choice.forced == variant.name) name = variant.target, choice.one_variant = true;
        std::string known;
        for (const hewn_target_info &target : all) {
            known += std::string(" ") + target.name;
            if (name != target.name) continue;
            choice.possible = target.supported && target.device == static_cast<hewn_device_kind>(device);
            if (choice.possible) {
                choice.target = target.name;
                choice.picked = choice.one_variant ? std::set{choice.forced} : picked_up_to(target);
            }
            choice.reason =
                by + choice.forced +
                (choice.possible    ? picked_count(choice, target.name) == choice.picked.size()
                                          ? " forces it"
                                          : " forces it, and those below it where it has no kernel"
                 : target.supported ? " is for another --device"
                                    : std::string(" cannot run here: this CPU or its system lacks ") + target.missing);
        }
        if (choice.reason.empty())
            choice.reason = by + choice.forced + " is neither a target (" + known.substr(known.empty() ? 0 : 1) +
                            ") nor a variant of this build (hewn info lists them)";
        return choice;
    }

    const auto other = [&](const hewn_target_info &target) { return target.device != static_cast<hewn_device_kind>(device); };
    all.erase(std::remove_if(all.begin(), all.end(), other), all.end());
    // In ascending rank; one may have a few kernels alone.
    std::map<std::string, size_t> kernels;
    for (const hewn_variant_info &variant : variants()) {
        kernels[variant.target] += size_t(variant.picked);
        if (variant.picked && variant.device == static_cast<hewn_device_kind>(device)) choice.picked.insert(variant.name);
    }
    size_t most = 1;
    for (const hewn_target_info &target : all) {
        if (kernels[target.name] < most) continue;
        most = kernels[target.name];
        choice.target = target.name;
    }
    choice.possible = !choice.target.empty();
    if (choice.possible) choice.reason = "the highest rank that has the kernel and runs here";
    else if (all.empty()) choice.reason = "this build has no targets for this device";
    else
        choice.reason = std::string("no target of this build runs here: even ") + all[0].name + " needs " + all[0].missing +
                        ", which this CPU or its system lacks";
    return choice;
}

std::set<std::string> runnable_kernels(const Choice &choice, DeviceKind device) {
    std::set<std::string> kernels;
    for (const hewn_variant_info &variant : variants()) {
        if (variant.device != static_cast<hewn_device_kind>(device)) continue;
        if (!choice.forced.empty() && !is_picked(choice, variant)) continue;
        kernels.insert(kernel_of(variant));
    }
    return kernels;
}

bool is_picked(const Choice &choice, const hewn_variant_info &info) { return choice.picked.count(info.name) > 0; }

size_t picked_count(const Choice &choice, const std::string &target) {
    size_t count = 0;
    for (const hewn_variant_info &variant : variants())
        count += is_picked(choice, variant) && (target.empty() || target == variant.target);
    return count;
}

}  // namespace hewn::cli
