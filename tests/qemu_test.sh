#!/usr/bin/env bash
# The library on CPUs that this machine is not: qemu_test.sh PROBE TESTS. Exit 77: skipped.
set -euo pipefail
probe=$1 tests=$2
qemu=$(command -v qemu-x86_64-static || command -v qemu-x86_64 || true)
if [[ -z $qemu ]]; then
    echo "skipped: qemu_test (no qemu-x86_64-static; Debian and Ubuntu: qemu-user-static)"
    exit 77
fi
unset HEWN_VARIANT
failed=0

# expect CPU EXIT-CODE WORD COMMAND...: the command's exit code, and a word of what it prints.
expect() {
    local cpu=$1 code=$2 word=$3 got=0 output
    shift 3
    output=$("$qemu" -cpu "$cpu" "$@" 2>&1) || got=$?
    if [[ $got -eq $code && $output == *"$word"* ]]; then
        echo "ok      -cpu $cpu: $word"
    else
        echo "FAILED  -cpu $cpu: exit code $got instead of $code, or no '$word' in: $output"
        failed=1
    fi
}

# Below SSE4.1: an error that says so, not an illegal instruction (exit code 132).
expect core2duo 2 "sse4.1" "$probe"
expect Nehalem 0 "quantize_linear_f32_u8__x86_64_sse41" "$probe"
# QEMU before 7.2 has no AVX: there every Haswell would pass for a Nehalem.
if "$qemu" -cpu Haswell "$probe" 2>&1 | grep -q "doesn't support requested feature.*avx"; then
    echo "skipped: the Haswells ($("$qemu" --version | head -n 1) has no AVX)"
    exit $failed
fi
# AVX whose registers the operating system does not save.
expect Haswell,-xsave 0 "quantize_linear_f32_u8__x86_64_sse41" "$probe"
expect Haswell,-fma 0 "quantize_linear_f32_u8__x86_64_sse41" "$probe"
expect Haswell,-f16c 0 "quantize_linear_f32_u8__x86_64_sse41" "$probe"
expect Haswell 0 "quantize_linear_f32_u8__x86_64_avx2" "$probe"

# What cannot run there is refused when forced, and skipped by name.
expect Haswell,-xsave 0 "PASSED" "$tests" --gtest_brief=1 '--gtest_filter=Forcing.*'
expect Haswell,-xsave 0 "dequantize_linear_u8_f32__x86_64_avx2: this machine lacks" "$tests" '--gtest_filter=VariantTest.RankZero/dequantize_linear_u8_f32__*'
exit $failed
