// Halide's thread pool. It runs slices if the caller gave no executor of its own.
#pragma once

#include <hewn/hewn.h>

namespace hewn {

// Runs fn(arg, 0) to fn(arg, count - 1) on the pool's threads and this thread, and returns when all
// have ended. It is a hewn_parallel_for_fn. While this thread waits for its own slices, Halide may
// run other callers' slices on it.
void HEWN_CALL pool_parallel_for(void *, int32_t count, hewn_slice_fn fn, void *arg);

// Prepares the pool. It is called once in the process, before the pool is used.
void prepare_pool();

}  // namespace hewn
