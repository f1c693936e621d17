// The variants of this build: the lines of variants.inc.
#ifndef HEWN_TESTS_VARIANTS_H
#define HEWN_TESTS_VARIANTS_H

#include <hewn/hewn.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "operators.h"
#include "types.h"

namespace hewn_test {

// What a target's or variant's name is for. From the list of targets: asking the library loads a GPU's driver.
inline hewn_device_kind kind_of_variant(const char *variant) {
    static const std::map<std::string, hewn_device_kind> kinds = {
#define HEWN_PROBE(...)
#define HEWN_TARGET(name, ...) {#name, HEWN_DEVICE_CPU},
#define HEWN_GPU_TARGET(name, rank, halide_target, device, capability) {#name, device},
#include "targets.inc"
#undef HEWN_GPU_TARGET
#undef HEWN_TARGET
#undef HEWN_PROBE
    };
    const std::string name = variant ? variant : "";
    const size_t separator = name.rfind("__");
    const auto found = kinds.find(separator == std::string::npos ? name : name.substr(separator + 2));
    return found == kinds.end() ? hewn_device_kind(HEWN_DEVICE_CPU) : found->second;
}

struct Variant {
    std::string name, operator_name, signature, target;

    hewn_operator_type op() const { return parse_operator(operator_name); }
    std::vector<hewn_data_type> types() const { return operand_types(op(), signature); }
    // The public types that run on this kernel: unsigned integers share ADD's signed ones.
    std::vector<std::vector<hewn_data_type>> all_types() const {
        std::vector<std::vector<hewn_data_type>> all{types()};
        const hewn_data_type twin = unsigned_twin(all[0][0]);
        if (op() == HEWN_OPERATOR_ADD && twin != all[0][0]) all.push_back({twin, twin, twin});
        return all;
    }
    hewn_device_kind device() const { return kind_of_variant(target.c_str()); }
    friend std::ostream &operator<<(std::ostream &out, const Variant &variant) { return out << variant.name; }
};

inline const std::vector<Variant> &all_variants() {
    static const std::vector<Variant> variants = {
#define HEWN_FORM(...)
#define HEWN_VARIANT(op, signature, target, ...) {#op "_" #signature "__" #target, #op, #signature, #target},
#include "variants.inc"
#undef HEWN_VARIANT
#undef HEWN_FORM
    };
    return variants;
}

// Each variant's plan knobs: the lines of plans.inc.
inline const std::map<std::string, std::map<std::string, int64_t>> &plan_knobs() {
    static const std::map<std::string, std::map<std::string, int64_t>> knobs = {
#define HEWN_PLAN_KNOB(knob, value) {#knob, value},
#define HEWN_PLAN(variant, knobs) {#variant, {knobs}},
#include "plans.inc"
#undef HEWN_PLAN
#undef HEWN_PLAN_KNOB
    };
    return knobs;
}

// Those for the CPU.
inline const std::vector<Variant> &built_variants() {
    static const std::vector<Variant> variants = [] {
        std::vector<Variant> result;
        for (const Variant &variant : all_variants()) {
            if (variant.device() == HEWN_DEVICE_CPU) result.push_back(variant);
        }
        return result;
    }();
    return variants;
}

inline std::vector<Variant> variants_of(const std::string &operator_name) {
    std::vector<Variant> result;
    for (const Variant &variant : all_variants()) {
        if (variant.operator_name == operator_name) result.push_back(variant);
    }
    return result;
}

inline std::optional<hewn_variant_info> find_variant(const std::string &name) {
    for (uint32_t i = 0; i < hewn_variant_count(); i++) {
        hewn_variant_info info{};
        info.struct_size = sizeof info;
        if (hewn_get_variant(i, &info) == HEWN_STATUS_OK && name == info.name) return info;
    }
    return std::nullopt;
}

inline std::vector<hewn_target_info> targets() {
    std::vector<hewn_target_info> result;
    for (uint32_t i = 0; i < hewn_target_count(); i++) {
        hewn_target_info info{};
        info.struct_size = sizeof info;
        if (hewn_get_target(i, &info) == HEWN_STATUS_OK) result.push_back(info);
    }
    return result;
}

// Whether the target has kernels of the operator: some have one operator's alone.
inline bool holds(const std::string &target, const std::string &operator_name) {
    const auto &all = built_variants();
    return std::any_of(all.begin(), all.end(), [&](const Variant &variant) {
        return variant.target == target && variant.operator_name == operator_name;
    });
}

// Names of the targets with kernels of the operator that this machine's CPU can run, in ascending rank.
inline std::vector<std::string> runnable_targets(const std::string &operator_name) {
    std::vector<std::string> names;
    for (const hewn_target_info &target : targets()) {
        if (target.supported && target.device == HEWN_DEVICE_CPU && holds(target.name, operator_name))
            names.push_back(target.name);
    }
    return names;
}

// Of `signature`, one name for each target that this machine's CPU can run and that holds it.
inline std::vector<std::string> runnable_variants(const std::string &operator_name, const std::string &signature) {
    std::vector<std::string> names;
    for (const Variant &variant : built_variants()) {
        if (variant.operator_name != operator_name || variant.signature != signature) continue;
        const auto info = find_variant(variant.name);
        if (info && info->supported) names.push_back(variant.name);
    }
    return names;
}

// Of an operator, the signatures that have such a name, in the order of variants.inc.
inline std::vector<std::string> runnable_signatures(const std::string &operator_name) {
    std::vector<std::string> signatures;
    for (const Variant &variant : built_variants()) {
        if (variant.operator_name != operator_name || runnable_variants(operator_name, variant.signature).empty()) continue;
        if (std::find(signatures.begin(), signatures.end(), variant.signature) == signatures.end())
            signatures.push_back(variant.signature);
    }
    return signatures;
}

}  // namespace hewn_test

#endif  // HEWN_TESTS_VARIANTS_H
