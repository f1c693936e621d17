#!/usr/bin/env bash
# Estimates how fast the ARM kernels are on chips that are not at hand, as a table
# (tools/estimate.py): scripts/estimate.sh [FILTER]
set -euo pipefail
CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/.."

# One version's CPU models, so that tables can be compared (Debian 12 and Ubuntu 24.04 have it).
scripts/setup.sh --all llvm-19
export PATH="$PWD/.venv/bin:$PATH"
cmake --preset default >/dev/null
cmake --build --preset default --target hewn_generators >/dev/null
cmake --preset linux-arm64 >/dev/null
exec python tools/estimate.py build-linux-arm64 "$@"
