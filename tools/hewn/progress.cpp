#include "progress.h"

#include <cstdio>
#ifdef _WIN32
#include <io.h>
#else
#include <unistd.h>
#endif

namespace hewn::cli {

namespace {
bool stderr_is_terminal() {
#ifdef _WIN32
    return _isatty(2) != 0;
#else
    return isatty(2) != 0;
#endif
}

bool always = false;
}  // namespace

void Progress::show(bool show_always) { always = show_always; }

Progress::Progress(std::string what, uint64_t total) : what_(std::move(what)), total_(total) {
    next_ = Clock::now() + (always ? std::chrono::milliseconds(0) : std::chrono::milliseconds(500));
    if (always) print();
}

Progress::~Progress() {
    if (printed_ && stderr_is_terminal()) std::fputc('\n', stderr);
}

void Progress::advance(uint64_t units) {
    done_ += units;
    const bool ends = printed_ && done_ >= total_;
    if ((always || stderr_is_terminal()) && (ends || Clock::now() >= next_)) print();
}

void Progress::print() {
    // On a terminal, the line is overwritten. A log gets a new line each time.
    const int percent = total_ ? int(double(done_) / double(total_) * 100) : 100;
    std::fprintf(stderr, stderr_is_terminal() ? "\rhewn: %s: %d %%" : "hewn: %s: %d %%\n",
                 what_.c_str(), percent);
    std::fflush(stderr);
    printed_ = true;
    next_ = Clock::now() + std::chrono::milliseconds(200);
}

}  // namespace hewn::cli
