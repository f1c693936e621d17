#!/usr/bin/env bash
# Builds and packs everything that a release consists of: scripts/release.sh [OPTION...]
#
#     --quick       one kernel of each operator, for CPUs alone: in minutes, as ./test.sh --all does it
#     --check       uses each artefact as its user would (docs/packages.md)
#     --sign FILE   signs SHA256SUMS with this minisign secret key
#     -B FOLDER     builds in this folder instead of build-packages/, and packs in its dist/
#
# Leaves the artefacts in dist/. What is built for a system is what the line `# package:` of its
# toolchain file in cmake/toolchains/ says: its targets, and further flavours as NAME=TARGETS. The
# line `# wheel:` has the platform of the system's Python wheel; --quick makes x86-64 Linux's alone.
set -euo pipefail
CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/stage.sh

quick=0 check=0 key="" folder=$PWD/build-packages dist=$PWD/dist
while (($#)); do
    case $1 in
    -h | --help) sed -n '2,/^set/{/^set/!s/^# \?//p}' "${BASH_SOURCE[0]}" && exit ;;
    --quick) quick=1 ;;
    --check) check=1 ;;
    --sign) key=$(realpath -- "${2:?"--sign: which key?"}") && shift ;;
    -B) folder=$(realpath -m -- "${2:?"-B: which folder?"}") && dist=$folder/dist && shift ;;
    *) echo "release.sh: $1 is no option; --help lists them" >&2 && exit 2 ;;
    esac
    shift
done
# What is packed has this time.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct || stat --format=%Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH HEWN_SIGNATURES="" HEWN_TARGETS=""
if ((quick)); then
    HEWN_TARGETS=cpu HEWN_SIGNATURES=$one_kernel_each
fi

# quietly LOG COMMAND...: shows the end of its output if it fails.
quietly() {
    local log=$1 status=0
    shift
    "$@" >"$log" 2>&1 || status=$?
    if ((status)); then tail -n 30 "$log" >&2; fi
    return "$status"
}

# build SYSTEM NAME TARGETS: builds and installs it in stage/NAME, its debug symbols in debug/NAME.
# Debug information names files relative to the sources' folder.
build() {
    local system=$1 name=$2 targets=$3 stage=$folder/stage/$2 release="-O3 -DNDEBUG"
    local ort=OFF
    case $system in
    linux-* | android-* | windows-x86_64)
        release+=" -g1 -ffile-prefix-map='$PWD'=. -ffile-prefix-map='$folder/$name'=build"
        ;;
    esac
    # ONNX Runtime's provider, which has no use for GPUs' kernels, where its wheels are for.
    if [[ $targets == cpu && $system =~ ^(linux-gnu|windows)- ]]; then ort=ON; fi
    quietly "$folder/$name.log" scripts/cross.sh "$system" -B "$folder/$name" \
        "-DHEWN_TARGETS=$targets" "-DHEWN_SIGNATURES=$HEWN_SIGNATURES" \
        "-DCMAKE_C_FLAGS_RELEASE=$release" "-DCMAKE_CXX_FLAGS_RELEASE=$release" \
        -DCMAKE_INSTALL_LIBDIR=lib "-DHEWN_BUILD_ORT=$ort" \
        -DHEWN_BUILD_TESTS=OFF -DHEWN_BUILD_EXAMPLES=OFF || return
    rm -rf "$stage" "$folder/debug/$name"
    mkdir -p "$folder/stage"
    cp -a "$folder/$name"/package/*/ "$stage" || return
    split_debug_symbols "$stage" "$folder/debug/$name"
}

# Of pthread_atfork, which is in glibc's static part for ARM64, and of the C++ library in ONNX
# Runtime's provider, zig brings debug information that names the folder of a wheel of zig, of this
# folder's or, from zig's cache, of another's: there names of functions are kept.
names_zigs_folder() {
    LC_ALL=C grep --quiet --text --perl-regexp '\x00/[^\x00]*/ziglang/lib/' "$1"
}

