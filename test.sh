#!/usr/bin/env bash
# Sets the machine up, configures, builds and tests, in one command. The last lines are ctest's
# summary.
#
#     ./test.sh [CTEST ARGUMENT...]            builds for this system and all others, runs every
#                                              test, those of ARM on two emulated CPUs, those of
#                                              Windows, of few kernels, under Wine; looks at the
#                                              packages, of one kernel an operator
#     ./test.sh --all [CTEST ARGUMENT...]      the same with all kernels for Windows: 8 minutes more
#     ./test.sh --quick [CTEST ARGUMENT...]    a first look: this system alone, without the slow
#                                              tests
#
#     ./test.sh -R variants.x86_64_avx2        runs the tests whose names match
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/scripts/stage.sh"
# Each operator, and the types that shaders make of others or of halves.
windows_kernels="$one_kernel_each;add_i64;add_f16;quantize_linear_f16_i8;dequantize_linear_i8_f16"
preset=default arguments=()
for argument; do
    case $argument in
    -h | --help) sed -n '2,/^set/{/^set/!s/^# \?//p}' "${BASH_SOURCE[0]}" && exit ;;
    --quick) preset=quick ;;
    --all) windows_kernels="" ;;
    *) arguments+=("$argument") ;;
    esac
done
CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")"

build_for_others() {
    local wine=0
    stage arm64 scripts/cross.sh linux-arm64
    stage x86-32 scripts/cross.sh linux-x86
    # Without Wine ctest lists its tests as one that is skipped.
    scripts/wine.sh || wine=$?
    case $wine in
    # The code within a CPU's kernel is the native build's; how it is called is all kernels' way.
    0) stage windows scripts/cross.sh windows-x86_64 \
        "-DHEWN_TARGETS=x86_64_sse41;x86_64_avx2;gpu" "-DHEWN_SIGNATURES=$windows_kernels" ;;
    77) rm -rf build-windows-x86_64 ;;
    *) exit "$wine" ;;
    esac
    stage packages scripts/release.sh --quick -B build-packages-quick
}

if [[ $preset == quick ]]; then
    stage set-up scripts/setup.sh
else
    stage set-up ./tune.sh --set-up
fi
export PATH="$PWD/.venv/bin:$PATH"
stage configure cmake --preset default
stage build cmake --build --preset default
if [[ $preset == default ]]; then build_for_others; fi
print_stage_times
if [[ $preset == default ]]; then exec ctest --preset default "${arguments[@]}"; fi

status=0
ctest --preset quick "${arguments[@]}" || status=$?
slow=$(ctest --preset default --show-only -L '^slow$' | sed -n 's/^ *Test *#[0-9]*: //p' |
    paste -sd ' ')
echo "--quick left out the builds for other systems, their tests, and what takes long: $slow." \
    "./test.sh runs it all."
exit $status
