// Shows the progress of long work on stderr, so that stdout has only the program's results.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace hewn::cli {

class Progress {
public:
    // Without `always`, progress is shown only on a terminal, and only if a step takes longer than
    // half a second. With it (--progress), it is shown everywhere and at once.
    static void show(bool always);

    // Begins a step of `total` units (bytes or cases). It ends when the object is destroyed.
    Progress(std::string what, uint64_t total);
    ~Progress();
    Progress(const Progress &) = delete;
    Progress &operator=(const Progress &) = delete;

    // Says that this many more units are done.
    void advance(uint64_t units);

private:
    using Clock = std::chrono::steady_clock;
    void print();

    std::string what_;
    uint64_t total_, done_ = 0;
    Clock::time_point next_;
    bool printed_ = false;
};

}  // namespace hewn::cli
