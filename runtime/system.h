// What the runtime asks of the operating system beyond the C library.
#ifndef HEWN_RUNTIME_SYSTEM_H
#define HEWN_RUNTIME_SYSTEM_H

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hewn {

// Memory of any power of two as alignment; null: none.
void *allocate_aligned(size_t bytes, size_t alignment);
void deallocate_aligned(void *memory);

// CPUs that this thread may run on (on Windows: this process), or, where the system does not tell, CPUs; at least 1.
int available_cpus();
// CPUs that run, on POSIX systems as of the first call (a phone may park some later, or have parked some then); at least 1.
int online_cpus();

// Runs `fn` the first time in the process; every call returns after it has run. For one fn only.
void run_once(void (*fn)());

// Has `fn` run in every child that forks from here on. False: it could not be arranged. Where nothing forks it is.
bool call_in_forked_child(void (*fn)());

// A thread that shares a call's work with those of the library's pool; made on it. Linux may wake them on its CPU though another
// is idle (kernels of virtual machines that pack them to spare the host's CPUs), and there they wait until it is its turn to
// give way, some milliseconds later, which few calls take. So a caller whom no thread has joined in time gives way at once, and a
// thread of the pool that finds itself on the caller's CPU moves to the others that the caller may use, from then on.
class Caller {
public:
    Caller();
    // To be called before each part of the work, on the thread that does it.
    void begin_part();

#if defined(__linux__)
private:
    const int32_t thread_, cpu_;
    const int64_t start_ns_;
    bool gave_way_ = false;  // the caller's own
    std::atomic<bool> joined_{false};
#endif
};

}  // namespace hewn

#endif  // HEWN_RUNTIME_SYSTEM_H
