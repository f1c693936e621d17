#!/usr/bin/env bash
# python_headers.sh FOLDER: leaves Python.h of 3.12 or newer, with what it includes, in FOLDER, for
# extensions on the stable ABI: this system's, else those of the next Debian or Ubuntu with such a
# Python, by apt. Their pyconfig.h is for this system; bindings/python/cross has one for all. Exit
# status 77: there are none.
set -euo pipefail
root=$(CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(realpath -m "${1:?"usage: $0 FOLDER"}")
skip() { echo "skipped: no headers of Python 3.12 or newer: $*" >&2 && exit 77; }
if [[ -f $folder/Python.h ]]; then exit; fi

of_this_system() {
    /usr/bin/python3 -c 'import sys; sys.exit(sys.version_info < (3, 12))' &&
        "$root/scripts/setup.sh" libpython3-dev >&2 &&
        /usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("include"))'
}

# The package of a newer system, from the mirror that this one's apt uses, unpacked in WORK.
of_newer_system() {
    local work=$1 name suite package site options
    name=$(. /etc/os-release && echo "$ID")
    case $name in
    debian) suite=trixie package=libpython3.13-dev ;;
    ubuntu) suite=noble package=libpython3.12-dev ;;
    *) skip "$name is neither Debian nor Ubuntu" ;;
    esac
    site=$(apt-get indextargets --format "\$(SITE)" "Origin: ${name^}" | sort -u | head -1)
    mkdir -p "$work"/{state,cache} && cd "$work"
    echo "deb [signed-by=/usr/share/keyrings/$name-archive-keyring.gpg] $site $suite main" >sources
    : >status
    options=(-qq -o "Dir::Etc::SourceList=$work/sources" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State=$work/state" -o "Dir::State::status=$work/status"
        -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root -o Acquire::Languages=none)
    apt-get "${options[@]}" update >&2 && apt-get "${options[@]}" download "$package" >&2 ||
        skip "apt has no $package of $suite"
    dpkg-deb --extract "$package"_*.deb .
    echo "$work"/usr/include/python3.*
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
found=$(of_this_system || of_newer_system "$work")
mkdir -p "$folder"
cp -RL "$found/." "$folder"
rm "$folder/pyconfig.h"
