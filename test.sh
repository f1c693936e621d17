#!/usr/bin/env bash
# The whole test in one command: sets the machine up, configures, builds, runs every test, here and on two emulated ARM CPUs. The last
# lines are ctest's summary of the latter; the exit code is of both.
# Arguments go to ctest: ./test.sh -R quantize
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source scripts/stage.sh

stage set-up scripts/setup.sh
export PATH="$PWD/.venv/bin:$PATH"
stage configure cmake --preset default
stage build cmake --build --preset default
stage arm64 scripts/cross.sh linux-arm64
# Under Wine: its tests are among the others, wine.*; without Wine ctest lists them as one that is skipped.
if scripts/wine.sh; then stage windows scripts/cross.sh windows-x86_64; else rm -rf build-windows-x86_64; fi
status=0
stage tests ctest --preset default "$@" || status=$?
stage arm64-tests ctest --preset linux-arm64 "$@" || status=$?
print_stage_times
exit $status
