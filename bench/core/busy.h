#pragma once

#include <sched.h>

#include <atomic>
#include <string>
#include <thread>

namespace hewn_bench {

// While it lives, the calling thread stays on its CPU, and another thread spins on the other CPU of
// the same core: contenders have half of the core, as beside a busy neighbour on a shared machine.
// Throws std::runtime_error where the core has no other CPU.
class BusyNeighbour {
public:
    BusyNeighbour();
    ~BusyNeighbour();
    BusyNeighbour(const BusyNeighbour &) = delete;
    BusyNeighbour &operator=(const BusyNeighbour &) = delete;

    int cpu() const { return cpu_; }

private:
    int cpu_;            // where it spins
    cpu_set_t allowed_;  // where the calling thread might run before
    std::atomic<bool> stops_{false};
    std::thread thread_;
};

// A CPU of `siblings` (Linux's thread_siblings_list, as "0,64" or "2-3") that is not `own`, or -1.
int other_cpu(const std::string &siblings, int own);

}  // namespace hewn_bench
