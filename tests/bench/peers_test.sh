#!/usr/bin/env bash
# Checks what bench/peers.sh refuses and prints, with source trees that only look like the peers':
# peers_test.sh SOURCE SCRATCH-FOLDER
set -euo pipefail
source=$1 scratch=$2
failed=0
rm -rf "$scratch" && mkdir -p "$scratch"/{bench,scripts}
# bench/peers.sh builds below its own root.
cp "$source/bench/peers.sh" "$scratch/bench"
ln -s "$source/.venv" "$scratch/.venv"
ln -s /bin/true "$scratch/scripts/setup.sh"

# check STATUS TEXT ARGUMENT...: checks the exit status and a part of the output.
check() {
    local output status=0
    output=$("$scratch/bench/peers.sh" "${@:3}" 2>&1) || status=$?
    if [[ $status == "$1" && $output == *"$2"* ]]; then echo "ok      $2"; else
        printf 'FAILED  %s: exit status %s, no "%s" in: %s\n' "${*:3}" "$status" "$2" "$output"
        failed=1
    fi
}

# fake NAME HEADER CMAKE-CODE: makes a source tree.
fake() {
    mkdir -p "$(dirname "$scratch/$1/$2")"
    touch "$scratch/$1/$2"
    printf 'cmake_minimum_required(VERSION 3.20)\nproject(%s NONE)\n%s\n' "$1" "$3" \
        >"$scratch/$1/CMakeLists.txt"
}
onednn=include/oneapi/dnnl/dnnl.hpp
fake xnnpack include/xnnpack.h 'install(FILES include/xnnpack.h DESTINATION include)'
fake cpuinfo include/cpuinfo.h ''
fake pthreadpool include/pthreadpool.h ''
fake fxdiv include/fxdiv.h ''
fake onednn $onednn "install(FILES $onednn DESTINATION include)"
fake broken $onednn 'message(FATAL_ERROR "this tree is broken")'
cd "$scratch"
mkdir other

check 1 "which folders?"
check 1 "other is no source tree of: FXdiv XNNPACK cpuinfo oneDNN pthreadpool" onednn other
check 1 "XNNPACK needs the source tree of pthreadpool as well" xnnpack cpuinfo fxdiv
check 1 "neither XNNPACK nor oneDNN is among the folders" cpuinfo
check 1 "oneDNN does not build: $scratch/build/peers/onednn.log" broken
check 1 "this tree is broken" broken
check 0 "bench/run.sh --onednn-prefix $scratch/build/peers/onednn" onednn
if [[ $(uname -m) == x86_64 ]]; then
    CC=$(command -v gcc) && export CC
    check 0 "XNNPACK has no kernels for AVX512-FP16" fxdiv xnnpack cpuinfo pthreadpool
    grep -q "without AVX512-FP16" build/peers/xnnpack/version ||
        { echo "FAILED  without" && failed=1; }
    seq 9999 | sed 's/.*/void kernel_&_avx512fp16(void) {}/' | gcc -x c -c - -o kernels.o
    ar rc xnnpack/libxnnpack-microkernels-prod.a kernels.o
    echo 'install(FILES libxnnpack-microkernels-prod.a DESTINATION lib)' >>xnnpack/CMakeLists.txt
    check 0 "bench/run.sh --xnnpack-prefix" fxdiv xnnpack cpuinfo pthreadpool
    # The version must not be the revision of the repository that has the scratch folder in it.
    grep -qx "of xnnpack, by $CC, with AVX512-FP16" build/peers/xnnpack/version ||
        { echo "FAILED  with: $(<build/peers/xnnpack/version)" && failed=1; }
    grep -q "^CMAKE_CXX_COMPILER:.*/g++$" build/peers/xnnpack-build/CMakeCache.txt ||
        { echo "FAILED  C++ by the same compiler" && failed=1; }
fi

exit $failed
