#!/usr/bin/env bash
# make.sh BUILD FOLDER
#
# Puts the page and the npm package of a build (scripts/cross.sh wasm32) into FOLDER, together with
# the conformance cases. Any static server can serve it: python3 -m http.server --directory FOLDER
set -euo pipefail
here=$(CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(realpath "$here/../..")
(($# == 2)) || { echo "usage: $0 BUILD FOLDER" >&2 && exit 2; }
build=$(realpath "$1") folder=$(realpath -m "$2")
rm -rf "$folder" && mkdir -p "$folder/hewn" "$folder/data"
cp "$here"/{index.html,page.mjs,clock.mjs} "$root/examples/data/chelsea.png" "$folder"
cp -R "$build/web/." "$root/bindings/web/tests" "$folder/hewn"
cp "$root"/tests/data/*.jsonl "$folder/data"
python3 -c 'import json, os, sys; print(json.dumps(sorted(os.listdir(sys.argv[1]))))' \
    "$folder/data" >"$folder/index.json"
mv "$folder/index.json" "$folder/data"
