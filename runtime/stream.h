// Copying past the caches, for outputs that would not stay there: a store that need not read its line first.
#ifndef HEWN_RUNTIME_STREAM_H
#define HEWN_RUNTIME_STREAM_H

#include <atomic>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace hewn {

#if defined(__x86_64__)

constexpr bool kCanStream = true;

// Bytes of a cache level (2 or 3) of a chip whose last one outruns streaming to memory, so that what fits it had better stay there: AMD's, one
// for each complex of cores. 0 where there is none known: to one core a mesh of slices, as in Intel's servers, is little faster than
// memory. ADD f32, streaming against not: on a Zen 5 with 32 MiB 0.8 at 12 MiB of operands (0.5 where one is a row) and 1.1 at 48 MiB,
// on a Xeon 1.2 at 12 MiB.
inline int64_t near_cache_bytes(unsigned level) {
    static std::atomic<int64_t> known[4]{{-1}, {-1}, {-1}, {-1}};  // CPUID takes microseconds in a virtual machine
    int64_t bytes = known[level].load(std::memory_order_relaxed);
    if (bytes >= 0) return bytes;
    bytes = 0;
    __builtin_cpu_init();
    constexpr unsigned kCacheProperties = 0x8000001d;
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    for (unsigned i = 0; i < 8 && __builtin_cpu_is("amd") && __get_cpuid_count(kCacheProperties, i, &eax, &ebx, &ecx, &edx);
         i++) {
        const unsigned type = eax & 31;
        if (type == 0) break;
        // Lines, partitions, ways and sets, each less one.
        if ((eax >> 5 & 7) == level)
            bytes = int64_t((ebx & 0xfff) + 1) * ((ebx >> 12 & 0x3ff) + 1) * ((ebx >> 22) + 1) * (int64_t(ecx) + 1);
    }
    known[level].store(bytes, std::memory_order_relaxed);
    return bytes;
}

// How far ahead a kernel that can had better ask for memory, of so many bytes of operands that so many threads share; 0: not at all. It pays where they lie in a near
// last-level cache, whose latency the processor's own prefetching does not hide. On a Zen 5 (caches of 1 and 32 MiB, one thread), times as
// fast: QUANTIZE_LINEAR f32 to i8 0.97 at 0.6 MiB, 1.0 at 1.25, 1.15 at 2.5 and 5, 1.05 at 10, where others' data lies beside it, from
// memory 0.7 to 0.9; DEQUANTIZE_LINEAR i8 to f32 0.96 at 0.9 and 1.25, 1.13 and 1.17 at 2.5 and 5, 0.95 at 10; ADD f32 0.98 at 1.5, 1.1 at 3 and
// 6, 1.05 at 12, 0.9 at 24.
inline int64_t bytes_to_ask_ahead(double moved_bytes, int32_t threads) {
    const bool near = moved_bytes / threads > 1.5 * double(near_cache_bytes(2)) && moved_bytes <= double(near_cache_bytes(3) / 4);
    return near ? 1024 : 0;
}

// Memory that will be read soon after a copy: it is brought into the cache meanwhile. Without, reading and writing take turns, and
// streaming gains nothing over stores through the cache where one thread does not saturate memory (ADD f32, 192 MiB, Xeon:
// 10 GB/s, with it 13 to 14, direct streaming stores 13).
struct Ahead {
    const uint8_t *at[3];
    int numerator[3], shift[3];  // numerator / 2^shift bytes of it for each byte copied
    int count;

    // Asks for the share of a part [first, end) of a copy.
    void fetch(int64_t first, int64_t end) const {
        for (int i = 0; i < count; i++) {
            const int64_t last = end * numerator[i] >> shift[i];
            for (int64_t line = (first * numerator[i] >> shift[i]) & ~int64_t(63); line < last; line += 64)
                _mm_prefetch(reinterpret_cast<const char *>(at[i] + line), _MM_HINT_T0);
        }
    }
};

// Whole lines of 64 bytes: `to` is aligned to one. By the widest stores the CPU has: 32-byte ones are 5 to 10 % faster than 16-byte
// ones on a Zen 4, 64-byte ones no faster than those.
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

inline void stream_copy(uint8_t *to, const uint8_t *from, int64_t bytes, const Ahead &ahead) {
    // A partly streamed line is slower than an ordinary store: the ends go through the cache.
    int64_t head = -int64_t(reinterpret_cast<uintptr_t>(to)) & 63;
    if (head > bytes) head = bytes;
    const int64_t end = head + ((bytes - head) & ~int64_t(63));
    std::memcpy(to, from, size_t(head));
    const auto stream_lines = __builtin_cpu_supports("avx") ? stream_lines_avx : stream_lines_sse;
    constexpr int64_t kPart = 512;
    for (int64_t first = head; first < end; first += kPart) {
        const int64_t last = end - first < kPart ? end : first + kPart;
        ahead.fetch(first, last);
        stream_lines(to + first, from + first, last - first);
    }
    std::memcpy(to + end, from + end, size_t(bytes - end));
}

// Orders streamed stores before whatever the thread does next.
inline void stream_fence() { _mm_sfence(); }

#else

constexpr bool kCanStream = false;
inline int64_t near_cache_bytes(unsigned) { return 0; }
inline int64_t bytes_to_ask_ahead(double, int32_t) { return 0; }
struct Ahead {
    const uint8_t *at[3];
    int numerator[3], shift[3];
    int count;
};
inline void stream_copy(uint8_t *to, const uint8_t *from, int64_t bytes, const Ahead &) { std::memcpy(to, from, size_t(bytes)); }
inline void stream_fence() {}

#endif

}  // namespace hewn

#endif  // HEWN_RUNTIME_STREAM_H
