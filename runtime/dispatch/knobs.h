// A variant's plan parameters, which dispatch hands out with the variant. Apart from the plan
// itself, which is the CPU's alone. In C and C++, as table.h, which says why.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
#define HEWN_DEFAULT(value) = value
namespace hewn {
#else
#define HEWN_DEFAULT(value)
#endif

// lists/knobs.py lists them, with meanings and defaults; tuning/ has their values.
typedef struct PlanKnobs {
#define HEWN_PLAN_KNOB(knob, default_value) int64_t knob HEWN_DEFAULT(default_value);
#include "plan_knobs.inc"
} PlanKnobs;

#ifdef __cplusplus
}  // namespace hewn
#endif
#undef HEWN_DEFAULT
