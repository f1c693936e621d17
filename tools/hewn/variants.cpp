#include "variants.h"

#include <algorithm>
#include <cstdlib>

#include "names.h"

namespace hewn::cli {

std::string kernel_of(const hewn_variant_info &variant) {
    return std::string(variant.operator_name) + "_" + variant.signature;
}

std::vector<std::string> forcible_names(const std::string &kernels) {
    std::vector<std::string> names;
    for (const hewn_target_info &target : targets()) names.push_back(target.name);
    for (const hewn_variant_info &variant : variants())
        if (kernels.empty() || kernels == variant.operator_name) names.push_back(variant.name);
    return names;
}

std::vector<std::string> operator_names() {
    std::set<std::string> names;
    for (const hewn_variant_info &variant : variants()) names.insert(variant.operator_name);
    return {names.begin(), names.end()};
}

std::string lack_of(const hewn_target_info &target) {
    return (target.device == HEWN_DEVICE_CPU ? "this CPU or its system lacks "
                                             : "this machine lacks ") +
           std::string(target.missing);
}

namespace {
// The variants that are picked if this target is forced. For each kernel, it is the variant of the
// highest priority, among this target and the supported ones of lower priority.
std::set<std::string> picked_up_to(const hewn_target_info &forced) {
    std::map<std::string, std::string> names;
    for (const hewn_target_info &target : targets()) {  // in ascending priority: the last one wins
        if (target.device != forced.device || !target.supported ||
            target.priority > forced.priority)
            continue;
        for (const hewn_variant_info &variant : variants())
            if (std::string(variant.target) == target.name)
                names[kernel_of(variant)] = variant.name;
    }
    std::set<std::string> picked;
    for (const auto &[kernel, name] : names) picked.insert(name);
    return picked;
}

// Why a forced target runs, or why it does not. The text continues "--variant NAME".
std::string reason_of(const Choice &choice, const hewn_target_info &target) {
    if (!target.supported) return " cannot run here: " + lack_of(target);
    if (!choice.possible) return " is for another --device";
    const bool alone = picked_count(choice, target.name) == choice.picked.size();
    return alone ? " forces it" : " forces it, and those below it where it has no kernel";
}

// A suggestion for a mistyped name, as the library makes it: a target or variant of the device with
// a similar name, or the list of all targets.
std::string suggested_variant(const std::string &forced, DeviceKind device) {
    std::vector<std::string> names, listed;
    for (const hewn_target_info &target : targets()) {
        listed.push_back(target.name);
        if (DeviceKind(target.device) == device) names.push_back(target.name);
    }
    for (const hewn_variant_info &variant : variants())
        if (DeviceKind(variant.device) == device) names.push_back(variant.name);
    return suggestion(forced, names, listed);
}

// The choice when a target or a variant is forced. `by` says how: "--variant " or "HEWN_VARIANT=".
Choice forced_choice(const std::string &forced, const std::string &by, DeviceKind device) {
    Choice choice;
    choice.forced = forced;
    std::string name = forced;
    for (const hewn_variant_info &variant : variants()) {
        if (forced != variant.name) continue;
        name = variant.target;
        choice.one_variant = true;
    }
    for (const hewn_target_info &target : targets()) {
        if (name != target.name) continue;
        choice.possible =
            target.supported && target.device == static_cast<hewn_device_kind>(device);
        if (choice.possible) {
            choice.target = target.name;
            choice.picked = choice.one_variant ? std::set{forced} : picked_up_to(target);
        }
        choice.reason = by + forced + reason_of(choice, target);
    }
    if (choice.reason.empty())
        choice.reason = by + forced + " is neither a target nor a variant of this build" +
                        suggested_variant(forced, device);
    return choice;
}

// The choice when nothing is forced.
Choice best_choice(DeviceKind device) {
    Choice choice;
    // In ascending priority. Some targets have only a few kernels.
    std::vector<hewn_target_info> all = targets();
    const auto other = [&](const hewn_target_info &target) {
        return target.device != static_cast<hewn_device_kind>(device);
    };
    all.erase(std::remove_if(all.begin(), all.end(), other), all.end());
    std::map<std::string, size_t> kernels;
    for (const hewn_variant_info &variant : variants()) {
        kernels[variant.target] += size_t(variant.picked);
        if (variant.picked && variant.device == static_cast<hewn_device_kind>(device))
            choice.picked.insert(variant.name);
    }
    size_t most = 1;
    for (const hewn_target_info &target : all) {
        if (kernels[target.name] < most) continue;
        most = kernels[target.name];
        choice.target = target.name;
    }
    choice.possible = !choice.target.empty();
    if (choice.possible)
        choice.reason =
            "the target of the highest priority that has the kernel and runs here, except where "
            "one of "
            "lower priority is faster on this chip";
    else if (all.empty()) choice.reason = "this build has no targets for this device";
    else
        choice.reason = "no target of this build runs here; of " + std::string(all[0].name) + ": " +
                        lack_of(all[0]);
    return choice;
}
}  // namespace

Choice choose_target(const std::string &variant_option, DeviceKind device) {
    if (!variant_option.empty()) return forced_choice(variant_option, "--variant ", device);
    const char *environment = std::getenv("HEWN_VARIANT");
    if (environment && *environment) return forced_choice(environment, "HEWN_VARIANT=", device);
    return best_choice(device);
}

std::map<std::string, hewn_variant_info> kernels_for(const Choice &choice, DeviceKind device) {
    std::map<std::string, hewn_variant_info> kernels;
    for (const hewn_variant_info &variant : variants()) {
        if (variant.device != static_cast<hewn_device_kind>(device)) continue;
        if (!choice.forced.empty() && !is_picked(choice, variant)) continue;
        kernels.emplace(kernel_of(variant), variant);
    }
    return kernels;
}

std::string picked_targets(const Choice &choice) {
    std::string text;
    for (const hewn_target_info &target : targets()) {
        const size_t kernels = picked_count(choice, target.name);
        if (kernels != 0)
            text += (text.empty() ? "" : ", ") + std::string(target.name) + " (" +
                    std::to_string(kernels) + ")";
    }
    return text;
}

std::string reason_of_picks(const Choice &choice, const hewn_target_info &target) {
    if (!choice.forced.empty()) return choice.reason;
    // Kernels that some supported target of higher priority has too.
    std::set<std::string> above;
    for (const hewn_target_info &other : targets()) {
        if (other.device != target.device || !other.supported || other.priority <= target.priority)
            continue;
        for (const hewn_variant_info &variant : variants())
            if (std::string(variant.target) == other.name) above.insert(kernel_of(variant));
    }
    bool highest = false, faster = false;
    for (const hewn_variant_info &variant : variants()) {
        if (std::string(variant.target) != target.name || !is_picked(choice, variant)) continue;
        (above.count(kernel_of(variant)) ? faster : highest) = true;
    }
    const std::string by_priority =
        "the target of the highest priority that has the kernel and runs here";
    const std::string by_speed = "faster on this chip than those of higher priority";
    return !faster ? by_priority : !highest ? by_speed : by_priority + ", or " + by_speed;
}

bool is_picked(const Choice &choice, const hewn_variant_info &info) {
    return choice.picked.count(info.name) > 0;
}

size_t picked_count(const Choice &choice, const std::string &target) {
    size_t count = 0;
    for (const hewn_variant_info &variant : variants())
        count += is_picked(choice, variant) && (target.empty() || target == variant.target);
    return count;
}

}  // namespace hewn::cli
