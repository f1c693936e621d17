#!/usr/bin/env bash
# The whole test in one command: sets the machine up, configures, builds for this system, ARM and Windows, runs every test, those
# of ARM on two emulated CPUs, those of Windows under Wine. The last lines are ctest's summary.
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
print_stage_times
exec ctest --preset default "$@"
