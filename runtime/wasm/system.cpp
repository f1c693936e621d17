// system.h and the pool for WebAssembly, which has one thread, one process and no driver; and
// functions of other libraries that are missing there.
#include "../base/system.h"

#include <HalideRuntime.h>
#include <hewn/hewn.h>
#include <pthread.h>

#include <cstdlib>

#include "../cpu/pool.h"

namespace hewn {

void *allocate_aligned(size_t bytes, size_t alignment) {
    // The C library grows the memory by a signed number of bytes, and ends the program if that
    // number is negative. So larger requests are refused here.
    constexpr size_t kLargest = (size_t(1) << 31) - (size_t(1) << 17);
    void *memory = nullptr;
    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    if (alignment > kLargest || bytes > kLargest - alignment) return nullptr;
    return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}
void deallocate_aligned(void *memory) { std::free(memory); }

const char *environment_variable(const char *name, char *, size_t) { return std::getenv(name); }

int online_cpus() { return 1; }
int available_cpus() { return 1; }
void run_once(void (*fn)()) {
    static bool ran = false;
    if (!ran) fn();
    ran = true;
}
bool call_in_forked_child(void (*)()) { return true; }

void HEWN_CALL pool_parallel_for(void *, int32_t count, hewn_slice_fn fn, void *arg) {
    for (int32_t i = 0; i < count; i++) fn(arg, i);
}
void prepare_pool() {}

}  // namespace hewn

void hewn_shutdown(void) {}

// wasi-libc declares these pthread functions, but not every version has them. The last function is
// the only one of Halide's runtime that is called. All are weak, so a program's own come first.
extern "C" {
#define HEWN_WEAK __attribute__((weak, visibility("hidden")))
HEWN_WEAK int pthread_once(pthread_once_t *once, void (*fn)()) {
    if (!*once) fn();
    *once = 1;
    return 0;
}
HEWN_WEAK int pthread_mutex_lock(pthread_mutex_t *) { return 0; }
HEWN_WEAK int pthread_mutex_unlock(pthread_mutex_t *) { return 0; }
HEWN_WEAK halide_error_handler_t halide_set_error_handler(halide_error_handler_t handler) {
    return handler;
}
#undef HEWN_WEAK
}
