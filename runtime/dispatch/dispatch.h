// The variants that this program links (table.h): listing them, probing the machine, picking one or
// taking the forced one.
#pragma once

#include <hewn/hewn.h>

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "table.h"

namespace hewn {

struct Chip;

// Halide's uniform entry point of a kernel: pointers to its arguments in order, the user context
// first.
using KernelFunction = int (*)(void **arguments);
// What a device can run.
struct Support {
    hewn_device_kind device;
    int32_t capability;

    // What the device lacks to run the target, null if it can.
    const char *missing(const Target &target) const;
};

// Of a GPU's kind, the target with kernels that asks for the least compute capability; null if
// there is none.
const Target *least_target(hewn_device_kind kind);

// Messages about a kernel that is not there: "this build of hewn has", "this program links"; and
// what left it out.
const char *kernels_are_of();
const char *kernels_chosen_by();

// The variant that runs operator x signature on a device: the forced one (a variant's name, or a
// target's, whose kernel may be the next lower target's; null or "": HEWN_VARIANT in the
// environment, else none is forced), or the one of the highest rank on the chip that the device can
// run.
hewn_status pick_variant(const char *operator_name, const char *signature, const char *forced,
                         const Support &support, const Chip &chip, const Variant **variant,
                         hewn_error *error);

}  // namespace hewn
