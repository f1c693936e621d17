#!/usr/bin/env bash
# Shows hewn on a photograph, in one command, from a fresh clone. Sets the machine up, builds the
# library with the six kernels that the demo needs, installs it, builds and runs examples/add with
# the installed library, and runs the operators on the photograph. Takes three minutes at most on
# two cores.
#
#     ./demo.sh [PHOTO]     PHOTO is a PNG or a JPEG; default: examples/data/chelsea.png. The
#                           results are in demo-output/; open demo-output/index.html
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
prefix=$PWD/build-demo/prefix

# `stage` runs these where set -e has no effect, so each command's status is looked at.
install_hewn() {
    local component
    rm -rf "$prefix" build-demo/install.log || return
    for component in Runtime Development Tool; do
        cmake --install build-demo --prefix "$prefix" --component hewn_$component \
            >>build-demo/install.log || return
    done
}
build_example() {
    cmake -S examples/add -B build-demo/add -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_PREFIX_PATH="$prefix" >build-demo/add.log &&
        cmake --build build-demo/add
}

echo "demo.sh: sets up (a minute), builds (a minute on two cores), runs the demo"
stage "set up" scripts/setup.sh
export PATH="$PWD/.venv/bin:$PATH"
stage "configure" cmake --preset demo
stage "build" cmake --build --preset demo
stage "install" install_hewn
stage "build examples/add" build_example
stage "run examples/add" build-demo/add/add
stage "run the demo" build-demo/examples/photo_demo/photo_demo "$photo" demo-output
print_stage_times
echo "The pictures, explained: $PWD/demo-output/index.html"
