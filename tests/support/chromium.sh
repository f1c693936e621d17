#!/usr/bin/env bash
# chromium.sh TOOLS PROGRAM ARGUMENT...: installs Chromium and, in the virtual environment TOOLS,
# Playwright, and runs the Python program, whose tests derive from browser.py. Exit status 77:
# Chromium or Playwright cannot be had.
set -euo pipefail
here=$(CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(realpath "$here/../..")
tools=$(realpath -m "${1:?"usage: $0 TOOLS PROGRAM ARGUMENT..."}")
shift
# Only Debian has the package: Ubuntu's is a snap.
"$root/scripts/setup.sh" chromium fonts-dejavu-core >&2 && command -v chromium >/dev/null ||
    { echo "skipped: no Chromium by apt" && exit 77; }
source "$root/scripts/venv.sh"
make_venv "$tools" "$root/bindings/web/requirements.txt"
export PYTHONPATH=$here
exec "$tools/bin/python" -B "$@"
