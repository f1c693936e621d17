// What the runtime asks of the operating system beyond the C library.
#ifndef HEWN_RUNTIME_SYSTEM_H
#define HEWN_RUNTIME_SYSTEM_H

#include <cstddef>
#include <cstdint>

namespace hewn {

// Memory of any power of two as alignment; null: none.
void *allocate_aligned(size_t bytes, size_t alignment);
void deallocate_aligned(void *memory);

// The first of these libraries that is there, which stays loaded; null: none. On Windows: of the system's.
void *open_driver(const char *const *names);
// A function of it, null if it has none of that name.
void *driver_symbol(void *library, const char *name);

// CPUs that this thread may run on (on Windows: this process), or, where the system does not tell, CPUs; at least 1.
int available_cpus();
// CPUs that run, on POSIX systems as of the first call (a phone may park some later, or have parked some then); at least 1.
int online_cpus();

// Runs `fn` the first time in the process; every call returns after it has run. For one fn only.
void run_once(void (*fn)());

// Has `fn` run in every child that forks from here on. False: it could not be arranged. Where nothing forks it is.
bool call_in_forked_child(void (*fn)());

}  // namespace hewn

#endif  // HEWN_RUNTIME_SYSTEM_H
