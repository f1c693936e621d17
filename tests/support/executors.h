// Functions for the option parallel_for, as programs may have them, and one that counts its calls.
#pragma once

#include <hewn/hewn.h>

#include <atomic>

namespace hewn_test {

// Runs the slices on up to four new threads, each of which takes the next index again and again.
void HEWN_CALL on_std_threads(void *, int32_t count, hewn_slice_fn fn, void *arg);

// Runs the slices on the calling thread, the last index first: the library may rely on no order.
void HEWN_CALL in_reverse(void *, int32_t count, hewn_slice_fn fn, void *arg);

// An executor that counts its calls and their slices, and runs these in reverse. The context of
// parallel_for is the object.
struct Counting {
    std::atomic<int> calls{0}, slices{0};
    static void HEWN_CALL parallel_for(void *context, int32_t count, hewn_slice_fn fn, void *arg);
};

}  // namespace hewn_test
