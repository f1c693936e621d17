// Tells ThreadSanitizer to overlook what this library does, if ThreadSanitizer watches a program
// but the library was built without it. It would otherwise report races, because it does not see
// Halide's locks.
#pragma once

#include <cstdlib>  // __GLIBC__

namespace hewn {

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HEWN_THREAD_SANITIZER
#endif
#elif defined(__SANITIZE_THREAD__)
#define HEWN_THREAD_SANITIZER
#endif

// While an object of this class lives, ThreadSanitizer overlooks what this thread reads and writes
// (docs/architecture.md#threads). Apart from an allocator, no code of the program may run
// meanwhile. In a library that is itself built with ThreadSanitizer, the class does nothing.
#if defined(__GLIBC__) && !defined(HEWN_THREAD_SANITIZER)
// Functions of ThreadSanitizer, which needs glibc on Linux. They are null in a program without it.
// In spite of their names they also cover reads.
extern "C" __attribute__((weak)) void AnnotateIgnoreWritesBegin(const char *file, int line);
extern "C" __attribute__((weak)) void AnnotateIgnoreWritesEnd(const char *file, int line);

class Overlooked {
public:
    Overlooked() {
        if (AnnotateIgnoreWritesBegin) AnnotateIgnoreWritesBegin("hewn", 0);
    }
    ~Overlooked() {
        if (AnnotateIgnoreWritesEnd) AnnotateIgnoreWritesEnd("hewn", 0);
    }
    Overlooked(const Overlooked &) = delete;
};
#else
class Overlooked {
public:
    // The constructor is not trivial, so that compilers do not warn about unused variables of this
    // class.
    Overlooked() {}  // NOLINT(modernize-use-equals-default)
};
#endif

}  // namespace hewn
