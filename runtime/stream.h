// Copying past the caches, for outputs that would not stay there: a store that need not read its line first.
#ifndef HEWN_RUNTIME_STREAM_H
#define HEWN_RUNTIME_STREAM_H

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace hewn {

#if defined(__x86_64__)

constexpr bool kCanStream = true;

inline void stream_copy(uint8_t *to, const uint8_t *from, int64_t bytes) {
    // Whole lines only: a partly streamed line is slower than an ordinary store.
    int64_t head = -int64_t(reinterpret_cast<uintptr_t>(to)) & 63;
    if (head > bytes) head = bytes;
    std::memcpy(to, from, size_t(head));
    int64_t i = head;
    for (; i + 64 <= bytes; i += 64) {
        const __m128i *source = reinterpret_cast<const __m128i *>(from + i);
        __m128i *line = reinterpret_cast<__m128i *>(to + i);
        const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
        const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
        _mm_stream_si128(line, a);
        _mm_stream_si128(line + 1, b);
        _mm_stream_si128(line + 2, c);
        _mm_stream_si128(line + 3, d);
    }
    std::memcpy(to + i, from + i, size_t(bytes - i));
}

// Orders streamed stores before whatever the thread does next.
inline void stream_fence() { _mm_sfence(); }

#else

constexpr bool kCanStream = false;
inline void stream_copy(uint8_t *to, const uint8_t *from, int64_t bytes) { std::memcpy(to, from, size_t(bytes)); }
inline void stream_fence() {}

#endif

}  // namespace hewn

#endif  // HEWN_RUNTIME_STREAM_H
