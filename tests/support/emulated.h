// Less of what takes long where a CPU, or a GPU, is emulated (../CMakeLists.txt).
#pragma once

#include <cstdint>

#include "../../reference/values.h"

namespace hewn_test {

// Some fifty times slower.
#if defined(HEWN_TEST_EMULATED)
constexpr bool EMULATED = true;
#else
constexpr bool EMULATED = false;
#endif

// What is left out of a long sweep there: all but one in `n`, others each run.
inline bool left_out(Random &random, int64_t n) { return EMULATED && !random.one_in(n); }

}  // namespace hewn_test
