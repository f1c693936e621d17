#!/usr/bin/env bash
# The whole test in one command: sets the machine up, configures, builds for this system and all others, runs every test, those of ARM
# on two emulated CPUs, those of Windows under Wine. Systems whose programs do not run here get libraries of one kernel an operator, and
# their packages are looked at. The last lines are ctest's summary.
# Arguments go to ctest: ./test.sh -R variants.x86_64_avx2
set -euo pipefail
CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")"
source scripts/stage.sh

stage set-up ./tune.sh --set-up
export PATH="$PWD/.venv/bin:$PATH"
stage configure cmake --preset default
stage build cmake --build --preset default
stage arm64 scripts/cross.sh linux-arm64
# Without Wine ctest lists its tests as one that is skipped.
wine=0
scripts/wine.sh || wine=$?
case $wine in
0) stage windows scripts/cross.sh windows-x86_64 ;;
77) rm -rf build-windows-x86_64 ;;
*) exit "$wine" ;;
esac
kernels="add_f32;quantize_linear_f32_u8;dequantize_linear_u8_f32;quantized_linear_add_u8_u8_u8"
for toolchain in $(grep --files-without-match CMAKE_CROSSCOMPILING_EMULATOR cmake/toolchains/*-*.cmake); do
    system=$(basename "$toolchain" .cmake)
    stage "$system" scripts/cross.sh "$system" -B "build-libraries/$system" "-DHEWN_SIGNATURES=$kernels"
done
print_stage_times
exec ctest --preset default "$@"
