#!/usr/bin/env bash
# Looks at the site of scripts/site.sh in Chromium: site_browser_test.sh SITE WORK
#
# WORK gets screenshots. Exit status 77: Chromium or its driver cannot be had, or there is no site.
set -euo pipefail
here=$(CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(realpath "$here/../..")
site=$(realpath -m "${1:?"usage: $0 SITE WORK"}") work=$(realpath -m "$2")
[[ -e $site/index.html ]] || { echo "skipped: scripts/site.sh has not made $site" && exit 77; }
# Only Debian has the package: Ubuntu's is a snap.
"$root/scripts/setup.sh" chromium fonts-dejavu-core >&2 && command -v chromium >/dev/null ||
    { echo "skipped: no Chromium by apt" && exit 77; }
source "$root/scripts/venv.sh"
mkdir -p "$work"
make_venv "$work/tools" "$root/bindings/web/requirements.txt"
exec "$work/tools/bin/python" -B "$here/site_browser_test.py" "$site" "$work"
