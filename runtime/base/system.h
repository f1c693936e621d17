// Functions of the operating system that the runtime needs beyond the C library. system.cpp
// implements it for POSIX systems and Windows, wasm/system.cpp for WebAssembly.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hewn {

// Allocates memory that is aligned to any power of two; null if there is none. deallocate_aligned
// gives it back.
void *allocate_aligned(size_t bytes, size_t alignment);
void deallocate_aligned(void *memory);

// Loads the first of these libraries that exists, and keeps it loaded; null if none exists. `names`
// ends with a null. On Windows only the system's own directory is searched.
void *open_driver(const char *const *names);
// Returns the library's function of that name; null if it has none.
void *driver_symbol(void *library, const char *name);

// Returns the present value of an environment variable; null if it is not set. On Windows the value
// is copied to `buffer`, which has `bytes` bytes, and a value that does not fit counts as not set:
// the program may use another C library than hewn, and hewn's has a copy of the environment from
// the start of the process.
const char *environment_variable(const char *name, char *buffer, size_t bytes);

// Returns the number of CPUs that this thread (on Windows: this process) may run on. If the system
// does not tell, it is online_cpus().
int available_cpus();
// Returns the number of CPUs that are running, at least 1. On POSIX systems it is the number at the
// first call, though a phone may stop or wake CPUs later.
int online_cpus();

// Runs `fn` at the first call in the process. Every call returns only after `fn` has run. There is
// one flag for all calls, so only one function may ever be passed.
void run_once(void (*fn)());

// Makes `fn` run in every child that is forked from now on. Returns false if that could not be
// arranged. Returns true on systems that do not fork.
bool call_in_forked_child(void (*fn)());

}  // namespace hewn
