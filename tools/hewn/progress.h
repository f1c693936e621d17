// Progress of long work on stderr, so that stdout stays the program's result.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace hewn::cli {

class Progress {
public:
    // Shown on a terminal once a step takes longer than half a second; with `always` (--progress)
    // everywhere and at once.
    static void show(bool always);

    // A step of `total` units (bytes, cases), which ends with the object's scope.
    Progress(std::string what, uint64_t total);
    ~Progress();
    Progress(const Progress &) = delete;
    Progress &operator=(const Progress &) = delete;

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
