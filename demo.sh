#!/usr/bin/env bash
# hewn on a photograph, from a fresh clone: sets the machine up, builds, runs the four operators on
# examples/data/chelsea.png (or the PNG or JPEG given), then installs the package and builds and
# runs the program of examples/add against it.
#
#     ./demo.sh [PHOTO]                     pictures go to demo-output/
set -euo pipefail
if [[ ${1-} == -h || ${1-} == --help ]]; then
    sed -n '2,/^set/{/^set/!s/^# \?//p}' "${BASH_SOURCE[0]}"
    exit
fi
photo=$(realpath -- "${1:-$(dirname "${BASH_SOURCE[0]}")/examples/data/chelsea.png}")
if [[ ! -f $photo ]]; then
    echo "demo.sh: there is no picture $photo" >&2
    exit 2
fi
CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")"
source scripts/stage.sh
photo=${photo#"$PWD/"}
prefix=$PWD/build/demo/prefix

# Joined by &&: `stage` looks at a command's status, and so set -e is off in it.
build_example() {
    cmake --install build --prefix "$prefix" >build/demo/install.log &&
        cmake -S examples/add -B build/demo/add -G Ninja -DCMAKE_BUILD_TYPE=Release \
            -DCMAKE_PREFIX_PATH="$prefix" >build/demo/add.log &&
        cmake --build build/demo/add
}

stage set-up scripts/setup.sh
export PATH="$PWD/.venv/bin:$PATH"
stage configure cmake --preset default
stage build cmake --build build --target hewn hewn_static hewn_cli photo_demo
mkdir -p build/demo
stage "photo demo" build/examples/photo_demo/photo_demo "$photo" demo-output
stage "install and build examples/add" build_example
stage "run examples/add" build/demo/add/add
print_stage_times
echo "The pictures, explained: $PWD/demo-output/index.html"
