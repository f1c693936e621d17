# shellcheck shell=bash
# Functions and variables for the checks, which source this file. A check is called as `<form>.sh
# DIST WORK`, and WORK is empty when it begins. The exit status is 0 if the check passed, 1 if it
# failed, and 77, with the reason, if a tool that it needs cannot be installed.
set -euo pipefail
here=$(CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(realpath "$here/../..")
export PATH="$root/.venv/bin:$PATH"
dist=$(realpath "${1:?"usage: $0 DIST WORK"}") work=$(realpath -m "${2:?"usage: $0 DIST WORK"}")
# shellcheck disable=SC2034
version=$(sed -n 's/^#define HEWN_VERSION_[A-Z]* //p' "$root/include/hewn/hewn.h" | paste -sd .)
# The package's name in registries, and its spelling in the names of Python's files.
# shellcheck disable=SC2034
distribution=$(sed -n 's/^name = "\(.*\)"$/\1/p' "$root/pyproject.toml")
# shellcheck disable=SC2034
wheel_name=${distribution//-/_}
rm -rf "$work" && mkdir -p "$work"

skip() { echo "skipped: $*" >&2 && exit 77; }
fail() { echo "FAILED  $*" >&2 && exit 1; }
# only_file PATTERN: prints the one file in DIST that matches.
only_file() {
    local found
    mapfile -t found < <(compgen -G "$dist/$1")
    [[ ${#found[@]} == 1 && -e ${found[0]} ]] || fail "there is not one $1 in $dist"
    echo "${found[0]}"
}
# apt PACKAGE...: installs the packages, or skips the check.
apt() { "$root/scripts/setup.sh" "$@" >&2 || skip "no packages $*"; }
# wheel_folder MODULE SYSTEM: prints the folder of a module, whose wheel the system's toolchain file
# names. Installs the wheel if necessary.
wheel_folder() {
    local wheels
    if ! python -c "import $1" 2>/dev/null; then
        read -r -a wheels <<<"$(sed -n 's/^# wheels: //p' "$root/cmake/toolchains/$2.cmake")"
        python -m pip install --quiet --disable-pip-version-check --no-input --no-deps \
            --only-binary :all: "${wheels[@]}" >&2 || skip "no wheels ${wheels[*]}"
    fi
    python -c "import os, $1; print(os.path.dirname($1.__file__))"
}
zig() { wheel_folder ziglang macos-arm64; }
