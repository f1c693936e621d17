#!/usr/bin/env bash
# packaging/python.sh ARGUMENT...
#
# Runs Python in the virtual environment build/packaging-venv, which has the wheels of
# requirements.txt. The first call makes it. With the arguments `-m conans.conan` it runs Conan. The
# exit status is 77 if the wheels cannot be installed.
set -euo pipefail
root=$(CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/scripts/venv.sh"
mkdir -p "$root/build"
make_venv "$root/build/packaging-venv" "$root/packaging/requirements.txt"
"$root/build/packaging-venv/bin/python" "$@"
