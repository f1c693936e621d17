#!/usr/bin/env bash
# Sets the machine up, configures, builds and tests, in one command. The last lines are ctest's
# summary.
#
#     ./test.sh [CTEST ARGUMENT...]            builds for this system and all others, runs every
#                                              test, those of ARM on two emulated CPUs, those of
#                                              Windows under Wine, those of WebAssembly in Node.js;
#                                              looks at the packages of systems
#                                              whose programs do not run here, of one kernel an
#                                              operator
#     ./test.sh --quick [CTEST ARGUMENT...]    a first look: this system alone, without the slow
#                                              tests
#
#     ./test.sh -R variants.x86_64_avx2        runs the tests whose names match
set -euo pipefail
preset=default arguments=()
for argument; do
    case $argument in
    -h | --help) sed -n '2,/^set/{/^set/!s/^# \?//p}' "${BASH_SOURCE[0]}" && exit ;;
    --quick) preset=quick ;;
    *) arguments+=("$argument") ;;
    esac
done
CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")"
source scripts/stage.sh

build_for_others() {
    local wine=0
    stage arm64 scripts/cross.sh linux-arm64
    stage x86-32 scripts/cross.sh linux-x86
    stage wasm32 scripts/cross.sh wasm32
    # Without Wine ctest lists its tests as one that is skipped.
    scripts/wine.sh || wine=$?
    case $wine in
    # AVX-512's kernels are those of the native build; a release has them all.
    0) stage windows scripts/cross.sh windows-x86_64 \
        "-DHEWN_TARGETS=x86_64_sse41;x86_64_avx2;gpu" ;;
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
