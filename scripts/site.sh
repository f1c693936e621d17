#!/usr/bin/env bash
# Builds the site: the documents and the references of C, C++, Python and JavaScript as static HTML,
# with search, and the page that runs hewn in the browser.
#
#     scripts/site.sh [FOLDER]     writes it to FOLDER, build/site if none is given
#
# Installs what it needs: Doxygen, and in build/site-venv the wheels of site/requirements.txt. Any
# warning of these tools is an error. The page that runs hewn needs the folder build-wasm32, which
# scripts/cross.sh wasm32 makes; without it that page is left out. Exit status 77: the wheels cannot
# be had.
#
# Environment variables:
#     HEWN_SITE_SOURCES    a URL to which a path in the repository can be appended. Links to files
#                          that are not pages lead there. Without it, the site has a copy of each
#                          such file.
#     HEWN_SITE_WASM       another folder than build-wasm32
set -euo pipefail
case ${1-} in
-h | --help) sed -n '2,/^set/{/^set/!s/^# \?//p}' "${BASH_SOURCE[0]}" && exit ;;
-*) echo "site.sh: there is no option $1; --help lists them" >&2 && exit 2 ;;
esac
folder=$(realpath -m "${1:-"$(dirname "${BASH_SOURCE[0]}")/../build/site"}")
CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ -e $folder && ! -e $folder/searchindex.js ]]; then
    echo "site.sh: FOLDER: $folder exists and is no site; name another one, or remove it" >&2
    exit 2
fi
wasm=${HEWN_SITE_WASM:-build-wasm32}
venv=$PWD/build/site-venv
HEWN_SITE_WORK=$(mktemp -d)
export HEWN_SITE_WORK
trap 'rm -rf "$HEWN_SITE_WORK"' EXIT

set_up() {
    scripts/setup.sh doxygen >&2
    source scripts/venv.sh
    mkdir -p build
    make_venv "$venv" site/requirements.txt
}

# Runs Doxygen on the headers, for XML, with the settings of their HTML reference.
run_doxygen() {
    sed "s|@PROJECT_VERSION@||; s|@PROJECT_BINARY_DIR@/reference-html|$HEWN_SITE_WORK|" \
        docs/Doxyfile.in >"$HEWN_SITE_WORK/Doxyfile"
    printf '%s\n' GENERATE_HTML=NO GENERATE_XML=YES TYPEDEF_HIDES_STRUCT=YES \
        XML_PROGRAMLISTING=NO >>"$HEWN_SITE_WORK/Doxyfile"
    doxygen "$HEWN_SITE_WORK/Doxyfile"
    # Breathe leaves out an element that has only spaces, as before a keyword in an example.
    sed -i 's|</highlight><highlight class="[a-z]*">||g' "$HEWN_SITE_WORK"/xml/*.xml
}

# Writes the files of the packages that have documentation: the Python package, with the stub
# instead of the extension module, and the types of the npm package.
write_packages() {
    local table=$HEWN_SITE_WORK/operators.json python=$HEWN_SITE_WORK/python/hewn
    local types=$HEWN_SITE_WORK/types
    python3 -B -c 'from lists.files import operators_json; print(operators_json())' >"$table"
    mkdir -p "$python" "$types"
    cp bindings/python/hewn/*.py "$python"
    python3 -B bindings/python/generate.py "$table" "$python"
    { echo "from __future__ import annotations" && cat bindings/python/hewn/_hewn.pyi; } \
        >"$python/_hewn.py"
    cp bindings/web/*.d.ts "$types"
    python3 -B bindings/web/generate.py "$table" "" "$types"
}

set_up
run_doxygen
write_packages
tags=()
if [[ -e $wasm/web/hewn.wasm ]]; then
    tags=(-t browser)
else
    echo "site.sh: $wasm/web/hewn.wasm is not there, so the page that runs hewn in the browser" \
        "is left out. scripts/cross.sh wasm32 builds it."
fi
"$venv/bin/sphinx-build" -q -W --keep-going "${tags[@]}" -c site -d "$HEWN_SITE_WORK/doctrees" \
    . "$HEWN_SITE_WORK/html"
((${#tags[@]} == 0)) || examples/web/make.sh "$wasm" "$HEWN_SITE_WORK/html/browser"
rm -rf "$folder"
mkdir -p "$(dirname "$folder")"
mv "$HEWN_SITE_WORK/html" "$folder"
echo "site.sh: $folder/index.html"
