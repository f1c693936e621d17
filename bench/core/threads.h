// The pool of threads that XNNPACK, the machine's limits and, with --in-pthreadpool, hewn use.
#pragma once

#include <pthreadpool.h>

namespace hewn_bench {

// A pool with this many threads, one of which is the caller. Null for one thread. It is valid until
// the next call with another number.
inline pthreadpool_t thread_pool(int threads) {
    static int size = 1;
    static pthreadpool_t pool = nullptr;
    if (threads != size) {
        if (pool) pthreadpool_destroy(pool);
        pool = threads > 1 ? pthreadpool_create(size_t(threads)) : nullptr;
        size = threads;
    }
    return pool;
}

}  // namespace hewn_bench
