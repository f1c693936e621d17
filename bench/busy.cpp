#include "busy.h"

#include <fstream>
#include <stdexcept>
#include <string>

namespace hewn_bench {
namespace {

// A number that Linux tells of a CPU's place; -1: there is no such CPU.
int place(int cpu, const std::string &what) {
    int number = -1;
    std::ifstream("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/" + what) >>
        number;
    return number;
}

int other_of_its_core(int cpu) {
    const int core = place(cpu, "core_id"), package = place(cpu, "physical_package_id");
    for (int other = 0; other < CPU_SETSIZE && core >= 0; other++) {
        if (other != cpu && place(other, "core_id") == core &&
            place(other, "physical_package_id") == package)
            return other;
    }
    throw std::runtime_error("--busy: the core of CPU " + std::to_string(cpu) +
                             " has no other CPU");
}

void stay_on(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        throw std::runtime_error("--busy: this process may not run on CPU " + std::to_string(cpu));
}

// Independent additions, which take every place that a core has for them.
void spin(const std::atomic<bool> &stops) {
    long a = 0, b = 0, c = 0, d = 0;
    while (!stops.load(std::memory_order_relaxed)) {
        for (int i = 0; i < 1000; i++) {
            a++, b++, c++, d++;
            asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
        }
    }
}

}  // namespace

BusyNeighbour::BusyNeighbour() {
    sched_getaffinity(0, sizeof allowed_, &allowed_);
    const int own = sched_getcpu();
    cpu_ = other_of_its_core(own);
    // A thread begins where its maker may run.
    stay_on(cpu_);
    thread_ = std::thread([this] { spin(stops_); });
    stay_on(own);
}

BusyNeighbour::~BusyNeighbour() {
    stops_ = true;
    thread_.join();
    sched_setaffinity(0, sizeof allowed_, &allowed_);
}

}  // namespace hewn_bench
