#include "executors.h"

#include <algorithm>
#include <thread>
#include <vector>

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

void HEWN_CALL in_reverse(void *, int32_t count, hewn_slice_fn fn, void *arg) {
    for (int32_t i = count; i-- > 0;) fn(arg, i);
}

void HEWN_CALL Counting::parallel_for(void *context, int32_t count, hewn_slice_fn fn, void *arg) {
    auto *self = static_cast<Counting *>(context);
    self->calls++;
    self->slices += count;
    in_reverse(nullptr, count, fn, arg);
}

}  // namespace hewn_test
