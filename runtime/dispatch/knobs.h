// The knobs of a variant's plan. Dispatch gives them out with the variant, so they are apart from
// the plan itself, which only the CPU has. This header is in C and C++, for the reason that table.h
// gives.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
#define HEWN_DEFAULT(value) = value
namespace hewn {
#else
#define HEWN_DEFAULT(value)
#endif

// lists/knobs.py lists the knobs with their meanings and defaults. The folder tuning/ has their
// values.
typedef struct PlanKnobs {
#define HEWN_PLAN_KNOB(knob, default_value) int64_t knob HEWN_DEFAULT(default_value);
#include "plan_knobs.inc"
} PlanKnobs;

#ifdef __cplusplus
}  // namespace hewn
#endif
#undef HEWN_DEFAULT
