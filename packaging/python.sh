#!/usr/bin/env bash
# packaging/python.sh ARGUMENT...: Python with the wheels of requirements.txt, in the virtual
# environment build/packaging-venv, which the first call makes. `-m conans.conan` is Conan. Exit
# status 77: the wheels cannot be had.
set -euo pipefail
root=$(CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/scripts/venv.sh"
mkdir -p "$root/build"
make_venv "$root/build/packaging-venv" "$root/packaging/requirements.txt"
"$root/build/packaging-venv/bin/python" "$@"
