// The variants of this build: listing them, probing the machine, picking one or taking the forced
// one.
#pragma once

#include <hewn/hewn.h>

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "knobs.h"

// For declarations of kernels: no other library may use or replace them, which Halide's objects do
// not say themselves.
#if defined(__ELF__)
#define HEWN_HIDDEN __attribute__((visibility("hidden")))
#else
#define HEWN_HIDDEN
#endif

namespace hewn {

struct Chip;

// Halide's uniform entry point of a kernel: pointers to its arguments in order, the user context
// first.
using KernelFunction = int (*)(void **arguments);
// A kernel's entry, cast to its type where it is called (docs/lab/architecture.md#entry-points).
using KernelEntry = void (*)();

// One compiled function of a variant. A layout is a binary number, one digit an input that rows are
// made of (generators/operators.cmake), the first input's highest: 1 where the input's stride along
// the row is 1, 0 where it is 0. Bit L of `layouts` is set where the form is specialised for L.
struct Form {
    const char *name;
    KernelEntry entry;
    uint32_t layouts;
};

struct Target {
    const char *name;
    const char *halide_target;
    int32_t rank;
    const char *(
        *missing)();  // the first feature this machine lacks, null if it can run the target
    hewn_device_kind device;
    int32_t capability;  // a GPU's: the least compute capability, times ten
    const char *capability_name;
};

// What a device can run.
struct Support {
    hewn_device_kind device;
    int32_t capability;

    // What the device lacks to run the target, null if it can.
    const char *missing(const Target &target) const;
};

// This build's target of a GPU's kind that asks for the least compute capability; null if there is
// none.
const Target *least_target(hewn_device_kind kind);

constexpr int kMaxForms = 5;

struct Variant {
    const char *name;
    const char *operator_name;
    const char *signature;
    const Target *target;
    PlanKnobs plan;
    Form forms[kMaxForms];

    // The form of that name, null if the variant has none.
    const Form *form(const char *form_name) const;
};

// Whether this build has kernels of the operator, for the CPU or for GPUs.
constexpr bool is_built(std::string_view operator_name) {
    constexpr std::string_view kBuilt[] = {
#define HEWN_VARIANT(operator_name, ...) #operator_name,
#include "variants.inc"
    };
    for (const std::string_view built : kBuilt) {
        if (built == operator_name) return true;
    }
    return false;
}

// The variant that runs operator x signature on a device: the forced one (a variant's name, or a
// target's, whose kernel may be the next lower target's; null or "": HEWN_VARIANT in the
// environment, else none is forced), or the one of the highest rank on the chip that the device can
// run.
hewn_status pick_variant(const char *operator_name, const char *signature, const char *forced,
                         const Support &support, const Chip &chip, const Variant **variant,
                         hewn_error *error);

}  // namespace hewn
