#!/usr/bin/env bash
# packaging/python.sh ARGUMENT...: Python with the wheels of requirements.txt, in the virtual
# environment build/packaging-venv, which the first call makes. `-m conans.conan` is Conan. Exit
# status 77: the wheels cannot be had.
set -euo pipefail
root=$(CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/build/packaging-venv requirements=$root/packaging/requirements.txt
# Made anew when the folder, whose name its scripts hold, or the wanted wheels change.
wanted="$root $(python3 -V) $(sha256sum <"$requirements")"
mkdir -p "$root/build"
exec 9<"$requirements"
flock 9  # one at a time
if [[ ! -f $venv/hewn.stamp || $(<"$venv/hewn.stamp") != "$wanted" ]]; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --no-deps \
        --only-binary :all: -r "$requirements" >&2 ||
        { echo "skipped: the wheels of $requirements cannot be had" && exit 77; }
    printf '%s\n' "$wanted" >"$venv/hewn.stamp"
fi
exec 9<&- "$venv/bin/python" "$@"
