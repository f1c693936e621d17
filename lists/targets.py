"""The list of targets, in ascending priority. Dispatch picks the target with the highest priority
among those that the device can run (but see the knob priority_in_halves). The values of a target's
knobs are in tuning/<name>.json, or in a file for several targets (lists/tuning.py).

The target of a CPU has
    arch, features: Halide's.
    probe: features that must all be present at run time, by the names that runtime/dispatch/probe.h
        knows.
    base: another target, whose features and probes come before the target's own.
    f16_features: further features for kernels with f16 in their signature, or with f8, which they
        read as f16.
    always: features that forms may need (lists/operators.py) and that every CPU of the architecture
        has, but that are no features of Halide's.
    march: the name of an ARM architecture with exactly the instructions that the kernels may use
        (tests/dispatch/leak_test.sh). For x86 this follows from the probes.
    only: a function of an operator's name and a signature, which says whether the target has the
        kernel. Dispatch takes all other kernels from the next lower target.

The target of a GPU exists on every architecture. It has
    device: the kind of GPU.
    features: Halide's. CUDA's targets need the compute capability among them. Float operations are
        strict; generators/numerics_gpu.h deals with what a GPU's compiler may still do to them.
    system: the only system that has it, as <Halide's architecture>-<Halide's operating system>.
    only: as above."""

from lists.declarations import Signature, Target


def is_quantized_add_of_8_bits(operator: str, signature: Signature) -> bool:
    return operator == "quantized_linear_add" and signature.output.bits == 8


def is_add_of_f16(operator: str, signature: Signature) -> bool:
    return operator == "add" and signature.has("f16")


def is_dequantize_to_f16(operator: str, signature: Signature) -> bool:
    return operator == "dequantize_linear" and signature.output.name == "f16"


def reads_bytes_or_computes_with_f16(operator: str, signature: Signature) -> bool:
    """Whether the instructions of arm64_fp16 help. All other kernels would be those of arm64_neon,
    byte for byte."""
    if operator in ("add", "add1"):
        return signature.has("f16")
    return signature.input.name in ("i8", "u8")


X86_64_AVX512 = Target(
    "x86_64_avx512",
    30,
    arch="x86-64",
    features="sse41 avx avx2 fma f16c avx512 avx512_skylake",
    probe="sse4.1 avx avx2 fma bmi bmi2 f16c avx512f avx512cd avx512vl avx512dq avx512bw",
)

TARGETS = [
    Target("x86_64_sse41", 10, arch="x86-64", features="sse41", probe="sse4.1"),
    # enable_backtraces makes LLVM align vectors on the stack
    # (docs/lab/architecture.md#vectors-on-the-stack).
    Target(
        "x86_64_avx2",
        20,
        arch="x86-64",
        features="sse41 avx avx2 fma f16c enable_backtraces",
        probe="sse4.1 avx avx2 fma bmi2 f16c",
    ),
    X86_64_AVX512,
    # For vpdpbusd, which Halide has only with all features of a Zen 4
    # (docs/lab/architecture.md#a-target-for-one-operator). tests/dispatch/leak_test.sh checks that
    # these kernels need only VNNI.
    Target(
        "x86_64_avx512_vnni",
        40,
        arch="x86-64",
        base=X86_64_AVX512,
        features="avx512_cannonlake avx512_zen4",
        probe="avx512vnni",
        only=is_quantized_add_of_8_bits,
    ),
    # For vaddph, which adds f16 without converting. Halide has it only with all features of a
    # Sapphire Rapids, of which this kernel needs only AVX512-FP16
    # (docs/lab/architecture.md#f16-arithmetic).
    Target(
        "x86_64_avx512_fp16",
        50,
        arch="x86-64",
        base=X86_64_AVX512,
        features="avx512_cannonlake avx512_zen4 avx512_sapphirerapids",
        probe="avx512fp16",
        only=is_add_of_f16,
    ),
    # For the tests of 32-bit code.
    Target("x86_32_sse41", 10, arch="x86-32", features="sse41", probe="sse4.1"),
    # Every ARMv8-A core. All of them have f16 conversions, but Halide emulates these unless it is
    # given arm_fp16. tests/dispatch/leak_test.sh checks that no ARMv8.2 instruction comes with it.
    Target("arm64_neon", 10, arch="arm-64", f16_features="arm_fp16", always="fma", march="armv8-a"),
    # ARMv8.2 with f16 arithmetic and dot products. The latter only tell the CPUs where tbl is fast
    # (generators/numerics_arm.h).
    Target(
        "arm64_fp16",
        20,
        arch="arm-64",
        features="arm_fp16 arm_dot_prod",
        always="fma",
        probe="fphp asimdhp asimddp",
        only=reads_bytes_or_computes_with_f16,
        march="armv8.2-a+fp16+dotprod",
    ),
    # Browsers, Node.js and other engines of WebAssembly. None of its instructions is sure to fuse a
    # multiplication and an addition, so forms that need that are left out. An engine without
    # vectors refuses the module.
    Target("wasm32_simd128", 10, arch="wasm-32", features="wasm_simd128 wasm_bulk_memory"),
    Target("opencl", 110, device="opencl", features="opencl strict_float"),
    # tools/dxbc compiles the HLSL of its kernels.
    Target("d3d12", 115, device="d3d12", features="d3d12compute strict_float", system="x86-64-windows"),
    Target("cuda_sm75", 120, device="cuda", features="cuda cuda_capability_75 strict_float"),
    # From this capability on, two f32 become a pair of f16 in one instruction.
    Target(
        "cuda_sm80",
        130,
        device="cuda",
        features="cuda cuda_capability_80 strict_float",
        only=is_dequantize_to_f16,
    ),
]
