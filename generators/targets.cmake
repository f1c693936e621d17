# THE list of targets, in ascending rank: of those a device can run, dispatch picks the highest.
#
# hewn_target(<name> RANK <number> ARCH <Halide architecture> FEATURES <Halide feature>... PROBE <run-time feature>...)
#   PROBE: every one must be present at run time; the names are those of the compiler's __builtin_cpu_supports, which also checks
#   that the operating system saves the registers.
# hewn_target(<name> RANK <number> DEVICE <cuda|opencl> FEATURES <Halide feature>... [CAPABILITY <number>])
#   A GPU's target: on every architecture, for devices of that kind, from a compute capability on. The float operations
#   are strict: what a GPU's compiler may still do to them is generators/numerics_gpu.h's business.
# The schedule's knobs are in tuning/<name>.json.

hewn_target(x86_64_sse41 RANK 10 ARCH x86-64
    FEATURES sse41
    PROBE sse4.1)
hewn_target(x86_64_avx2 RANK 20 ARCH x86-64
    FEATURES sse41 avx avx2 fma f16c
    PROBE sse4.1 avx avx2 fma f16c)
hewn_target(x86_64_avx512 RANK 30 ARCH x86-64
    FEATURES sse41 avx avx2 fma f16c avx512 avx512_skylake
    PROBE sse4.1 avx avx2 fma f16c avx512f avx512cd avx512vl avx512dq avx512bw)

hewn_target(opencl RANK 110 DEVICE opencl
    FEATURES opencl strict_float)
hewn_target(cuda_sm75 RANK 120 DEVICE cuda
    FEATURES cuda cuda_capability_75 strict_float
    CAPABILITY 7.5)
hewn_target(cuda_sm80 RANK 130 DEVICE cuda
    FEATURES cuda cuda_capability_80 strict_float
    CAPABILITY 8.0)
