// system.h for Windows and for POSIX systems.
#include "system.h"

#include <atomic>
#include <cstdlib>

#if defined(_WIN32)
#include <malloc.h>
#include <windows.h>
#else
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#endif

namespace hewn {

#if defined(_WIN32)

void *allocate_aligned(size_t bytes, size_t alignment) { return _aligned_malloc(bytes, alignment); }
void deallocate_aligned(void *memory) { _aligned_free(memory); }

void *open_driver(const char *const *names) {
    HMODULE library = nullptr;
    while (*names && !library)
        library = LoadLibraryExA(*names++, nullptr, LOAD_LIBRARY_SEARCH_SYSTEM32);
    return reinterpret_cast<void *>(library);
}
void *driver_symbol(void *library, const char *name) {
    return reinterpret_cast<void *>(GetProcAddress(static_cast<HMODULE>(library), name));
}

int online_cpus() {
    const DWORD cpus = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    return cpus > 0 ? int(cpus) : 1;
}

const char *environment_variable(const char *name, char *buffer, size_t bytes) {
    const DWORD length = GetEnvironmentVariableA(name, buffer, DWORD(bytes));
    return length > 0 && length < bytes ? buffer : nullptr;
}

int available_cpus() {
    // `process` stays 0 if the process has threads in several groups of 64 CPUs.
    DWORD_PTR process = 0, system = 0;
    if (GetProcessAffinityMask(GetCurrentProcess(), &process, &system) && process)
        return __builtin_popcountll(process);
    return online_cpus();
}

void run_once(void (*fn)()) {
    static INIT_ONCE once = INIT_ONCE_STATIC_INIT;
    const auto call = [](INIT_ONCE *, void *argument, void **) -> BOOL {
        (*static_cast<void (**)()>(argument))();
        return TRUE;
    };
    InitOnceExecuteOnce(&once, call, &fn, nullptr);
}

bool call_in_forked_child(void (*)()) { return true; }

#else

void *allocate_aligned(size_t bytes, size_t alignment) {
    void *memory = nullptr;
    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}
void deallocate_aligned(void *memory) { std::free(memory); }

void *open_driver(const char *const *names) {
    void *library = nullptr;
    while (*names && !library) library = dlopen(*names++, RTLD_NOW | RTLD_LOCAL);
    return library;
}
void *driver_symbol(void *library, const char *name) { return dlsym(library, name); }

int online_cpus() {
    // The number is kept, because sysconf reads a file of the system: 5 us, more than all the rest
    // of a compilation takes.
    static std::atomic<int> known{0};
    int cpus = known.load(std::memory_order_relaxed);
    if (cpus > 0) return cpus;
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    cpus = online > 0 ? int(online) : 1;
    known.store(cpus, std::memory_order_relaxed);
    return cpus;
}

const char *environment_variable(const char *name, char *, size_t) { return std::getenv(name); }

int available_cpus() {
#if defined(__linux__)
    cpu_set_t set;  // room for 1024 CPUs; the call fails if the kernel has more
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
    return online_cpus();
}

void run_once(void (*fn)()) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fn);
}

bool call_in_forked_child(void (*fn)()) { return pthread_atfork(nullptr, nullptr, fn) == 0; }

#endif

}  // namespace hewn
