// Dispatch: lists the variants that this program links (table.h), asks the machine what it can run,
// and picks a variant or takes the forced one.
#pragma once

#include <hewn/hewn.h>

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "table.h"

namespace hewn {

struct Chip;

// The type of Halide's uniform entry point of a kernel. It takes an array of pointers to the
// kernel's arguments in order; the first is the user context.
using KernelFunction = int (*)(void **arguments);
// The kind and the capability of a device, which decide what it can run.
struct Support {
    hewn_device_kind device;
    // The compute capability of a CUDA device, times ten; 0 for other devices.
    int32_t capability;

    // Returns what the device lacks to run the target; null if it can run the target.
    const char *missing(const Target &target) const;
};

// Returns the target of a kind of GPU that needs the lowest compute capability, among those with
// kernels in this program; null if there is none.
const Target *least_target(hewn_device_kind kind);

// Parts of messages about a kernel that is missing. The first is "this build of hewn has" or "this
// program links"; the second names what left the kernel out.
const char *kernels_are_of();
const char *kernels_chosen_by();

// Picks the variant of an operator's kernel for a signature on a device.
//
// `forced` is the name of a variant, or the name of a target. If that target has no kernel, the
// next lower target's is taken. If `forced` is null or "", the environment's HEWN_VARIANT counts
// instead. If that is not set either, the variant is the one with the highest priority on the chip
// that the device can run.
hewn_status pick_variant(const char *operator_name, const char *signature, const char *forced,
                         const Support &support, const Chip &chip, const Variant **variant,
                         hewn_error *error);

}  // namespace hewn
