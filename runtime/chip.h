// What decides beside operands and kernels how kernels are called: the chip and its caches.
#ifndef HEWN_RUNTIME_CHIP_H
#define HEWN_RUNTIME_CHIP_H

#include <cstdint>

namespace hewn {

constexpr int kZen3 = 0x19, kZen5 = 0x1a;  // AMD's families; Zen 4 is Zen 3's, those before are as one, measured on a Zen 1

struct Chip {
    int amd_family;  // 0 of others' chips
    // Bytes of the caches of a chip whose last one outruns streaming to memory, so that what fits it should stay there:
    // AMD's, one for each complex of cores. 0 where there is none known: to one core a mesh of slices, as in Intel's servers, is
    // little faster than memory. ADD f32, streaming against not: on a Zen 5 with 32 MiB 0.8 at 12 MiB of operands (0.5 where one
    // is a row) and 1.1 at 48 MiB, on a Xeon 1.2 at 12 MiB.
    int64_t l2_bytes, l3_bytes;
};

// This machine's.
Chip this_chip();

// Whether it runs vectors of AVX-512, if at all, in halves: a Zen 4, which is of Zen 3's family. (Zen 5 for laptops may as well;
// none was measured.)
inline bool runs_avx512_in_halves(const Chip &chip) { return chip.amd_family == kZen3; }

// The caches that a prefetch brings memory into.
enum class PrefetchInto : uint8_t {
    All,      // L1 and those below
    L2,       // and those below
    L1Alone,  // which leaves L2 to others (prefetchnta)
};

// Into which to fetch what streamed outputs are computed from: a Zen 4's loads of 64 bytes wait for lines on their way to L1. f32
// of 16 Mi elements, AVX-512, GB/s without, into L1 and L2, and into L2 (not measured on Intel's since the distance is by bytes):
//   Zen 4: ADD 14, 14, 27, QUANTIZE_LINEAR 18, 12, 27, DEQUANTIZE_LINEAR 25, 25 to 28, 26 to 28; AVX2's ADD 17, 24, 28
//   Zen 5: ADD 31, 51, 47, QUANTIZE_LINEAR 28, 50, 46, DEQUANTIZE_LINEAR 48, 47, 43
// Into a Zen 5's L1 alone, times as fast as into both: 128 Mi elements of ADD f32 1.0, f16 1.03, i8 1.02, DEQUANTIZE_LINEAR i8,
// i16 and i32 to f32 1.01, 1.02 and 1.07; 16 and 32 Mi 1.0. (The Zen 4 was a busy machine; of a quieter one see below.)
inline PrefetchInto stream_prefetch(const Chip &chip) {
    return chip.amd_family == 0 ? PrefetchInto::All : chip.amd_family < kZen5 ? PrefetchInto::L2 : PrefetchInto::L1Alone;
}

// Whether to fetch at all what streamed outputs are computed from, with `inputs` of them in memory: a Zen 4 follows one by
// itself. 16 Mi elements, without against into L2, in small and huge pages, beside an idle and a busy core: QUANTIZE_LINEAR
// f32 1.13 to 1.33 times as fast, i32 1.04 to 1.22, f16 1.0, DEQUANTIZE_LINEAR 0.98 to 1.16; of two ADD f32 0.66 to 1.24, by
// where they lie. A transposed one, which is prefetched where it is transposed, does not count (ADD f32 1.0). A Zen 1 follows two
// as well (Zen 2 and older were not measured): 16 and 64 Mi elements, without against into L2, ADD f32 1.16, QUANTIZE_LINEAR
// f32 1.18, DEQUANTIZE_LINEAR 1.02.
inline bool stream_prefetches(const Chip &chip, int inputs) {
    if (chip.amd_family == 0 || chip.amd_family >= kZen5) return true;
    return chip.amd_family >= kZen3 && inputs > 1;
}

// How many bytes ahead a kernel that can prefetch should, where `threads` share `moved_bytes` of operands; 0: not at all. It pays
// where they lie in a near last-level cache, whose latency the processor's own prefetching does not hide, up to `most_64ths` of
// it. On a Zen 5 (caches of 1 and 32 MiB, one thread), times as fast: QUANTIZE_LINEAR f32 to i8 0.97 at 0.6 MiB, 1.15 at 2.5 and
// 5, 1.05 at 10, from memory 0.7 to 0.9; DEQUANTIZE_LINEAR i8 to f32 0.96, 1.13, 1.17 and 0.95 at 0.9, 2.5, 5 and 10
// (docs/performance.md). A Zen 4, whose loads of 64 bytes are two, loses by it: 0.71 to 0.95 at 1 Mi elements.
inline int64_t prefetch_distance_bytes(const Chip &chip, double moved_bytes, int32_t threads, int32_t most_64ths) {
    if (chip.amd_family < kZen5) return 0;
    const double least = 1.5 * double(chip.l2_bytes) * threads, most = double(most_64ths) / 64 * double(chip.l3_bytes);
    return least < moved_bytes && moved_bytes <= most ? 1024 : 0;
}

}  // namespace hewn

#endif  // HEWN_RUNTIME_CHIP_H
