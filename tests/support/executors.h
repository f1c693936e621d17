// Users' parallel_for functions.
#pragma once

#include <hewn/hewn.h>

#include <atomic>

namespace hewn_test {

// Four threads that take the next index each.
void HEWN_CALL on_std_threads(void *, int32_t count, hewn_slice_fn fn, void *arg);

// On the calling thread, last index first: no order may be relied on.
void HEWN_CALL in_reverse(void *, int32_t count, hewn_slice_fn fn, void *arg);

// An executor that counts what it is given.
struct Counting {
    std::atomic<int> calls{0}, slices{0};
    static void HEWN_CALL parallel_for(void *context, int32_t count, hewn_slice_fn fn, void *arg);
};

}  // namespace hewn_test
