// Halide's thread pool, as the library uses it: starts and joins its threads, keeps them off the
// caller's CPU on Linux, and ends them in time. docs/architecture.md#threads gives the reasons.
#include "pool.h"

#include <HalideRuntime.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>

#include "../base/system.h"
#include "../base/thread_sanitizer.h"

#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#elif defined(_WIN32)
#include <windows.h>
#endif

// ---- How Halide's pool starts and joins its threads ----
//
// Halide does not notice when it cannot have a thread. Here such a thread is null
// (docs/architecture.md#threads).

#if !defined(_WIN32)

namespace {
struct Thread {
    void (*fn)(void *);
    void *argument;
    pthread_t handle;
};
void *run(void *argument) {
    const Thread &thread = *static_cast<Thread *>(argument);
    const hewn::Overlooked overlooked;
    thread.fn(thread.argument);
    return nullptr;
}
}  // namespace

// These functions replace Halide's, which are weak.
extern "C" halide_thread *halide_spawn_thread(void (*fn)(void *), void *argument) {
    Thread *thread = static_cast<Thread *>(std::malloc(sizeof(Thread)));
    if (!thread) return nullptr;
    *thread = {fn, argument, {}};
    if (pthread_create(&thread->handle, nullptr, run, thread) == 0)
        return reinterpret_cast<halide_thread *>(thread);
    std::free(thread);
    return nullptr;
}
extern "C" void halide_join_thread(halide_thread *started) {
    if (!started) return;
    Thread *thread = reinterpret_cast<Thread *>(started);
    pthread_join(thread->handle, nullptr);
    std::free(thread);
}

#else

// Weak functions cannot be replaced in COFF. The build has Halide's functions call these instead of
// the system's (cmake/Kernels.cmake). Halide allocates memory of three pointers for a thread, the
// last of which becomes the handle, writes to it without a check, and gives it to CreateThread. If
// there is no memory, it gets `no_thread`.
namespace {
void *no_thread[3];
}

extern "C" void *hewn_halide_malloc(size_t bytes) {
    void *memory = std::malloc(bytes);
    return memory || bytes != sizeof no_thread ? memory : no_thread;
}
extern "C" void hewn_halide_free(void *memory) {
    if (memory != no_thread) std::free(memory);
}
extern "C" HANDLE hewn_halide_create_thread(SECURITY_ATTRIBUTES *security, SIZE_T stack,
                                            LPTHREAD_START_ROUTINE fn, void *argument, DWORD flags,
                                            DWORD *id) {
    return argument == no_thread ? nullptr : CreateThread(security, stack, fn, argument, flags, id);
}
extern "C" DWORD hewn_halide_join(HANDLE thread, DWORD milliseconds) {
    if (!thread) return WAIT_FAILED;
    const DWORD result = WaitForSingleObject(thread, milliseconds);
    CloseHandle(thread);  // Halide does not close it
    return result;
}

#endif

namespace hewn {

namespace {

// A thread that shares the work of its call with the pool's threads. The object is made on that
// thread. A Linux kernel may wake the pool's threads on the caller's CPU, where they come too late;
// docs/architecture.md#threads tells what this class does about that.
class Caller {
public:
    // The next one in the list of callers.
    Caller *next = nullptr;

#if defined(__linux__)
    // Call this before each part of the work, on the thread that does the part.
    void begin_part();
    int32_t thread() const { return thread_; }

private:
    const int32_t thread_ = this_thread(), cpu_ = sched_getcpu();
    const int64_t start_ns_ = now_ns();
    bool gave_way_ = false;  // whether the caller itself gave way
    // Whether a thread of the pool has begun a part.
    std::atomic<bool> joined_{false};

    // This is longer than an idle CPU takes to wake a thread.
    static constexpr int64_t kPatienceNs = 100'000;

