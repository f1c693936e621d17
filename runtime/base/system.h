// What the runtime needs from the operating system beyond the C library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hewn {

// Memory aligned to any power of two; null: none.
void *allocate_aligned(size_t bytes, size_t alignment);
void deallocate_aligned(void *memory);

// The first of these libraries that is there, which stays loaded; null: none. On Windows: of the
// system's.
void *open_driver(const char *const *names);
// A function of it, null if it has none of that name.
void *driver_symbol(void *library, const char *name);

// A variable of the environment as it is now; null: not set. On Windows it is read into `buffer`,
// if it fits: a program's C library may be another, and ours has a copy of the environment from
// when the process began.
const char *environment_variable(const char *name, char *buffer, size_t bytes);

// The number of CPUs that this thread (on Windows: this process) may run on or, if the system does
// not tell, online_cpus().
int available_cpus();
// The number of CPUs that run, at least 1. On POSIX systems as of the first call; a phone may park
// or wake some later.
int online_cpus();

// Runs `fn` at the first call in the process. Every call returns after it has run. For one fn only.
void run_once(void (*fn)());

// Has `fn` run in every child that forks from here on. False: that could not be arranged. True
// where nothing forks.
bool call_in_forked_child(void (*fn)());

}  // namespace hewn
