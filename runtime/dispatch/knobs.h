// A variant's plan parameters, which dispatch hands out with the variant. Apart from the plan
// itself, which is the CPU's alone.
#pragma once

#include <cstdint>

namespace hewn {

// generators/knobs.cmake lists them, with meanings and defaults; tuning/ has their values.
struct PlanKnobs {
#define HEWN_PLAN_KNOB(knob, default_value) int64_t knob = default_value;
#include "plan_knobs.inc"
};

}  // namespace hewn
