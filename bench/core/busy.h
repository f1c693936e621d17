// A busy neighbour for `compare --busy`: another thread that spins on the same core while
// contenders are measured. It shows their speed on a machine whose cores are shared.
#pragma once

#include <sched.h>

#include <atomic>
#include <string>
#include <thread>

namespace hewn_bench {

// As long as the object exists, the calling thread stays on its CPU, and another thread spins on
// the other CPU of the same core. So contenders have half of the core. The constructor throws
// std::runtime_error if the core has no other CPU.
class BusyNeighbour {
public:
    BusyNeighbour();
    ~BusyNeighbour();
    BusyNeighbour(const BusyNeighbour &) = delete;
    BusyNeighbour &operator=(const BusyNeighbour &) = delete;

    // The CPU on which the other thread spins.
    int cpu() const { return cpu_; }

private:
    int cpu_;
    cpu_set_t allowed_;  // the CPUs on which the calling thread could run before
    std::atomic<bool> stops_{false};
    std::thread thread_;
};

// A CPU in `siblings` (Linux's thread_siblings_list, such as "0,64" or "2-3") that is not `own`. -1
// if there is none.
int other_cpu(const std::string &siblings, int own);

}  // namespace hewn_bench
