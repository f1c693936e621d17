#!/usr/bin/env bash
# Builds and packs everything that a release consists of: scripts/release.sh [OPTION...] [FORM...]
#
#     --quick       few kernels, for CPUs alone: as ./test.sh does it, in minutes
#     --check       uses each artefact as its user would (docs/packages.md)
#     --sign FILE   signs SHA256SUMS with this minisign secret key
#     -B FOLDER     the folder to build in; build-packages/ if none is given
#
# Leaves the artefacts in dist/, or FOLDER/dist/ if one is given. What is built for a system is what
# the line `# package:` of its toolchain file in cmake/toolchains/ says: its targets, and further
# flavours as NAME=TARGETS.
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
# The release's time, for all that notes one.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

# One kernel of each operator.
signatures="" shader_compiler=()
if ((quick)); then
    signatures="add_f32;quantize_linear_f32_u8;dequantize_linear_u8_f32"
    signatures+=";quantized_linear_add_u8_u8_u8;quantized_linear_mul_u8_u8"
fi

# build SYSTEM NAME TARGETS: builds and installs it in stage/NAME, and its debug symbols in
# debug/NAME. Debug information names files as from the source's folder.
build() {
    local system=$1 name=$2 targets=$3 stage=$folder/stage/$2 release="-O3 -DNDEBUG" arguments=()
    case $system in
    linux-* | android-* | windows-x86_64)
        release+=" -g1 -ffile-prefix-map=$PWD=. -ffile-prefix-map=$folder/$name=build"
        ;;
    esac
    if [[ $system == windows-x86_64 && $targets == *gpu* ]]; then scripts/wine.sh; fi
    scripts/cross.sh "$system" -B "$folder/$name" "-DHEWN_TARGETS=$targets" "-DHEWN_SIGNATURES=$signatures" \
        "-DCMAKE_C_FLAGS_RELEASE=$release" "-DCMAKE_CXX_FLAGS_RELEASE=$release" -DCMAKE_INSTALL_LIBDIR=lib \
        -DHEWN_BUILD_TESTS=OFF -DHEWN_BUILD_EXAMPLES=OFF >"$folder/$name.log" 2>&1 ||
        { tail -n 30 "$folder/$name.log" && return 1; }
    rm -rf "$stage" "$folder/debug/$name"
    mkdir -p "$folder/stage"
    cp -a "$folder/$name"/package/*/ "$stage"
    split_debug_symbols "$stage" "$folder/debug/$name"
}

split_debug_symbols() {
    local stage=$1 debug=$2 library
    while IFS= read -r library; do
        mkdir -p "$debug"
        llvm-objcopy --only-keep-debug "$library" "$debug/${library##*/}.debug"
        llvm-objcopy --strip-all --add-gnu-debuglink="$debug/${library##*/}.debug" "$library"
    done < <(find "$stage" -type f \( -name 'libhewn.so*' -o -name hewn.dll \))
    if [[ -d $debug && -f $stage/lib/libhewn.a ]]; then llvm-strip --strip-debug "$stage/lib/libhewn.a"; fi
}

build_all() {
    local toolchain system line flavour
    for toolchain in $(grep --files-with-matches '^# package:' cmake/toolchains/*.cmake); do
        system=$(basename "$toolchain" .cmake)
        line=$(sed -n 's/^# package: *//p' "$toolchain")
        for flavour in $line; do
            if [[ $flavour != *=* ]]; then
                if ((quick)); then flavour=cpu; fi
                stage "$system" build "$system" "$system" "$flavour"
            elif ! ((quick)); then
                stage "$system-${flavour%%=*}" build "$system" "$system-${flavour%%=*}" "${flavour#*=}"
            fi
        done
    done
}

pack() {
    rm -rf "$dist" && mkdir -p "$dist"
    build-packages-venv/bin/python packaging/pack.py --stage "$folder/stage" --debug "$folder/debug" --dist "$dist" --forbid "$PWD"
}

stage set-up scripts/setup.sh
build_all
print_stage_times
