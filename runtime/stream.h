// Copying past the caches, for outputs that would not stay there: a store that need not read its line first.
#ifndef HEWN_RUNTIME_STREAM_H
#define HEWN_RUNTIME_STREAM_H

#include <cstdint>
#include <cstring>

#include "chip.h"
#include "shape.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hewn {

// Memory that will be read soon after a copy: it is brought into a core's own caches meanwhile. Without, reading and writing take
// turns, and streaming gains nothing over stores through the cache where one thread does not saturate memory.
struct Prefetch {
    const uint8_t *at[kMaxOperands - 1];
    int numerator[kMaxOperands - 1], shift[kMaxOperands - 1];  // numerator / 2^shift bytes of it for each byte copied
    int count;
    PrefetchInto to;
};

#if defined(__x86_64__)

constexpr bool kCanStream = true;

// Asks for the share of a part [first, end) of a copy. Always inlined: GCC 12 takes a function that does nothing but prefetch for
// one without effects, and leaves out the calls.
template<int Locality>
__attribute__((always_inline)) inline void prefetch_lines(const Prefetch &prefetch, int64_t first, int64_t end) {
    for (int i = 0; i < prefetch.count; i++) {
        const int64_t last = end * prefetch.numerator[i] >> prefetch.shift[i];
        for (int64_t line = (first * prefetch.numerator[i] >> prefetch.shift[i]) & ~int64_t(63); line < last; line += 64)
            __builtin_prefetch(prefetch.at[i] + line, 0, Locality);
    }
}
__attribute__((always_inline)) inline void prefetch_part(const Prefetch &prefetch, int64_t first, int64_t end) {
    switch (prefetch.to) {  // the builtin's localities
    case PrefetchInto::All: return prefetch_lines<3>(prefetch, first, end);
    case PrefetchInto::L2: return prefetch_lines<2>(prefetch, first, end);
    case PrefetchInto::L1Alone: return prefetch_lines<0>(prefetch, first, end);
    }
}

// Whole lines of 64 bytes: `to` is aligned to one. By the widest stores the CPU has: 32-byte ones are 5 to 10 % faster than
// 16-byte ones on a Zen 4, 64-byte ones no faster than those.
__attribute__((target("avx"))) inline void stream_lines_avx(uint8_t *to, const uint8_t *from, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += 64) {
        const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from + i));
        const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from + i + 32));
        _mm256_stream_si256(reinterpret_cast<__m256i *>(to + i), a);
        _mm256_stream_si256(reinterpret_cast<__m256i *>(to + i + 32), b);
    }
}

inline void stream_lines_sse(uint8_t *to, const uint8_t *from, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += 16) {
        _mm_stream_si128(reinterpret_cast<__m128i *>(to + i), _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + i)));
    }
}

inline void stream_copy(uint8_t *to, const uint8_t *from, int64_t bytes, const Prefetch &prefetch) {
    // A partly streamed line is slower than an ordinary store: the ends go through the cache.
    int64_t head = -int64_t(reinterpret_cast<uintptr_t>(to)) & 63;
    if (head > bytes) head = bytes;
    const int64_t end = head + ((bytes - head) & ~int64_t(63));
    std::memcpy(to, from, size_t(head));
    const auto stream_lines = __builtin_cpu_supports("avx") ? stream_lines_avx : stream_lines_sse;
    // Few enough lines prefetched at once (ADD f32 of 16 Mi elements on a Zen 4, parts of 512 and 256 bytes: 25 and 28 GB/s).
    const int64_t part = prefetch.count > 1 ? 256 : 512;
    for (int64_t first = head; first < end; first += part) {
        const int64_t last = end - first < part ? end : first + part;
        prefetch_part(prefetch, first, last);
        stream_lines(to + first, from + first, last - first);
    }
    std::memcpy(to + end, from + end, size_t(bytes - end));
}

// Orders streamed stores before whatever the thread does next.
inline void stream_fence() { _mm_sfence(); }

#else

constexpr bool kCanStream = false;
inline void stream_copy(uint8_t *to, const uint8_t *from, int64_t bytes, const Prefetch &) {
    std::memcpy(to, from, size_t(bytes));
}
inline void stream_fence() {}

#endif

}  // namespace hewn

#endif  // HEWN_RUNTIME_STREAM_H
