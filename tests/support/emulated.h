// Less of what takes long where a CPU is emulated.
#pragma once

#include <cstdint>

#include "../../reference/values.h"

namespace hewn_test {

// An emulated CPU is some fifty times slower.
#if defined(HEWN_TEST_EMULATED)
constexpr bool EMULATED = true;
#else
constexpr bool EMULATED = false;
#endif

// What an emulated CPU leaves out of a long sweep: all but one in `n`, others each run.
inline bool left_out(Random &random, int64_t n) { return EMULATED && !random.one_in(n); }

}  // namespace hewn_test
