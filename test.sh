#!/usr/bin/env bash
# The whole test in one command: sets the machine up, configures, builds, runs every test. The last lines are ctest's summary.
# Arguments go to ctest: ./test.sh -R quantize
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source scripts/stage.sh

stage set-up scripts/setup.sh
export PATH="$PWD/.venv/bin:$PATH"
stage configure cmake --preset default
stage build cmake --build --preset default
print_stage_times
exec ctest --preset default "$@"
