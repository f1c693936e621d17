// A pause between measurements with several threads. compare and tune_runner use it.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>
#include <thread>

namespace hewn_bench {

// Waits until the process's other threads sleep. Thread pools spin for a while after their work,
// and would occupy cores that the next contender needs.
inline void settle() {
    // A slice of time is longer than a tick (4 ms at 250 Hz), because some kernels add a running
    // thread's time only at ticks.
    constexpr double SLICE_NS = 10e6, QUIET = 0.05;
    constexpr int LONGEST = 20;
    const auto cpu_ns = [](clockid_t clock) {
        timespec t{};
        clock_gettime(clock, &t);
        return double(t.tv_sec) * 1e9 + double(t.tv_nsec);
    };
    const auto others = [&] {
        return cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    };
    for (int i = 0; i < LONGEST; i++) {
        const double before = others();
        std::this_thread::sleep_for(std::chrono::nanoseconds(int64_t(SLICE_NS)));
        if (others() - before < QUIET * SLICE_NS) return;
    }
}

}  // namespace hewn_bench
