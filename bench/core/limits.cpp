// The machine's limits: how fast it can copy or read as many bytes as a problem has. `compare`
// relates hewn's speed to the fastest copy. Copies and reads use several threads as contenders do.
#include <pthreadpool.h>

#include <cstring>

#include "contender.h"
#include "threads.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace hewn_bench {
namespace {

constexpr size_t LINE = 64;

// Copies with streaming stores, which do not read the target's cache lines first.
void streaming_copy(const char *from, char *to, size_t bytes) {
#if defined(__SSE2__)
    for (size_t i = 0; i < bytes; i += LINE) {
        const auto *const source = reinterpret_cast<const __m128i *>(from + i);
        auto *const target = reinterpret_cast<__m128i *>(to + i);
        const __m128i a = _mm_load_si128(source), b = _mm_load_si128(source + 1),
                      c = _mm_load_si128(source + 2), d = _mm_load_si128(source + 3);
        _mm_stream_si128(target, a);
        _mm_stream_si128(target + 1, b);
        _mm_stream_si128(target + 2, c);
        _mm_stream_si128(target + 3, d);
    }
    _mm_sfence();
#else
    std::memcpy(to, from, bytes);
#endif
}

// Vectors of 16, 32 and 64 bytes. A function must not use wider vectors than its instruction set
// has, because the compiler would pass halves of them through the stack. The loops below are always
// inlined, because as functions of their own they would be compiled for the oldest CPU.
using Vector16 = uint64_t __attribute__((vector_size(16), may_alias));
using Vector32 = uint64_t __attribute__((vector_size(32), may_alias));
using Vector64 = uint64_t __attribute__((vector_size(64), may_alias));

template<class Vector>
__attribute__((always_inline)) inline void copy_vectors(const char *from, char *to, size_t bytes) {
    const auto *const source = reinterpret_cast<const Vector *>(from);
    auto *const target = reinterpret_cast<Vector *>(to);
    for (size_t i = 0; i < bytes / sizeof(Vector); i++) target[i] = source[i];
}

template<class Vector>
__attribute__((always_inline)) inline uint64_t read_vectors(const char *from, size_t bytes) {
    constexpr size_t UNROLLED = 4;
    const auto *const source = reinterpret_cast<const Vector *>(from);
    Vector a{}, b{}, c{}, d{};  // four, as operations on a single one would wait for each other
    for (size_t i = 0; i + UNROLLED <= bytes / sizeof(Vector); i += UNROLLED) {
        a |= source[i];
        b |= source[i + 1];
        c |= source[i + 2];
        d |= source[i + 3];
    }
    a |= b | c | d;
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof(Vector) / sizeof(uint64_t); i++) sum |= a[i];
    return sum;
}

// Loops with the widest vectors that the CPU has.
struct VectorLoops {
    void (*copy)(const char *from, char *to, size_t bytes);
    uint64_t (*read)(const char *from, size_t bytes);
};

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void copy_avx512(const char *from, char *to, size_t bytes) {
    copy_vectors<Vector64>(from, to, bytes);
}
__attribute__((target("avx512f"))) uint64_t read_avx512(const char *from, size_t bytes) {
    return read_vectors<Vector64>(from, bytes);
}
__attribute__((target("avx2"))) void copy_avx2(const char *from, char *to, size_t bytes) {
    copy_vectors<Vector32>(from, to, bytes);
}
__attribute__((target("avx2"))) uint64_t read_avx2(const char *from, size_t bytes) {
    return read_vectors<Vector32>(from, bytes);
}
#endif

VectorLoops vector_loops() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return {copy_avx512, read_avx512};
    if (__builtin_cpu_supports("avx2")) return {copy_avx2, read_avx2};
#endif
    return {copy_vectors<Vector16>, read_vectors<Vector16>};
}

// The Runner that calls pass(first, bytes) for all `bytes` bytes. Each thread has a contiguous
// share of whole cache lines.
template<class Pass>
Runner shared_pass(size_t bytes, int threads, Pass pass) {
    return repeat([=] {
        if (threads == 1) return pass(0, bytes);
        auto share = [&](size_t thread) {
            const size_t lines = bytes / LINE, first = lines * thread / size_t(threads),
                         end = lines * (thread + 1) / size_t(threads);
            pass(first * LINE, (end - first) * LINE);
        };
        pthreadpool_parallelize_1d(
            thread_pool(threads),
            [](void *context, size_t thread) {
                (*static_cast<decltype(share) *>(context))(thread);
            },
            &share, size_t(threads), 0);
    });
}

}  // namespace

Limits make_limits(double bytes, int threads, Arena &arena) {
    const size_t half = std::max<size_t>(size_t(bytes / 2) / LINE * LINE, LINE);
    char *const from = static_cast<char *>(arena.take(2 * half)), *const to = static_cast<char *>(
                                                                      arena.take(half));
    std::memset(from, 1, 2 * half);
    std::memset(to, 1, half);
    Limits limits;
    limits.memcpy = shared_pass(
        half, threads, [=](size_t first, size_t n) { std::memcpy(to + first, from + first, n); });
    const VectorLoops loops = vector_loops();
    limits.vector_copy = shared_pass(
        half, threads, [=](size_t first, size_t n) { loops.copy(from + first, to + first, n); });
    limits.streaming_copy = shared_pass(half, threads, [=](size_t first, size_t n) {
        streaming_copy(from + first, to + first, n);
    });
    limits.read = shared_pass(2 * half, threads, [=](size_t first, size_t n) {
        const uint64_t sum = loops.read(from + first, n);
        asm volatile("" : : "r"(sum));
    });
    return limits;
}

}  // namespace hewn_bench
