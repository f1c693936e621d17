// Which kernels run: what this machine can, what is picked, what is forced.
#ifndef HEWN_TOOLS_VARIANTS_H
#define HEWN_TOOLS_VARIANTS_H

#include <hewn/hewn.hpp>
#include <map>
#include <set>
#include <string>

namespace hewn::cli {

struct Choice {
    std::string forced;  // --variant, else HEWN_VARIANT, else empty
    std::string target;  // what runs, or most of what runs; empty if nothing can
    std::string reason;  // why, or why nothing
    bool possible = false;
    bool one_variant = false;      // `forced` is one variant's full name: only its operator and signature run
    std::set<std::string> picked;  // names of the variants that hewn_compile takes
};

// As hewn_compile will choose on a device of that kind, told before anything is compiled.
Choice choose_target(const std::string &variant_option, DeviceKind device = DeviceKind::CPU);

// The kernels that this build has for that kind of device and this choice leaves, "add_f32", ..., each with one of its variants.
std::map<std::string, hewn_variant_info> kernels_for(const Choice &choice, DeviceKind device);

// True if variant `info` is what hewn_compile takes under this choice.
bool is_picked(const Choice &choice, const hewn_variant_info &info);

// The targets that kernels are picked from, with their numbers: "x86_64_avx2 (8), x86_64_avx512 (24)".
std::string picked_targets(const Choice &choice);

// Why the target, which is picked for some kernels, is.
std::string reason_of_picks(const Choice &choice, const hewn_target_info &target);

// "add_f32", ...
std::string kernel_of(const hewn_variant_info &variant);

// What a target that is not supported lacks: "this CPU or its system lacks AVX2".
std::string lack_of(const hewn_target_info &target);

// How many kernels the target is picked for; of all targets for an empty name.
size_t picked_count(const Choice &choice, const std::string &target = "");

}  // namespace hewn::cli

#endif  // HEWN_TOOLS_VARIANTS_H
