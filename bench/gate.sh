#!/usr/bin/env bash
# Whether this build is slower than another, as the last release's: bench/gate.sh LIBRARY
# [ARGUMENT...] measures the quick benchmark's rows twice beside LIBRARY, a libhewn.so, and fails
# with the rows that are slower by more than noise in both (gate.py). ARGUMENT: of bench/run.sh, as
# --op add.
set -euo pipefail
if [[ $# == 0 || $1 == -* || ! -f $1 ]]; then
    sed -n '2,/^set/{/^set/!s/^# \?//p}' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
library=$(realpath -- "$1")
shift
CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/.."
rows=()
for run in 1 2; do
    rows+=("$PWD/build/gate-$run.json")
    bench/run.sh --quick --baseline "$library" --json "${rows[-1]}" "$@"
done
exec python3 bench/report/gate.py "${rows[@]}"
