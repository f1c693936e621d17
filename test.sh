#!/usr/bin/env bash
# Sets the machine up, builds hewn and tests it, in one command. Ends with ctest's summary.
#
#     ./test.sh [CTEST ARGUMENT...]          tests what a program on x86-64 Linux uses: the library
#                                            with all its kernels, the command line tool, the Python
#                                            package and the installed CMake package. Ten minutes at
#                                            most on two cores, 2 GB of disk.
#     ./test.sh --all [CTEST ARGUMENT...]    tests everything, as CI does: also ARM on emulated CPUs,
#                                            Windows under Wine, WebAssembly in Node.js and a
#                                            browser, ONNX Runtime, sanitizers, exhaustive sweeps,
#                                            packages, documents and lint. About an hour on two
#                                            cores, 6 GB of disk.
#
#     ./test.sh -R variants.x86_64_avx2      builds the same, but runs only the tests whose names
#                                            match
set -euo pipefail
all=0 arguments=()
for argument; do
    case $argument in
    -h | --help) sed -n '2,/^set/{/^set/!s/^# \?//p}' "${BASH_SOURCE[0]}" && exit ;;
    --all) all=1 ;;
    *) arguments+=("$argument") ;;
    esac
done
CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")"
source scripts/stage.sh

build_for_others() {
    local wine=0
    stage "build for ARM64" scripts/cross.sh linux-arm64
    stage "build for 32-bit x86" scripts/cross.sh linux-x86
    stage "build for WebAssembly" scripts/cross.sh wasm32
    # Without Wine ctest lists its tests as one that is skipped.
    scripts/wine.sh || wine=$?
    case $wine in
    # One target of each kind of device: its kernels have Windows' calling convention, and those of
    # other targets differ as they do on Linux. The packages have all targets.
    0) stage "build for Windows" scripts/cross.sh windows-x86_64 \
        "-DHEWN_TARGETS=x86_64_sse41;opencl;d3d12;cuda_sm80" ;;
    77) rm -rf build-windows-x86_64 ;;
    *) exit "$wine" ;;
    esac
    stage "packages" scripts/release.sh --quick -B build-packages-quick
}

if ((all)); then
    echo "test.sh: sets up, builds for this system and others, runs all tests: about an hour on" \
        "two cores"
    stage "set up" scripts/setup.sh --all
    stage "set up the tuner" ./tune.sh --set-up
else
    echo "test.sh: sets up (1 to 2 minutes), builds (4 minutes on two cores), runs the tests of" \
        "this system (3 minutes)"
    stage "set up" scripts/setup.sh --tests
fi
export PATH="$PWD/.venv/bin:$PATH"
stage "configure" cmake --preset default
stage "build" cmake --build --preset quick
if ((!all)); then
    print_stage_times
    exec ctest --preset quick "${arguments[@]}"
fi
stage "build the other tests" cmake --build --preset default
build_for_others
print_stage_times
exec ctest --preset default "${arguments[@]}"
