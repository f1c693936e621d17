#include "busy.h"

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace hewn_bench {
namespace {

int other_of_its_core(int cpu) {
    std::string siblings;
    std::ifstream("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                  "/topology/thread_siblings_list") >>
        siblings;
    const int other = other_cpu(siblings, cpu);
    if (other < 0)
        throw std::runtime_error("--busy: the core of CPU " + std::to_string(cpu) +
                                 " has no other CPU");
    return other;
}

void stay_on(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        throw std::runtime_error("--busy: this process may not run on CPU " + std::to_string(cpu));
}

// Executes independent additions, which occupy all adders of the core.
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

int other_cpu(const std::string &siblings, int own) {
    std::istringstream list(siblings);
    for (std::string range; std::getline(list, range, ',');) {
        const int first = std::stoi(range);
        const size_t dash = range.find('-');
        const int last = dash == std::string::npos ? first : std::stoi(range.substr(dash + 1));
        for (int cpu = first; cpu <= last; cpu++) {
            if (cpu != own) return cpu;
        }
    }
    return -1;
}

BusyNeighbour::BusyNeighbour() {
    sched_getaffinity(0, sizeof allowed_, &allowed_);
    const int own = sched_getcpu();
    cpu_ = other_of_its_core(own);
    // A new thread may run on the CPUs of the thread that starts it.
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
