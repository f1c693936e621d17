// Copying past the caches, for outputs that would not stay there. Such a store need not read its
// line first.
#pragma once

#include <cstdint>
#include <cstring>

#include "../base/x86_features.h"
#include "../dispatch/chip.h"
#include "../problem/shape.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hewn {

// Memory that will be read soon after a copy, and is brought into a core's own caches during it.
// Without that, reading and writing take turns.
struct Prefetch {
    const uint8_t *at[kMaxOperands - 1];
    int numerator[kMaxOperands - 1],
        shift[kMaxOperands - 1];  // numerator / 2^shift bytes of it for each byte copied
    int count;
    PrefetchInto to;
};

#if defined(__x86_64__)

constexpr bool kCanStream = true;

// Prefetches the share of part [first, end) of a copy. Always inlined: GCC 12 thinks that a
// function which only prefetches has no effects, and drops the calls.
template<int Locality>
__attribute__((always_inline)) inline void prefetch_lines(const Prefetch &prefetch, int64_t first,
                                                          int64_t end) {
    for (int i = 0; i < prefetch.count; i++) {
        const int64_t last = end * prefetch.numerator[i] >> prefetch.shift[i];
        for (int64_t line = (first * prefetch.numerator[i] >> prefetch.shift[i]) & ~int64_t(63);
             line < last; line += 64)
            __builtin_prefetch(prefetch.at[i] + line, 0, Locality);
    }
}
__attribute__((always_inline)) inline void prefetch_part(const Prefetch &prefetch, int64_t first,
                                                         int64_t end) {
    switch (prefetch.to) {  // as the builtin's locality
    case PrefetchInto::All: return prefetch_lines<3>(prefetch, first, end);
    case PrefetchInto::L2: return prefetch_lines<2>(prefetch, first, end);
    case PrefetchInto::L1Alone: return prefetch_lines<0>(prefetch, first, end);
    }
}

// Streams whole lines of 64 bytes; `to` is aligned to one. (Why in 32 bytes and in short parts:
// docs/lab/performance.md#streaming.)
__attribute__((target("avx"))) inline void stream_lines_avx(uint8_t *to, const uint8_t *from,
                                                            int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += 64) {
        const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from + i));
        const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from + i + 32));
        _mm256_stream_si256(reinterpret_cast<__m256i *>(to + i), a);
        _mm256_stream_si256(reinterpret_cast<__m256i *>(to + i + 32), b);
    }
}

inline void stream_lines_sse(uint8_t *to, const uint8_t *from, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += 16) {
        _mm_stream_si128(reinterpret_cast<__m128i *>(to + i),
                         _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + i)));
    }
}

inline void stream_copy(uint8_t *to, const uint8_t *from, int64_t bytes, const Prefetch &prefetch) {
    // The ends go through the cache: a partly streamed line is slower than an ordinary store.
    int64_t head = -int64_t(reinterpret_cast<uintptr_t>(to)) & 63;
    if (head > bytes) head = bytes;
    const int64_t end = head + ((bytes - head) & ~int64_t(63));
    std::memcpy(to, from, size_t(head));
    const auto stream_lines = x86_has<x86_bit("avx")>() ? stream_lines_avx : stream_lines_sse;
    // Shorter parts where two inputs are prefetched: fewer lines at once.
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
