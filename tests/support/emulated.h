// Lets long tests do less where a CPU or a GPU is emulated, because everything is slow there.
// ../CMakeLists.txt says where that is, by HEWN_TEST_EMULATED.
#pragma once

#include <cstdint>

#include "../../reference/values.h"

namespace hewn_test {

// Whether the machine is emulated, which is some fifty times slower.
#if defined(HEWN_TEST_EMULATED)
constexpr bool EMULATED = true;
#else
constexpr bool EMULATED = false;
#endif

// Whether to leave out a step of a long sweep. On an emulated machine one step in `n` is kept, on
// others one in `native`. They are kept at random, so that each run keeps others.
inline bool left_out(Random &random, int64_t n, int64_t native = 1) {
    return !random.one_in(EMULATED ? n : native);
}

}  // namespace hewn_test
