# THE list of targets, in ascending rank. Of those that a device can run, dispatch picks the highest
# (but see the knob rank_in_halves).
#
# hewn_target(<name> RANK <number> ARCH <Halide architecture> FEATURES <Halide feature>...
#             PROBE <run-time feature>... [BASE <name>] [F16_FEATURES <Halide feature>...]
#             [ALWAYS <feature>...] [MARCH <architecture>] [ONLY <regular expression>])
#   PROBE: features that must all be present at run time, by the names that runtime/dispatch/probe.h
#     knows.
#   BASE: a target above in this list; its FEATURES and its PROBE come before the target's own.
#   F16_FEATURES: further features for kernels with f16 in their signature.
#   ALWAYS: what forms may need (operators.cmake) and the architecture always has, without a feature
#     of that name.
#   MARCH: ARM's name of an architecture with exactly what the kernels may use
#     (tests/build/leak_test.sh); x86's follows from PROBE.
#   ONLY: build the target only for kernels, <operator>_<signature>, that match. Dispatch takes the
#     others from the next lower target.
# hewn_target(<name> RANK <number> DEVICE <cuda|opencl|d3d12> FEATURES <Halide feature>...
#             [ONLY <regular expression>])
#   A GPU's target: on every architecture, for devices of that kind; CUDA's from the compute
#   capability in FEATURES on. Float operations are strict. generators/numerics_gpu.h deals with
#   what a GPU's compiler may still do to them.
# The schedule's knobs are in tuning/<name>.json.

hewn_target(x86_64_sse41 RANK 10 ARCH x86-64
    FEATURES sse41
    PROBE sse4.1)
# enable_backtraces: for the vectors on the stack (docs/lab/architecture.md#vectors-on-the-stack).
hewn_target(x86_64_avx2 RANK 20 ARCH x86-64
    FEATURES sse41 avx avx2 fma f16c enable_backtraces
    PROBE sse4.1 avx avx2 fma bmi2 f16c)
hewn_target(x86_64_avx512 RANK 30 ARCH x86-64
    FEATURES sse41 avx avx2 fma f16c avx512 avx512_skylake
    PROBE sse4.1 avx avx2 fma bmi bmi2 f16c avx512f avx512cd avx512vl avx512dq avx512bw)
# For vpdpbusd, which Halide has only with all features of a Zen 4
# (docs/lab/architecture.md#a-target-for-one-operator). These kernels need only VNNI:
# tests/build/leak_test.sh.
hewn_target(x86_64_avx512_vnni RANK 40 ARCH x86-64 BASE x86_64_avx512
    FEATURES avx512_cannonlake avx512_zen4
    PROBE avx512vnni
    ONLY "^quantized_linear_add_.*8$")

# For vaddph, which adds f16 without converting. Halide has it only with all features of a Sapphire
# Rapids, of which this kernel needs AVX512-FP16 alone (docs/lab/architecture.md#f16-arithmetic).
hewn_target(x86_64_avx512_fp16 RANK 50 ARCH x86-64 BASE x86_64_avx512
    FEATURES avx512_cannonlake avx512_zen4 avx512_sapphirerapids
    PROBE avx512fp16
    ONLY "^add_f16$")

# For the tests of 32-bit code.
hewn_target(x86_32_sse41 RANK 10 ARCH x86-32
    FEATURES sse41
    PROBE sse4.1)

# Every ARMv8-A core. All of them have f16 conversions, but Halide emulates these unless it has
# arm_fp16. tests/build/leak_test.sh checks that arm_fp16 lets in no ARMv8.2 instruction.
hewn_target(arm64_neon RANK 10 ARCH arm-64
    F16_FEATURES arm_fp16
    ALWAYS fma
    MARCH armv8-a)
# ARMv8.2 with f16 arithmetic and dot products.
hewn_target(arm64_fp16 RANK 20 ARCH arm-64
    FEATURES arm_fp16 arm_dot_prod
    ALWAYS fma
    PROBE fphp asimdhp asimddp
    MARCH armv8.2-a+fp16+dotprod)

# Browsers, Node.js and other engines of WebAssembly. Nothing there is known to fuse a
# multiplication and an addition, so forms that need it are left out. An engine that lacks vectors
# refuses the module.
hewn_target(wasm32_simd128 RANK 10 ARCH wasm-32
    FEATURES wasm_simd128 wasm_bulk_memory)

hewn_target(opencl RANK 110 DEVICE opencl
    FEATURES opencl strict_float)
# Windows only. tools/dxbc compiles the HLSL of its kernels.
hewn_target(d3d12 RANK 115 DEVICE d3d12
    FEATURES d3d12compute strict_float)
hewn_target(cuda_sm75 RANK 120 DEVICE cuda
    FEATURES cuda cuda_capability_75 strict_float)
# Two f32 become a pair of f16 in one instruction.
hewn_target(cuda_sm80 RANK 130 DEVICE cuda
    FEATURES cuda cuda_capability_80 strict_float
    ONLY "^dequantize_linear_.*_f16$")
