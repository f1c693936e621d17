// Which variants this machine can run, and which of them hewn_compile picks or is forced to take.
// The commands use it to explain the choice, and to know which cases can run.
#pragma once

#include <hewn/hewn.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace hewn::cli {

struct Choice {
    // The value of --variant, or else of HEWN_VARIANT. Empty: nothing is forced.
    std::string forced;
    // The target that is picked for most kernels. Empty: none can run.
    std::string target;
    // Why these variants are picked, or why none can be.
    std::string reason;
    bool possible = false;
    // Whether `forced` is the full name of one variant, so that only its operator and signature
    // run.
    bool one_variant = false;
    // The names of the variants that hewn_compile takes.
    std::set<std::string> picked;
};

// Predicts the choice that hewn_compile makes on a device of that kind. `variant_option` is the
// value of --variant.
Choice choose_target(const std::string &variant_option, DeviceKind device = DeviceKind::CPU);

// The kernels that can run under this choice on that kind of device, by name ("add_f32"). Each
// comes with one of its variants.
std::map<std::string, hewn_variant_info> kernels_for(const Choice &choice, DeviceKind device);

// Whether hewn_compile takes variant `info` under this choice.
bool is_picked(const Choice &choice, const hewn_variant_info &info);

// The targets that are picked, each with its number of kernels: "x86_64_avx2 (8), x86_64_avx512
// (24)".
std::string picked_targets(const Choice &choice);

// Why the target is picked, for the kernels for which it is.
std::string reason_of_picks(const Choice &choice, const hewn_target_info &target);

// The name of the variant's kernel: "add_f32".
std::string kernel_of(const hewn_variant_info &variant);

// The names that --variant takes: all targets, and the variants of the operator `kernels`
// ("quantize_linear"), or of all operators if it is empty.
std::vector<std::string> forcible_names(const std::string &kernels = "");

// The operators of which this build has kernels: "add" and so on.
std::vector<std::string> operator_names();

// What an unsupported target lacks: "this CPU or its system lacks AVX2".
std::string lack_of(const hewn_target_info &target);

// The number of kernels for which the target is picked. With an empty name: for which any is.
size_t picked_count(const Choice &choice, const std::string &target = "");

}  // namespace hewn::cli