# split_debug_symbols STAGE DEBUG.
split_debug_symbols() {
    local stage=$1 debug=$2 library symbols objcopy=llvm-objcopy
    if [[ $stage == *windows-arm64* ]]; then return; fi  # its symbols would be in a PDB
    if [[ $stage == *windows-x86_64* ]]; then objcopy=x86_64-w64-mingw32-objcopy; fi
    while IFS= read -r library; do
        symbols=$debug/${library##*/}.debug
        mkdir -p "$debug" && $objcopy --only-keep-debug "$library" "$symbols" &&
            { ! names_zigs_folder "$symbols" || llvm-objcopy --strip-debug "$symbols"; } &&
            $objcopy --strip-debug --add-gnu-debuglink="$symbols" "$library" || return
    done < <(find "$stage" -type f \( -name 'libhewn.so*' -o -name hewn.dll -o -name hewn.exe \
        -o -name '*onnxruntime_providers_hewn.*' \))
    if [[ -d $debug && -f $stage/lib/libhewn.a ]]; then
        llvm-strip --strip-debug "$stage/lib/libhewn.a"
    fi
}

build_all() {
    local toolchain system flavour flavours
    mkdir -p "$folder"
    for toolchain in $(grep --files-with-matches '^# package:' cmake/toolchains/*.cmake); do
        system=$(basename "$toolchain" .cmake)
        read -r -a flavours <<<"$(sed -n 's/^# package: *//p' "$toolchain")"
        if ((quick)); then flavours=(cpu); fi
        for flavour in "${flavours[@]}"; do
            case $flavour in
            *=*) stage "$system, ${flavour%%=*}" build "$system" "$system-${flavour%%=*}" \
                "${flavour#*=}" ;;
            *) stage "$system" build "$system" "$system" "$flavour" ;;
            esac
        done
    done
}

# build_wheel SYSTEM: the Python package of a system that is built, without GPUs' kernels if it is
# built without them, in python/SYSTEM.
build_wheel() {
    local system=$1 stage=$folder/stage/$1-cpu
    [[ -d $stage ]] || stage=$folder/stage/$system
    local defines=(-DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG"
        "-DHEWN_ROOT=$stage" "-DHEWN_PYTHON_HEADERS=$folder/python-headers"
        "-DHEWN_NANOBIND=$(packaging/python.sh -c 'import nanobind as n; print(n.__path__[0])')")
    rm -rf "$folder/python/$system"
    cmake -S bindings/python -B "$folder/python-$system" -G Ninja \
        --toolchain "$PWD/cmake/toolchains/$system.cmake" "${defines[@]}" &&
        cmake --build "$folder/python-$system" &&
        cmake --install "$folder/python-$system" --prefix "$folder/python/$system" \
            --component python
}

build_wheels() {
    local toolchain system status=0
    rm -rf "$folder/python"
    packaging/python_headers.sh "$folder/python-headers" || status=$?
    if ((status == 77)); then return; fi
    for toolchain in $(grep --files-with-matches '^# wheel:' cmake/toolchains/*.cmake); do
        system=$(basename "$toolchain" .cmake)
        if ((quick)) && [[ $system != linux-gnu-x86_64 ]]; then continue; fi
        PATH=$PWD/.venv/bin:$PATH stage "wheel: $system" \
            quietly "$folder/python-$system.log" build_wheel "$system" || return
    done
}

pack() {
    local python=(packaging/python.sh packaging/pack.py --stage "$folder/stage" --dist "$dist"
        --debug "$folder/debug" --python "$folder/python" --forbid "$PWD" "$folder" --)
    rm -rf "$dist" && mkdir -p "$dist" && cp "$folder"/deb/*.deb "$dist" && "${python[@]}" || return
    if [[ $key ]]; then
        scripts/setup.sh minisign && minisign -S -s "$key" -m "$dist/SHA256SUMS"
    fi
}

check_all() {
    local form status=0 failed=0
    mkdir -p "$folder/check"
    for form in packaging/check/*.sh; do
        form=$(basename "$form" .sh)
        if [[ $form == lib ]]; then continue; fi
        status=0
        stage "check: $form" "packaging/check/$form.sh" "$dist" "$folder/check/$form" || status=$?
        if ((status != 0 && status != 77)); then failed=1; fi
    done
    return $failed
}

stage set-up scripts/setup.sh --all debhelper lintian
build_all
stage deb quietly "$folder/deb.log" packaging/deb.sh "$folder/deb"
build_wheels
stage pack pack
status=0
if ((check)); then check_all || status=$?; fi
print_stage_times
exit $status
