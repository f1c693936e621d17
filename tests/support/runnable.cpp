// Asks the library which targets and variants it has, and which of them this machine can run.
#include "runnable.h"

#include <algorithm>
#include <map>

#include "../../reference/operators.h"
#include "../../reference/variants.h"

namespace hewn_test {

std::optional<hewn_variant_info> find_variant(const std::string &name) {
    for (uint32_t i = 0; i < hewn_variant_count(); i++) {
        hewn_variant_info info{};
        info.struct_size = sizeof info;
        if (hewn_get_variant(i, &info) == HEWN_STATUS_OK && name == info.name) return info;
    }
    return std::nullopt;
}

std::vector<hewn_target_info> targets() {
    std::vector<hewn_target_info> result;
    for (uint32_t i = 0; i < hewn_target_count(); i++) {
        hewn_target_info info{};
        info.struct_size = sizeof info;
        if (hewn_get_target(i, &info) == HEWN_STATUS_OK) result.push_back(info);
    }
    return result;
}

std::vector<std::string> runnable_variants(const std::string &operator_name,
                                           const std::string &signature) {
    std::vector<std::string> names;
    for (const Variant &variant : built_variants()) {
        if (variant.operator_name != operator_name || variant.signature != signature) continue;
        const auto info = find_variant(variant.name);
        if (info && info->supported) names.push_back(variant.name);
    }
    return names;
}

std::vector<Variant> runnable_dynamic_variants(const std::string &operator_name) {
    std::vector<Variant> variants;
    for (const Variant &variant : variants_of(operator_name)) {
        const auto info = find_variant(variant.name);
        if (variant.device() == HEWN_DEVICE_CPU && info && info->supported)
            variants.push_back(variant);
    }
    return variants;
}

namespace {

constexpr const char *BLOCK_OPERATORS[] = {"dynamic_quantize", "mx_quantize", "nvfp4_quantize"};

// The variants that `list` returns for each of these operators.
template<class List>
std::vector<Variant> of_block_operators(const List &list) {
    std::vector<Variant> all;
    for (const char *op : BLOCK_OPERATORS)
        for (const Variant &variant : list(op)) all.push_back(variant);
    return all;
}

}  // namespace

std::vector<Variant> block_variants() { return of_block_operators(variants_of); }
std::vector<Variant> runnable_block_variants() {
    return of_block_operators(runnable_dynamic_variants);
}

const std::vector<std::string> &runnable_signatures(const std::string &operator_name) {
    // The answer is kept, because finding it takes longer than most problems, and some tests make
    // thousands of problems.
    static const std::map<std::string, std::vector<std::string>> all = [] {
        std::map<std::string, std::vector<std::string>> found;
        for (const OperatorFacts &op : all_operators()) found[op.name];
        for (const Variant &variant : built_variants()) {
            std::vector<std::string> &signatures = found[variant.operator_name];
            const auto known = std::find(signatures.begin(), signatures.end(), variant.signature);
            if (known != signatures.end()) continue;
            const auto info = find_variant(variant.name);
            if (info && info->supported) signatures.push_back(variant.signature);
        }
        return found;
    }();
    return all.at(operator_name);
}

}  // namespace hewn_test
