// Copies memory past the caches, for outputs that no cache would keep. Such a store need not read
// the cache line first.
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

// Memory that will be read soon after a copy. It is prefetched while the copy runs, because
// otherwise reading and writing would take turns.
struct Prefetch {
    const uint8_t *at[kMaxOperands - 1];
    // For each byte that is copied, numerator / 2^shift bytes of this memory are prefetched.
    int numerator[kMaxOperands - 1], shift[kMaxOperands - 1];
    int count;
    PrefetchInto to;
};

#if defined(__x86_64__)

constexpr bool kCanStream = true;

// Prefetches the share that belongs to part [first, end) of a copy. It is always inlined, because
// GCC 12 thinks that a function which only prefetches has no effects, and drops the calls.
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
    switch (prefetch.to) {  // mapped to localities of the builtin
    case PrefetchInto::All: return prefetch_lines<3>(prefetch, first, end);
    case PrefetchInto::L2: return prefetch_lines<2>(prefetch, first, end);
    case PrefetchInto::L1Alone: return prefetch_lines<0>(prefetch, first, end);
    }
}

// Streams `bytes` bytes, which are whole cache lines. `to` is aligned to a line. The lab explains
// why each store has 32 bytes, and why the copy goes in short parts
// (docs/lab/performance.md#streaming).
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

// Copies memory past the caches, and prefetches meanwhile. stream_fence() must follow before
// another thread may read the copy.
inline void stream_copy(uint8_t *to, const uint8_t *from, int64_t bytes, const Prefetch &prefetch) {
    // Incomplete lines at both ends go through the cache, because streaming a part of a line is
    // slower than an ordinary store.
    int64_t head = -int64_t(reinterpret_cast<uintptr_t>(to)) & 63;
    if (head > bytes) head = bytes;
    const int64_t end = head + ((bytes - head) & ~int64_t(63));
    std::memcpy(to, from, size_t(head));
    const auto stream_lines = x86_has<x86_bit("avx")>() ? stream_lines_avx : stream_lines_sse;
    // Two prefetched inputs need shorter parts, so that fewer lines are on their way at once.
    const int64_t part = prefetch.count > 1 ? 256 : 512;
    for (int64_t first = head; first < end; first += part) {
        const int64_t last = end - first < part ? end : first + part;
        prefetch_part(prefetch, first, last);
        stream_lines(to + first, from + first, last - first);
    }
    std::memcpy(to + end, from + end, size_t(bytes - end));
}

// Orders streamed stores before everything that the thread does next.
inline void stream_fence() { _mm_sfence(); }

#else

// Other processors copy without streaming.
constexpr bool kCanStream = false;
inline void stream_copy(uint8_t *to, const uint8_t *from, int64_t bytes, const Prefetch &) {
    std::memcpy(to, from, size_t(bytes));
}
inline void stream_fence() {}

#endif

}  // namespace hewn
