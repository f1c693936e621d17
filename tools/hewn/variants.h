// Which kernels this machine can run, which are picked and which are forced.
#pragma once

#include <hewn/hewn.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace hewn::cli {

struct Choice {
    std::string forced;  // --variant, else HEWN_VARIANT, else empty
    std::string target;  // the target that runs, or most of what runs; empty if nothing can
    std::string reason;  // why, or why nothing
    bool possible = false;
    bool one_variant =
        false;  // `forced` is one variant's full name: only its operator and signature run
    std::set<std::string> picked;  // names of the variants that hewn_compile takes
};

// The choice that hewn_compile will make on a device of that kind, before anything is compiled.
Choice choose_target(const std::string &variant_option, DeviceKind device = DeviceKind::CPU);

// The kernels, "add_f32" and so on, that this build has for the kind of device and the choice
// leaves, each with one variant.
std::map<std::string, hewn_variant_info> kernels_for(const Choice &choice, DeviceKind device);

// True if hewn_compile takes variant `info` under this choice.
bool is_picked(const Choice &choice, const hewn_variant_info &info);

// The targets from which kernels are picked, with their numbers: "x86_64_avx2 (8), x86_64_avx512
// (24)".
std::string picked_targets(const Choice &choice);

// Why a target that is picked for some kernels is picked.
std::string reason_of_picks(const Choice &choice, const hewn_target_info &target);

// "add_f32", ...
std::string kernel_of(const hewn_variant_info &variant);

// What --variant can force: targets, and the variants of one operator's kernels, "quantize_linear",
// or of all.
std::vector<std::string> forcible_names(const std::string &kernels = "");

// The operators that this build has kernels of: "add", ...
std::vector<std::string> operator_names();

// What an unsupported target lacks: "this CPU or its system lacks AVX2".
std::string lack_of(const hewn_target_info &target);

// For how many kernels the target is picked; with an empty name, any target.
size_t picked_count(const Choice &choice, const std::string &target = "");

}  // namespace hewn::cli
