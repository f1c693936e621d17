#ifndef HEWN_BENCH_HIDE_AVX512_H
#define HEWN_BENCH_HIDE_AVX512_H

namespace hewn_bench {

// From now on the process's threads see a CPU with AVX2 and without AVX-512, AMX and AVX-VNNI: libraries that look for the first
// time choose what they would run there. The calling thread must be the only one. Throws std::runtime_error where the system or
// the CPU cannot do it.
void hide_avx512();

}  // namespace hewn_bench

#endif  // HEWN_BENCH_HIDE_AVX512_H
