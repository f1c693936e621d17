#!/usr/bin/env bash
# Builds hewn for another system: scripts/cross.sh TARGET [-B FOLDER] [CMAKE ARGUMENT...]. TARGET is
# <os>-<arch> or wasm32: the name of a preset and of a toolchain file in cmake/toolchains/. The
# script installs the packages and wheels that the toolchain file names. It builds in FOLDER, or in
# build-TARGET/ if none is given, and leaves there hewn-<version>-TARGET.tar.gz, with headers,
# libraries and the CMake package.
set -euo pipefail
CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/.."

target=${1:-} toolchain=cmake/toolchains/${1:-}.cmake
if ! grep -q "^# packages:" "$toolchain" 2>/dev/null; then
    if [[ $target && $target != -* ]]; then echo "cross.sh: there is no target $target" >&2; fi
    echo "usage: scripts/cross.sh TARGET [-B FOLDER] [CMAKE ARGUMENT...]; TARGET is one of:" \
        $(grep -l "^# packages:" cmake/toolchains/*.cmake | xargs basename --suffix=.cmake) >&2
    exit 2
fi
shift
build=build-$target
if [[ ${1:-} == -B ]]; then build=${2:?"-B: which folder?"} && shift 2; fi

# needs packages|wheels: the words of that line in the toolchain file.
needs() { sed -n "s/^# $1: //p" "$toolchain"; }
read -r -a packages <<<"$(needs packages)"
read -r -a wheels <<<"$(needs wheels)"
scripts/setup.sh --all "${packages[@]}"
export PATH="$PWD/.venv/bin:$PATH"
if ((${#wheels[@]})); then
    python -m pip install --quiet --disable-pip-version-check --no-input --no-deps \
        --only-binary :all: "${wheels[@]}"
fi

if grep -q run-wine.sh "$toolchain"; then scripts/wine.sh; fi

rm -rf "$build/package"  # so that a build that fails leaves no package
# The generators are those of the native build.
cmake --preset default >/dev/null
cmake --build --preset default --target hewn_generators
cmake --preset "$target" -B "$build" "$@"
cmake --build "$build"

version=$(sed -n 's/^CMAKE_PROJECT_VERSION:.*=//p' "$build/CMakeCache.txt")
name=hewn-$version-$target
cmake --install "$build" --prefix "$build/package/$name" >/dev/null
tar --create --gzip --file "$build/$name.tar.gz" --directory "$build/package" --sort=name \
    --owner=0 --group=0 --numeric-owner \
    --mode=u=rwX,go=rX "$name"
echo "cross: $build/$name.tar.gz"
