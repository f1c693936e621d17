#include "dispatch.h"

#include <cstdlib>
#include <cstring>

#include "error.h"
#include "probe.h"

// ---- What the build made: variants.inc and targets.inc ----

#define HEWN_FORM(variant, form, ...) extern "C" int hewnk_##variant##__##form##_argv(void **);
#define HEWN_VARIANT(operator_name, signature, target, forms) forms
#include "variants.inc"
#undef HEWN_FORM
#undef HEWN_VARIANT

namespace hewn {

namespace {

#define HEWN_PROBE(feature) \
    if (!HEWN_CPU_SUPPORTS(feature)) return feature;
#define HEWN_TARGET(name, rank, halide_target, probes) \
    const char *missing_##name() { probes return nullptr; }
#include "targets.inc"
#undef HEWN_TARGET
#undef HEWN_PROBE

constexpr Target kTargets[] = {
#define HEWN_TARGET(name, rank, halide_target, probes) {#name, halide_target, rank, missing_##name},
#include "targets.inc"
#undef HEWN_TARGET
};

enum TargetIndex {
#define HEWN_TARGET(name, rank, halide_target, probes) kTarget_##name,
#include "targets.inc"
#undef HEWN_TARGET
};

constexpr uint32_t layout_mask(std::initializer_list<int> layouts) {
    uint32_t mask = 0;
    for (int layout : layouts) mask |= 1u << layout;
    return mask;
}

constexpr Variant kVariants[] = {
#define HEWN_FORM(variant, form, ...) {#form, hewnk_##variant##__##form##_argv, layout_mask({__VA_ARGS__})},
#define HEWN_VARIANT(operator_name, signature, target, forms) \
    {#operator_name "_" #signature "__" #target, #operator_name, #signature, &kTargets[kTarget_##target], {forms}},
#include "variants.inc"
#undef HEWN_FORM
#undef HEWN_VARIANT
};

bool equal(const char *a, const char *b) { return std::strcmp(a, b) == 0; }

bool fits(const Variant &variant, const char *operator_name, const char *signature) {
    return equal(variant.operator_name, operator_name) && equal(variant.signature, signature);
}

// Of the variants that fit and run here the one of the highest rank; null if there is none.
const Variant *best_variant(const char *operator_name, const char *signature) {
    const Variant *best = nullptr;
    for (const Variant &variant : kVariants) {
        if (!fits(variant, operator_name, signature) || variant.target->missing()) continue;
        if (!best || variant.target->rank > best->target->rank) best = &variant;
    }
    return best;
}

}  // namespace

const Form *Variant::form(const char *form_name) const {
    for (const Form &form : forms) {
        if (form.name && equal(form.name, form_name)) return &form;
    }
    return nullptr;
}

hewn_status pick_variant(const char *operator_name, const char *signature, const char *forced, const Variant **variant,
                         hewn_error *error) {
    if (!forced || !*forced) forced = std::getenv("HEWN_VARIANT");
    if (forced && *forced) {
        bool known = false;
        const Variant *found = nullptr;
        for (const Variant &candidate : kVariants) {
            if (equal(forced, candidate.name)) {
                known = true;
                if (fits(candidate, operator_name, signature)) found = &candidate;
            }
        }
        for (const Target &target : kTargets) {
            if (!equal(forced, target.name)) continue;
            known = true;
            for (const Variant &candidate : kVariants) {
                if (candidate.target == &target && fits(candidate, operator_name, signature)) found = &candidate;
            }
        }
        if (!known) {
            return fail(error, HEWN_STATUS_NO_VARIANT, "forced variant '%s' is neither a target nor a variant of this build",
                        forced);
        }
        if (!found) {
            return fail(error, HEWN_STATUS_NO_VARIANT, "forced variant '%s' does not fit: %s needs %s_%s__<target>", forced,
                        operator_name, operator_name, signature);
        }
        if (const char *missing = found->target->missing()) {
            return fail(error, HEWN_STATUS_NO_VARIANT, "forced variant '%s' cannot run here: this CPU or its system lacks %s",
                        found->name, missing);
        }
        *variant = found;
        return HEWN_STATUS_OK;
    }

    *variant = best_variant(operator_name, signature);
    if (*variant) return HEWN_STATUS_OK;
    for (const Variant &candidate : kVariants) {  // the first that fits has the lowest rank
        if (!fits(candidate, operator_name, signature)) continue;
        return fail(error, HEWN_STATUS_NO_VARIANT,
                    "no variant of %s_%s runs on this CPU: even %s needs %s, which it or its system lacks", operator_name,
                    signature, candidate.target->name, candidate.target->missing());
    }
    return fail(error, HEWN_STATUS_UNSUPPORTED, "this build of hewn has no kernel %s_%s: see HEWN_OPERATORS and HEWN_SIGNATURES",
                operator_name, signature);
}

}  // namespace hewn

using namespace hewn;

uint32_t hewn_target_count(void) { return sizeof kTargets / sizeof kTargets[0]; }

hewn_status hewn_get_target(uint32_t index, hewn_target_info *info) {
    if (index >= hewn_target_count() || !info || info->struct_size < sizeof(hewn_target_info))
        return HEWN_STATUS_INVALID_ARGUMENT;
    const Target &target = kTargets[index];
    const char *missing = target.missing();
    info->name = target.name;
    info->halide_target = target.halide_target;
    info->rank = target.rank;
    info->supported = missing ? 0 : 1;
    info->missing = missing ? missing : "";
    return HEWN_STATUS_OK;
}

uint32_t hewn_variant_count(void) { return sizeof kVariants / sizeof kVariants[0]; }

hewn_status hewn_get_variant(uint32_t index, hewn_variant_info *info) {
    if (index >= hewn_variant_count() || !info || info->struct_size < sizeof(hewn_variant_info))
        return HEWN_STATUS_INVALID_ARGUMENT;
    const Variant &variant = kVariants[index];
    info->name = variant.name;
    info->operator_name = variant.operator_name;
    info->signature = variant.signature;
    info->target = variant.target->name;
    info->supported = variant.target->missing() ? 0 : 1;
    info->picked = best_variant(variant.operator_name, variant.signature) == &variant ? 1 : 0;
    return HEWN_STATUS_OK;
}

uint32_t hewn_version(void) { return HEWN_VERSION_MAJOR << 16 | HEWN_VERSION_MINOR << 8 | HEWN_VERSION_PATCH; }
