// Halide's thread pool, which executes slices if the user gives no executor.
#pragma once

#include <hewn/hewn.h>

namespace hewn {

// A hewn_parallel_for_fn. While a thread waits in it for its own slices, Halide has it run other
// callers' slices.
void HEWN_CALL pool_parallel_for(void *, int32_t count, hewn_slice_fn fn, void *arg);

// Prepares the pool, once in the process, before its first use.
void prepare_pool();

}  // namespace hewn
