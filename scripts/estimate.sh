#!/usr/bin/env bash
# A table of how fast the ARM kernels should be, for chips that are not at hand (tools/estimate.py): scripts/estimate.sh [FILTER]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The newest LLVM that the system offers, for its models of CPUs.
llvm=$(apt-cache search --names-only '^llvm-[0-9]+$' | sed 's/ .*//' | sort --version-sort | tail -n 1)
scripts/setup.sh "${llvm:-llvm}"
export PATH="$PWD/.venv/bin:$PATH"
cmake --preset default >/dev/null
cmake --build --preset default --target hewn_generators >/dev/null
cmake --preset linux-arm64 >/dev/null
exec python tools/estimate.py build-linux-arm64 "$@"
