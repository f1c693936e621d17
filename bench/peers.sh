#!/usr/bin/env bash
# Builds XNNPACK or oneDNN, with which bench/run.sh compares hewn, from source trees that you have.
# Use it if you want newer versions than the packages of your distribution:
#
#     bench/peers.sh XNNPACK CPUINFO PTHREADPOOL FXDIV    XNNPACK, and the libraries that it needs
#     bench/peers.sh ONEDNN                               oneDNN
#
# The arguments are the folders of these projects' repositories, in any order. The script recognizes
# a project by its files. You can name the folders of both in one call. The result is in
# build/peers/xnnpack and build/peers/onednn, and the script prints the options with which
# bench/run.sh uses it. It downloads nothing, with one exception: if CC is not set and no compiler on
# the machine is new enough for XNNPACK, it installs one with apt.
set -euo pipefail
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    sed -n '2,/^set/{/^set/!s/^# \?//p}' "${BASH_SOURCE[0]}" && exit
fi
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
fail() { echo "peers.sh: $1" >&2 && exit 1; }
to=$root/build/peers
(($#)) || fail "which folders? See --help"

# The header by which a project's source tree is recognized, and the project's name.
declare -A header=([xnnpack]=include/xnnpack.h [cpuinfo]=include/cpuinfo.h
    [pthreadpool]=include/pthreadpool.h [fxdiv]=include/fxdiv.h
    [onednn]=include/oneapi/dnnl/dnnl.hpp)
declare -A name=([xnnpack]=XNNPACK [cpuinfo]=cpuinfo [pthreadpool]=pthreadpool [fxdiv]=FXdiv
    [onednn]=oneDNN) tree=()
for folder; do
    found=''
    for library in "${!header[@]}"; do
        if [[ -f $folder/CMakeLists.txt && -f $folder/${header[$library]} ]]; then
            found=$library
        fi
    done
    [[ $found ]] || fail "$folder is no source tree of: $(printf '%s\n' "${name[@]}" | sort |
        paste -sd' ')"
    tree[$found]=$(realpath "$folder")
done
if [[ ${tree[xnnpack]:-} ]]; then
    for library in cpuinfo pthreadpool fxdiv; do
        [[ ${tree[$library]:-} ]] ||
            fail "XNNPACK needs the source tree of ${name[$library]} as well"
    done
elif [[ ! ${tree[onednn]:-} ]]; then
    fail "neither XNNPACK nor oneDNN is among the folders"
fi

"$root/scripts/setup.sh"
export PATH="$root/.venv/bin:$PATH"
cd "$root"
mkdir -p "$to"

# build NAME OPTION...: configures, builds and installs it.
build() {
    local log=$to/$1.log
    echo "peers.sh: building ${name[$1]}: minutes (log: $log)"
    rm -rf "${to:?}/$1"
    { cmake --fresh -G Ninja -S "${tree[$1]}" -B "$to/$1-build" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_INSTALL_PREFIX="$to/$1" "${@:2}" &&
        cmake --build "$to/$1-build" --target install; } >"$log" 2>&1 ||
        { tail -20 "$log" >&2 && fail "${name[$1]} does not build: $log"; }
}

# knows_fp16 COMPILER: whether XNNPACK's build compiles its kernels for AVX512-FP16 with this clang
# or GCC. Below clang 15 and GCC 13 it silently leaves them out.
knows_fp16() {
    local major
    command -v "$1" >/dev/null || return 1
    major=$("$1" -dumpversion | cut -d. -f1)
    if [[ $1 == gcc* ]]; then ((major >= 13)); else ((major >= 15)); fi
}
choose_compiler() {
    local newest
    compiler=${CC:-}
    if [[ $compiler ]]; then return; fi
    for compiler in gcc clang clang-{25..15} gcc-{18..13}; do
        if knows_fp16 "$compiler"; then return; fi
    done
    newest=$(apt-cache pkgnames clang- | grep -xE 'clang-[0-9]+' | sort -t- -k2n | tail -1 || true)
    if [[ $newest ]] && scripts/setup.sh "$newest" && knows_fp16 "$newest"; then
        compiler=$newest
    else
        compiler=gcc
    fi
}

# revision FOLDER: the commit and its date if the folder itself is a git repository, else its name.
revision() {
    if [[ $(git -C "$1" rev-parse --show-toplevel 2>/dev/null) == "$1" ]]; then
        git -C "$1" log -1 --format='%h of %cs'
    else
        echo "of $(basename "$1")"
    fi
}

options=()
if [[ ${tree[xnnpack]:-} ]]; then
    choose_compiler
    build xnnpack -DCMAKE_C_COMPILER="$compiler" -DCMAKE_CXX_COMPILER="$(
        sed -E 's,(^|/)gcc([^/]*)$,\1g++\2,; s,(^|/)clang([^/]*)$,\1clang++\2,' <<<"$compiler")" \
        -DXNNPACK_LIBRARY_TYPE=static -DXNNPACK_BUILD_TESTS=OFF -DXNNPACK_BUILD_BENCHMARKS=OFF \
        -DXNNPACK_BUILD_ALL_MICROKERNELS=OFF -DXNNPACK_ENABLE_KLEIDIAI=OFF \
        -DCPUINFO_SOURCE_DIR="${tree[cpuinfo]}" -DPTHREADPOOL_SOURCE_DIR="${tree[pthreadpool]}" \
        -DFXDIV_SOURCE_DIR="${tree[fxdiv]}" -DFXDIV_BUILD_TESTS=OFF -DFXDIV_BUILD_BENCHMARKS=OFF
    about="$(revision "${tree[xnnpack]}"), by $compiler"
    if [[ $(uname -m) == x86_64 ]]; then
        kernels=with
        count=$(nm "$to"/xnnpack/lib*/libxnnpack-microkernels-prod.a 2>/dev/null |
            grep -c avx512fp16 || true)
        if ((count == 0)); then
            kernels=without
            echo "peers.sh: XNNPACK has no kernels for AVX512-FP16, which it leaves out below" \
                "clang 15 and GCC 13 ($("$compiler" --version | head -1)): f16 could be faster" >&2
        fi
        about+=", $kernels AVX512-FP16"
    fi
    echo "$about" >"$to/xnnpack/version"
    options+=(--xnnpack-prefix "$to/xnnpack")
fi
if [[ ${tree[onednn]:-} ]]; then
    build onednn -DONEDNN_BUILD_TESTS=OFF -DONEDNN_BUILD_EXAMPLES=OFF -DONEDNN_BUILD_GRAPH=OFF \
        -DONEDNN_CPU_RUNTIME=OMP -DONEDNN_ENABLE_WORKLOAD=INFERENCE \
        "-DONEDNN_ENABLE_PRIMITIVE=BINARY;ELTWISE;REORDER" -DONEDNN_ENABLE_GEMM_KERNELS_ISA=NONE
    options+=(--onednn-prefix "$to/onednn")
fi
echo "peers.sh: bench/run.sh ${options[*]}"
