// Dispatch, and the functions of the C ABI that list targets and variants.
#include "dispatch.h"

#include <cstdio>
#include <cstring>

#include "../base/device_kinds.h"
#include "../base/error.h"
#include "../base/nearest.h"
#include "../base/system.h"
#include "chip.h"
#include "device.h"
#include "probe.h"

namespace hewn {

namespace {

// Returns a compute capability times ten: 75 for 7.5.
[[maybe_unused]] constexpr int32_t tenths(double capability) {
    return int32_t(capability * 10 + 0.5);  // NOLINT(bugprone-incorrect-roundings)
}

// Returns what this machine lacks to run a GPU's target, as hewn_compile would find it on the
// machine's best device of the kind; null if it lacks nothing.
[[maybe_unused]] const char *missing_device(hewn_device_kind kind, int32_t capability,
                                            const char *capability_name) {
    const BestDevice &best = best_device(kind);
    if (best.support.device != kind) return names_of(kind).a_device;
    if (best.support.capability < capability) return capability_name;
    return best.missing[0] ? best.missing : nullptr;
}

#define HEWN_PROBE(feature) \
    if (!HEWN_CPU_SUPPORTS(feature)) return feature;
#define HEWN_TARGET(name, priority, halide_target, probes) \
    const char *missing_##name() { probes return nullptr; }
#define HEWN_GPU_TARGET(name, priority, halide_target, device, capability) \
    const char *missing_##name() { \
        return missing_device(device, tenths(capability), "compute capability " #capability); \
    }
#include "targets.inc"

constexpr uint32_t kTargetCount = 0
#define HEWN_TARGET(name, ...) +1
#define HEWN_GPU_TARGET HEWN_TARGET
#include "targets.inc"
    ;

// A range for loops over an array.
template<class T>
struct Row {
    const T *first;
    uint32_t count;
    const T *begin() const { return first; }
    const T *end() const { return first + count; }
};
Row<Variant> variants() { return {hewn_kernel_table.variants, hewn_kernel_table.variant_count}; }
Row<Target> targets() { return {hewn_targets, kTargetCount}; }

// Whether the program links a kernel for the target.
bool is_linked(const Target &target) {
    for (const Variant &variant : variants()) {
        if (variant.target == &target) return true;
    }
    return false;
}

bool equal(const char *a, const char *b) { return std::strcmp(a, b) == 0; }

// Whether the variant is of that operator and signature.
bool fits(const Variant &variant, const char *operator_name, const char *signature) {
    return equal(variant.operator_name, operator_name) && equal(variant.signature, signature);
}

// Returns the variant with the highest priority on that chip, among those that fit and that `runs`
// accepts; null if there is none.
template<class Runs>
const Variant *best_variant(const char *operator_name, const char *signature, const Chip &chip,
                            const Runs &runs) {
    const Variant *best = nullptr;
    int64_t best_priority = 0;
    for (const Variant &variant : variants()) {
        if (!fits(variant, operator_name, signature) || !runs(*variant.target)) continue;
        const int64_t in_halves =
            traits_of(chip).avx512_in_halves ? variant.plan->priority_in_halves : 0;
        const int64_t priority = in_halves > 0 ? in_halves : variant.target->priority;
        if (best && priority <= best_priority) continue;
        best = &variant;
        best_priority = priority;
    }
    return best;
}

}  // namespace

const Target hewn_targets[] = {
#define HEWN_TARGET(name, priority, halide_target, probes) \
    {#name, halide_target, priority, missing_##name, HEWN_DEVICE_CPU, 0, nullptr},
#define HEWN_GPU_TARGET(name, priority, halide_target, device, capability) \
    {#name, \
     halide_target, \
     priority, \
     missing_##name, \
     device, \
     tenths(capability), \
     "compute capability " #capability},
#include "targets.inc"
};

const Form *Variant::form(const char *form_name) const {
    for (const Form &form : forms) {
        if (form.name && equal(form.name, form_name)) return &form;
    }
    return nullptr;
}

const Target *least_target(hewn_device_kind kind) {
    const Target *least = nullptr;
    for (const Target &target : targets()) {
        if (target.device == kind && (!least || target.capability < least->capability) &&
            is_linked(target))
            least = &target;
    }
    return least;
}

const char *kernels_are_of() {
    return hewn_kernel_table.chosen_by ? "this program links" : "this build of hewn has";
}
const char *kernels_chosen_by() {
    const char *chosen_by = hewn_kernel_table.chosen_by;
    return chosen_by ? chosen_by : "HEWN_OPERATORS, HEWN_SIGNATURES and HEWN_TARGETS";
}

const char *Support::missing(const Target &target) const {
    if (target.device != device)
        return target.device == HEWN_DEVICE_CPU ? names_of(target.device).a_device
                                                : "a device of its kind";
    if (device == HEWN_DEVICE_CPU) return target.missing();
    return capability < target.capability ? target.capability_name : nullptr;
}

namespace {

// Picks the forced variant. `by`, which says what forced it, begins messages.
hewn_status pick_forced(const char *operator_name, const char *signature, const char *forced,
                        const char *by, const Support &support, const Variant **variant,
                        hewn_error *error) {
    const Variant *named = nullptr;
    const Target *forced_target = nullptr;
    for (const Variant &candidate : variants()) {
        if (equal(forced, candidate.name)) named = &candidate;
    }
    for (const Target &target : targets()) {
        if (named ? named->target == &target : equal(forced, target.name) && is_linked(target))
            forced_target = &target;
    }
    if (!forced_target) {
        // Only names that would run this operator on this device are suggested.
        Nearest nearest(forced);
        for (const Target &target : targets()) {
            if (target.device == support.device && is_linked(target)) nearest.consider(target.name);
        }
        for (const Variant &candidate : variants()) {
            if (candidate.target->device == support.device &&
                fits(candidate, operator_name, signature))
                nearest.consider(candidate.name);
        }
        if (nearest.name()) {
            return fail(error, HEWN_STATUS_NO_VARIANT,
                        "%s '%s' is neither a target nor a variant of this build; did you mean %s?",
                        by, forced, nearest.name());
        }
        char names[256] = "";
        size_t length = 0;
        for (const Target &target : targets()) {
            if (is_linked(target) && length < sizeof names)
                length +=
                    size_t(snprintf(names + length, sizeof names - length, " %s", target.name));
        }
        return fail(error, HEWN_STATUS_NO_VARIANT,
                    "%s '%s' is neither a target nor a variant of this build; its targets:%s", by,
                    forced, names);
    }
    if (named && !fits(*named, operator_name, signature)) {
        return fail(error, HEWN_STATUS_NO_VARIANT, "%s '%s' does not fit: %s needs %s_%s__<target>",
                    by, forced, operator_name, operator_name, signature);
    }
    if (forced_target->device != support.device) {
        return fail(error, HEWN_STATUS_NO_VARIANT,
                    "%s '%s' cannot run here: it is for %s, the device is %s", by, forced,
                    names_of(forced_target->device).name, names_of(support.device).name);
    }
    if (const char *missing = support.missing(*forced_target)) {
        return fail(error, HEWN_STATUS_NO_VARIANT, "%s '%s' cannot run here: this %s lacks %s", by,
                    forced, support.device == HEWN_DEVICE_CPU ? "CPU or its system" : "device",
                    missing);
    }
    // A build has a kernel for each of its targets, except for those targets that leave the kernel
    // to a lower target (`only` in lists/targets.py).
    const auto not_above = [&](const Target &target) {
        return target.priority <= forced_target->priority && !support.missing(target);
    };
    *variant = named ? named : best_variant(operator_name, signature, Chip{}, not_above);
    if (*variant) return HEWN_STATUS_OK;
    return fail(error, HEWN_STATUS_NO_VARIANT,
                "%s '%s' has no kernel %s_%s, nor has a target below it that runs here: see %s", by,
                forced, operator_name, signature, kernels_chosen_by());
}

}  // namespace

hewn_status pick_variant(const char *operator_name, const char *signature, const char *forced,
                         const Support &support, const Chip &chip, const Variant **variant,
                         hewn_error *error) {
    const char *by = "forced variant";
    char environment[256];
    if (!forced || !*forced) {
        forced = environment_variable("HEWN_VARIANT", environment, sizeof environment);
        by = "forced variant (the environment's HEWN_VARIANT)";
    }
    if (forced && *forced)
        return pick_forced(operator_name, signature, forced, by, support, variant, error);

    *variant = best_variant(operator_name, signature, chip,
                            [&](const Target &target) { return !support.missing(target); });
    if (*variant) return HEWN_STATUS_OK;
    for (const Variant &candidate : variants()) {  // the first that fits has the lowest priority
        if (!fits(candidate, operator_name, signature) ||
            candidate.target->device != support.device)
            continue;
        return fail(
            error, HEWN_STATUS_NO_VARIANT,
            "no variant of %s_%s runs on this %s: even %s needs %s, which it or its system lacks",
            operator_name, signature, support.device == HEWN_DEVICE_CPU ? "CPU" : "device",
            candidate.target->name, support.missing(*candidate.target));
    }
    return fail(error, HEWN_STATUS_UNSUPPORTED, "%s no kernel %s_%s for %s: see %s",
                kernels_are_of(), operator_name, signature, names_of(support.device).name,
                kernels_chosen_by());
}

}  // namespace hewn

using namespace hewn;

uint32_t hewn_target_count(void) {
    uint32_t count = 0;
    for (const Target &target : targets()) count += is_linked(target) ? 1 : 0;
    return count;
}

hewn_status hewn_get_target(uint32_t index, hewn_target_info *info) {
    if (index >= hewn_target_count() || !info || info->struct_size < sizeof *info)
        return HEWN_STATUS_INVALID_ARGUMENT;
    const Target *linked = hewn_targets;
    while (!is_linked(*linked) || index-- > 0) linked++;
    const Target &target = *linked;
    const char *missing = target.missing();
    info->name = target.name;
    info->halide_target = target.halide_target;
    info->priority = target.priority;
    info->supported = missing ? 0 : 1;
    info->missing = missing ? missing : "";
    info->device = target.device;
    return HEWN_STATUS_OK;
}

uint32_t hewn_variant_count(void) { return hewn_kernel_table.variant_count; }

hewn_status hewn_get_variant(uint32_t index, hewn_variant_info *info) {
    if (index >= hewn_variant_count() || !info || info->struct_size < sizeof *info)
        return HEWN_STATUS_INVALID_ARGUMENT;
    const Variant &variant = hewn_kernel_table.variants[index];
    info->name = variant.name;
    info->operator_name = variant.operator_name;
    info->signature = variant.signature;
    info->target = variant.target->name;
    info->supported = variant.target->missing() ? 0 : 1;
    const auto runs = [&](const Target &target) {
        return target.device == variant.target->device && !target.missing();
    };
    info->picked =
        best_variant(variant.operator_name, variant.signature, this_chip(), runs) == &variant ? 1
                                                                                              : 0;
    info->device = variant.target->device;
    return HEWN_STATUS_OK;
}

uint32_t hewn_version(void) {
    return HEWN_VERSION_MAJOR << 16 | HEWN_VERSION_MINOR << 8 | HEWN_VERSION_PATCH;
}
