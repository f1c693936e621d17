# THE list of targets, in ascending rank: of those a machine can run, dispatch picks the highest.
#
# hewn_target(<name> RANK <number> ARCH <Halide architecture> FEATURES <Halide feature>... PROBE <run-time feature>...)
#   PROBE: every one must be present at run time; the names are those of the compiler's __builtin_cpu_supports, which also checks
#   that the operating system saves the registers.
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
