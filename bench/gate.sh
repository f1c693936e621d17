#!/usr/bin/env bash
# Tells whether this build of hewn is slower than another one, such as the last release:
# bench/gate.sh LIBRARY [ARGUMENT...]
#
# LIBRARY is the other build's libhewn.so. The script runs the quick benchmark twice and measures
# both builds in it. It prints the rows in which this build was slower in both runs, by more than
# noise, and the exit code is 1 if there are any (bench/report/gate.py). ARGUMENT is an option of
# bench/run.sh, such as --op add.
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
