// What ThreadSanitizer is told, where it watches the program and not this library.
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

// As long as it lives, ThreadSanitizer overlooks what this thread reads and writes
// (docs/architecture.md#threads). Of the program no more than an allocator may run meanwhile. In a
// library built with ThreadSanitizer nothing is overlooked.
#if defined(__GLIBC__) && !defined(HEWN_THREAD_SANITIZER)
// ThreadSanitizer's, which on Linux needs glibc; null in a program without it. They are about reads
// as well.
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
    // A trivial one would make unused variables of its objects.
    Overlooked() {}  // NOLINT(modernize-use-equals-default)
};
#endif

}  // namespace hewn
