#pragma once

#include <pthreadpool.h>

namespace hewn_bench {

// A pool of that many threads, the caller among them; nullptr for one. It lives as long as the
// program.
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
