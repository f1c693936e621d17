#!/usr/bin/env bash
# Estimates how fast the ARM kernels are on chips that we do not have, and prints a table:
# scripts/estimate.sh [FILTER]. FILTER is a regular expression for the kernels' names. See
# tools/estimate.py.
set -euo pipefail
CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/.."

# CPU models differ between versions of LLVM. All tables are made with this version, so that they
# can be compared (Debian 12 and Ubuntu 24.04 have it).
scripts/setup.sh --all llvm-19
export PATH="$PWD/.venv/bin:$PATH"
cmake --preset default >/dev/null
cmake --build --preset default --target hewn_generators >/dev/null
cmake --preset linux-arm64 >/dev/null
exec python tools/estimate.py build-linux-arm64 "$@"
