#!/usr/bin/env bash
# qemu_test.sh PROBE TESTS PLAN_TESTS x86-64|arm-64 [X86_FEATURES]
#
# Runs the library on CPUs that this machine does not have, emulated by QEMU. Dispatch must pick the
# right target on each of them, and refuse the targets that the CPU cannot run. The exit status 77
# means skipped.
set -euo pipefail
probe=$1 tests=$2 plan_tests=$3 arch=$4
case $arch in
x86-64) name="qemu-x86_64" ;;
arm-64)
    name="qemu-aarch64"
    export QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
    ;;
esac
qemu=$(command -v "$name-static" || command -v "$name" || true)
if [[ -z $qemu ]]; then
    echo "skipped: qemu_test (no $name-static; Debian and Ubuntu: qemu-user-static)"
    exit 77
fi
unset HEWN_VARIANT GTEST_COLOR
failed=0
passed='PASSED  ] [1-9]'  # a filter that chooses no test passes as well

# expect CPU EXIT-CODE WORD COMMAND...: runs the command on the CPU, and checks its exit code and
# that its output has the word, a pattern.
expect() {
    local cpu=$1 code=$2 word=$3 got=0 output
    shift 3
    output=$("$qemu" -cpu "$cpu" "$@" 2>&1) || got=$?
    if [[ $got -eq $code && $output == *$word* ]]; then
        echo "ok      -cpu $cpu: $word"
    else
        echo "FAILED  -cpu $cpu: exit code $got instead of $code, or no '$word' in: $output"
        failed=1
    fi
}

if [[ $arch == arm-64 ]]; then
    for cpu in cortex-a53 cortex-a57 cortex-a72; do
        expect $cpu 0 "dequantize_linear_u8_f32__arm64_neon" "$probe"
    done
    known=$("$qemu" -cpu help || true)  # exits with 1
    for cpu in cortex-a76 neoverse-n1 max; do
        if [[ $known == *$cpu* ]]; then expect $cpu 0 "dequantize_linear_u8_f32__arm64_fp16" "$probe"
        else echo "skipped: $cpu ($("$qemu" --version | head -n 1) does not know it)"; fi
    done
    expect cortex-a57 0 "$passed" "$tests" --gtest_brief=1 '--gtest_filter=Forcing.*'
    expect cortex-a57 0 "dequantize_linear_u8_f32__arm64_fp16: this machine lacks fphp" "$tests" \
        '--gtest_filter=VariantTest.RankZero/dequantize_linear_u8_f32__*'
    exit $failed
fi

# Below SSE4.1 there must be an error that says so, and no illegal instruction (exit code 132).
expect core2duo 2 "sse4.1" "$probe"
expect Nehalem 0 "dequantize_linear_u8_f32__x86_64_sse41" "$probe"
# Transpositions and streamed copies are chosen apart from the variant.
expect Nehalem 0 "$passed" "$plan_tests" --gtest_brief=1 '--gtest_filter=Plan.RandomLayouts*'
# QEMU before 7.2 has no AVX. Every Haswell would pass for a Nehalem there.
haswell=$("$qemu" -cpu Haswell "$probe" 2>&1 || true)
if grep -q "doesn't support requested feature.*avx" <<<"$haswell"; then
    echo "skipped: the Haswells ($("$qemu" --version | head -n 1) has no AVX)"
    exit $failed
fi
# These lack something: the first has AVX, but the operating system does not save its registers.
expect Haswell,-xsave 0 "dequantize_linear_u8_f32__x86_64_sse41" "$probe"
expect Haswell,-fma 0 "dequantize_linear_u8_f32__x86_64_sse41" "$probe"
expect Haswell,-f16c 0 "dequantize_linear_u8_f32__x86_64_sse41" "$probe"
expect Haswell 0 "dequantize_linear_u8_f32__x86_64_avx2" "$probe"

# A target that cannot run there is refused if it is forced, and skipped by name. One test is left
# out, because /proc/cpuinfo is that of the real CPU.
expect Haswell,-xsave 0 "$passed" "$tests" --gtest_brief=1 \
    '--gtest_filter=Forcing.*-*TargetsRunWhereTheirFeaturesAre'
expect Haswell,-xsave 0 "dequantize_linear_u8_f32__x86_64_avx2: this machine lacks" "$tests" \
    '--gtest_filter=VariantTest.RankZero/dequantize_linear_u8_f32__*'

# Compares what the library reads of CPUID with what the compiler reads, on every CPU of 64 bits
# that QEMU knows.
features=${5-}
if [[ $features ]]; then
    compared=0
    for cpu in $("$qemu" -cpu help | sed -nE 's/^x86 ([^ ]+) .*/\1/p' |
        grep -vE '^(base|host)$|-v[0-9]+$'); do
        said=$("$qemu" -cpu "$cpu" "$features" 2>&1) || true
        if [[ $said == *"does not support 64 bit"* ]]; then continue; fi
        expect "$cpu" 0 "the compiler" "$features"
        compared=$((compared + 1))
    done
    if ((compared < 20)); then echo "FAILED  only $compared CPUs compared" && failed=1; fi
fi
exit $failed