    static int32_t this_thread() { return int32_t(syscall(SYS_gettid)); }
    static int64_t now_ns() {
        timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
    }
#else
    void begin_part() {}
#endif
};

// Whether this process is a forked child. Such a child uses nothing of what follows: the pool's
// threads do not exist there, and one of them may have held the mutex when the process forked.
std::atomic<bool> is_forked_child{false};
// Whether the process reports forks (call_in_forked_child). If it does not, the pool is not used.
bool fork_is_noticed = false;

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;  // guards the following variables
Caller *callers = nullptr;                          // the list of those that are executing
bool started = false;                               // whether the pool may have threads
// Whether the pool has ended for good: the process exits, or the library is unloaded.
bool ended = false;
#if defined(__linux__)
// The CPUs that the pool's threads began with, which are those of the thread that started the pool.
cpu_set_t pool_cpus;
#endif

class Lock {
public:
    Lock() { pthread_mutex_lock(&mutex); }
    ~Lock() { pthread_mutex_unlock(&mutex); }
    Lock(const Lock &) = delete;
};

// Adds a caller to the list and, for the first one, prepares the pool's start. Returns false if the
// pool has ended.
bool enter(Caller &caller) {
    const Lock lock;
    if (ended) return false;
#if defined(__linux__)
    if (!started && sched_getaffinity(0, sizeof pool_cpus, &pool_cpus) != 0) CPU_ZERO(&pool_cpus);
#endif
    // HL_NUM_THREADS in the environment would otherwise decide, but it is meant for the program's
    // own Halide.
    if (!started) halide_set_num_threads(online_cpus());
    started = true;
    caller.next = callers;
    callers = &caller;
    return true;
}

void leave(Caller &caller) {
    const Lock lock;
    Caller **link = &callers;
    while (*link != &caller) link = &(*link)->next;
    *link = caller.next;
}

#if defined(__linux__)

// Whether the thread executes an operator itself. It then belongs to the program, and hewn must not
// choose its CPUs.
bool is_caller(int32_t thread) {
    const Lock lock;
    for (const Caller *caller = callers; caller; caller = caller->next) {
        if (caller->thread() == thread) return true;
    }
    return false;
}

void Caller::begin_part() {
    const int32_t thread = this_thread();
    if (thread != thread_) {
        joined_.store(true, std::memory_order_relaxed);
        if (cpu_ < 0 || sched_getcpu() != cpu_ || is_caller(thread)) return;
        cpu_set_t others, callers_own, own;
        if (sched_getaffinity(thread_, sizeof callers_own, &callers_own) != 0)
            CPU_ZERO(&callers_own);
        if (sched_getaffinity(0, sizeof own, &own) != 0) CPU_ZERO(&own);
        // If this thread and the caller have the same CPUs, and these are not the ones that the
        // pool began with, the program or taskset gave them to all of its threads.
        if (CPU_EQUAL(&own, &callers_own) && !CPU_EQUAL(&own, &pool_cpus)) return;
        // The caller's CPUs are added, because a thread with few CPUs may have started the pool.
        CPU_OR(&others, &pool_cpus, &callers_own);
        CPU_CLR(size_t(cpu_), &others);
        if (CPU_COUNT(&others) > 0) sched_setaffinity(0, sizeof others, &others);
    } else if (!gave_way_ && !joined_.load(std::memory_order_relaxed) &&
               now_ns() - start_ns_ > kPatienceNs) {
        gave_way_ = true;
        sched_yield();
    }
}

#endif

// Call this with the mutex held, so that no two calls join the same threads.
void end_threads() {
    const Overlooked overlooked;
    if (started) halide_shutdown_thread_pool();
    started = false;
}

// Unloading the library while its threads run would crash. At exit, this ends the threads as
// Halide's own hook would have. If threads of the program still execute, as they may at exit, the
// pool is left to them.
__attribute__((destructor)) void end_pool() {
    if (is_forked_child.load()) return;
    const Lock lock;
    ended = true;
    if (!callers) end_threads();
}

}  // namespace

void HEWN_CALL pool_parallel_for(void *, int32_t count, hewn_slice_fn fn, void *arg) {
    struct Work {
        hewn_slice_fn fn;
        void *arg;
        Caller caller;
    } work = {fn, arg, {}};
    if (is_forked_child.load(std::memory_order_relaxed) || !fork_is_noticed ||
        !enter(work.caller)) {
        for (int32_t i = 0; i < count; i++) fn(arg, i);
        return;
    }
    const auto slice = [](void *, int index, uint8_t *bytes) {
        Work &work = *reinterpret_cast<Work *>(bytes);
        work.caller.begin_part();
        work.fn(work.arg, index);
        return 0;
    };
    {
        const Overlooked overlooked;
        halide_do_par_for(nullptr, slice, 0, count, reinterpret_cast<uint8_t *>(&work));
    }
    leave(work.caller);
}

void prepare_pool() {
    fork_is_noticed = call_in_forked_child([] { is_forked_child = true; });
}

}  // namespace hewn

using namespace hewn;

void hewn_shutdown(void) {
    if (is_forked_child.load()) return;
    const Lock lock;
    end_threads();
}
