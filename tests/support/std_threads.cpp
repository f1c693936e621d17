// The executor of executors.h that starts threads. Builds for WebAssembly, which has no threads,
// leave this file out.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "executors.h"

namespace hewn_test {

void HEWN_CALL on_std_threads(void *, int32_t count, hewn_slice_fn fn, void *arg) {
    std::atomic<int32_t> next{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < std::min<int32_t>(count, 4); t++) {
        threads.emplace_back([&] {
            for (int32_t i; (i = next++) < count;) fn(arg, i);
        });
    }
    for (std::thread &thread : threads) thread.join();
}

}  // namespace hewn_test
