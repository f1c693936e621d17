#!/usr/bin/env bash
# Builds all packages of a release and leaves them in dist/: scripts/release.sh [OPTION...]
# docs/packages.md says what they are and how to use them.
#
#     --only FORM       builds one package, for one system, and adds it to dist/. FORM is `wheel`
#                       (the Python package), `onnxruntime` (the wheel of the provider for ONNX
#                       Runtime) or `archive` (headers and libraries)
#     --system SYSTEM   with --only: builds for this system, such as linux-musl-arm64, instead of
#                       this machine's
#     --quick           builds one kernel of each operator, only for CPUs, with little optimization;
#                       takes minutes. ./test.sh --all does it
#     --check           then uses each package as its user would
#     --sign FILE       signs SHA256SUMS with the minisign secret key in FILE
#     -B FOLDER         builds in FOLDER instead of build-packages/, and packs in FOLDER/dist/
#     --dist FOLDER     packs in FOLDER instead of dist/
#
# The toolchain files in cmake/toolchains/ say what is built for each system. Their line `# package:`
# names the targets, and further flavours as NAME=TARGETS. Their line `# wheel:` names the platform
# of the Python wheels. With --quick there are Python wheels for x86-64 Linux only: one on the stable
# ABI, and one for this machine's own Python if that is older.
set -euo pipefail
CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/stage.sh
source packaging/interpreters.sh

quick=0 check=0 key="" only="" system="" folder="" dist=""
while (($#)); do
    case $1 in
    -h | --help) sed -n '2,/^set/{/^set/!s/^# \?//p}' "${BASH_SOURCE[0]}" && exit ;;
    --quick) quick=1 ;;
    --check) check=1 ;;
    --only) only=${2:?"--only: which form?"} && shift ;;
    --system) system=${2:?"--system: which one?"} && shift ;;
    --sign) key=$(realpath -- "${2:?"--sign: which key?"}") && shift ;;
    -B) folder=$(realpath -m -- "${2:?"-B: which folder?"}") && shift ;;
    --dist) dist=$(realpath -m -- "${2:?"--dist: which folder?"}") && shift ;;
    *) echo "release.sh: $1 is no option; --help lists them" >&2 && exit 2 ;;
    esac
    shift
done
dist=${dist:-${folder:-$PWD}/dist} folder=${folder:-$PWD/build-packages}
case $only in
"" | wheel | onnxruntime | archive) ;;
*) echo "release.sh: --only: there is no form $only; it is wheel, onnxruntime or archive" >&2 &&
    exit 2 ;;
esac
if [[ $only && $check$key != 0 ]]; then
    echo "release.sh: --check and --sign are for a whole release, not for --only" >&2 && exit 2
fi
if [[ $system && ! $only ]]; then
    echo "release.sh: --system is for --only; without it every system is built" >&2 && exit 2
fi
# The tags of the Python wheels that each system gets: one for the stable ABI, which Python 3.12 and
# newer use, and one for each Python that cannot use it.
tags=(cp310-cp310 cp311-cp311 cp312-abi3 cp313-cp313t)
# The folders of the systems' installations, debug symbols and Python packages. With --only they are
# other folders, which hold nothing else.
stages=$folder/stage symbols=$folder/debug pythons=$folder/python
if [[ $only ]]; then
    stages=$folder/only/stage symbols=$folder/only/debug pythons=$folder/only/python
fi
# The time of all files in packages.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct || stat --format=%Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH HEWN_SIGNATURES="" HEWN_TARGETS=""
library_optimization=-O3 wheel_optimization=-O2
if ((quick)); then
    HEWN_TARGETS=cpu HEWN_SIGNATURES=$one_kernel_each
    library_optimization=-O1 wheel_optimization=-O1
    export DEB_CFLAGS_APPEND="-O1 -g1" DEB_CXXFLAGS_APPEND="-O1 -g1"
fi

# quietly LOG COMMAND...: runs the command with its output in LOG, and shows the end of LOG if it
# fails.
quietly() {
    local log=$1 status=0
    shift
    "$@" >"$log" 2>&1 || status=$?
    if ((status)); then tail -n 30 "$log" >&2; fi
    return "$status"
}

# build SYSTEM NAME TARGETS: builds hewn for the system with these targets, and installs it in
# $stages/NAME and its debug symbols in $symbols/NAME. Debug information names files relative to the
# folder of the sources.
build() {
    local system=$1 name=$2 targets=$3 stage=$stages/$2 release="$library_optimization -DNDEBUG"
    local ort=OFF
    case $system in
    linux-* | android-* | windows-x86_64)
        release+=" -g1 -ffile-prefix-map='$PWD'=. -ffile-prefix-map='$folder/$name'=build"
        ;;
    esac
    # The provider for ONNX Runtime is built for the systems that its wheels are for. It has no use
    # for GPUs' kernels.
    if [[ $targets == cpu && $system =~ ^(linux-gnu|windows)- ]]; then ort=ON; fi
    quietly "$folder/$name.log" scripts/cross.sh "$system" -B "$folder/$name" \
        "-DHEWN_TARGETS=$targets" "-DHEWN_SIGNATURES=$HEWN_SIGNATURES" \
        "-DCMAKE_C_FLAGS_RELEASE=$release" "-DCMAKE_CXX_FLAGS_RELEASE=$release" \
        -DCMAKE_INSTALL_LIBDIR=lib "-DHEWN_BUILD_ORT=$ort" \
        -DHEWN_BUILD_TESTS=OFF -DHEWN_BUILD_EXAMPLES=OFF || return
    rm -rf "$stage" "${symbols:?}/$name"
    mkdir -p "$stages"
    cp -a "$folder/$name"/package/*/ "$stage" || return
    split_debug_symbols "$stage" "$symbols/$name"
}

# names_zigs_folder FILE: whether debug symbols name the folder of a wheel of zig. zig brings such
# debug information for pthread_atfork, which is in glibc's static part for ARM64, and for the C++
# library in the provider for ONNX Runtime. The wheel may be another checkout's, by zig's cache. Of
# such files only the names of functions are kept.
names_zigs_folder() {
    LC_ALL=C grep --quiet --text --perl-regexp '\x00/[^\x00]*/ziglang/lib/' "$1"
}

# split_debug_symbols STAGE DEBUG: moves the debug symbols of the libraries and programs in STAGE to
# files in DEBUG.
split_debug_symbols() {
    local stage=$1 debug=$2 library file objcopy=llvm-objcopy
    if [[ $stage == *windows-arm64* ]]; then return; fi  # its symbols would be in a PDB
    if [[ $stage == *windows-x86_64* ]]; then objcopy=x86_64-w64-mingw32-objcopy; fi
    while IFS= read -r library; do
        file=$debug/${library##*/}.debug
        mkdir -p "$debug" && $objcopy --only-keep-debug "$library" "$file" &&
            { ! names_zigs_folder "$file" || llvm-objcopy --strip-debug "$file"; } &&
            $objcopy --strip-debug --add-gnu-debuglink="$file" "$library" || return
    done < <(find "$stage" -type f \( -name 'libhewn.so*' -o -name hewn.dll -o -name hewn.exe \
        -o -name '*onnxruntime_providers_hewn.*' \))
    if [[ -d $debug && -f $stage/lib/libhewn.a ]]; then
        llvm-strip --strip-debug "$stage/lib/libhewn.a"
    fi
}

# systems_with package|wheel: prints the systems whose toolchain file has a line `# package:` or
# `# wheel:`.
systems_with() {
    grep --files-with-matches "^# $1:" cmake/toolchains/*.cmake | xargs basename --suffix=.cmake
}

# Builds every system that has packages, with all its flavours.
build_all() {
    local system flavour flavours
    mkdir -p "$folder"
    for system in $(systems_with package); do
        read -r -a flavours <<<"$(sed -n 's/^# package: *//p' "cmake/toolchains/$system.cmake")"
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

# build_wheel SYSTEM TAG: builds the Python package of a system, which must have been built, in
# $pythons/SYSTEM/TAG. If there is a build of the system without GPUs' kernels, the package uses
# that.
build_wheel() {
    local system=$1 tag=$2 stage=$stages/$1-cpu build=$folder/python-$1-$2
    [[ -d $stage ]] || stage=$stages/$system
    local nanobind
    nanobind=$(packaging/python.sh -c 'import nanobind as n; print(n.__path__[0])') || return
    local defines=(-DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=$wheel_optimization -DNDEBUG"
        "-DHEWN_ROOT=$stage" "-DHEWN_PYTHON_TAG=$tag"
        "-DHEWN_PYTHON_HEADERS=$folder/python-headers/$(version_of_tag "$tag")"
        "-DHEWN_NANOBIND=$nanobind")
    rm -rf "$pythons/${system:?}/$tag"
    cmake -S bindings/python -B "$build" -G Ninja \
        --toolchain "$PWD/cmake/toolchains/$system.cmake" "${defines[@]}" &&
        cmake --build "$build" &&
        cmake --install "$build" --prefix "$pythons/$system/$tag" --component python
}

# wanted_tags: prints those of $tags that are to be built and whose headers can be had.
wanted_tags() {
    local tag version status
    for tag in "${tags[@]}"; do
        version=$(version_of_tag "$tag")
        if ((quick)) && [[ $tag != *-abi3 && $(python_at_hand "$version") != /usr/bin/python3 ]]
        then continue; fi
        status=0
        packaging/python_headers.sh "$folder/python-headers/$version" "$tag" || status=$?
        case $status in
        0) echo "$tag" ;;
        77) if ((!quick)); then echo "release.sh: no wheel $tag: its headers cannot be had" >&2; fi ;;
        *) return "$status" ;;
        esac
    done
}

build_wheels() {  # SYSTEM...
    local system tag found
    rm -rf "$pythons"
    found=$(wanted_tags) || return
    if [[ $only && ! $found ]]; then
        echo "release.sh: there are headers of no Python to build a wheel for" >&2 && return 1
    fi
    for system; do
        for tag in $found; do
            # On Windows pyconfig.h names the DLL to link; bindings/python/cross has none for 3.13t.
            if [[ $system == windows-* && $tag == *t ]]; then continue; fi
            PATH=$PWD/.venv/bin:$PATH stage "wheel: $system, $tag" \
                quietly "$folder/python-$system-$tag.log" build_wheel "$system" "$tag" || return
        done
    done
}

# build_only: builds what the package $only needs of $system, and sets $form, which is the packer's
# word for the package.
build_only() {
    local flavours flavour name targets toolchain=cmake/toolchains/$system.cmake
    if ! grep --quiet '^# package:' "$toolchain" 2>/dev/null; then
        echo "release.sh: there are no packages for $system, only for:" \
            $(systems_with package) >&2
        return 2
    fi
    # Python and ONNX Runtime have no use for GPUs' kernels.
    read -r -a flavours <<<"$(sed -n 's/^# package: *//p' "$toolchain")"
    if ((quick)); then flavours=(cpu); fi
    name=$system targets=${flavours[0]}
    for flavour in "${flavours[@]}"; do
        if [[ $only != archive && $flavour == *=cpu ]]; then
            name=$system-${flavour%%=*} targets=cpu
        fi
    done
    case $only in
    wheel)
        form=wheels
        if ! systems_with wheel | grep --quiet --line-regexp "$system"; then
            echo "release.sh: there are no Python wheels for $system, only for:" \
                $(systems_with wheel) >&2
            return 2
        fi
        ;;
    onnxruntime)
        form=onnxruntime_wheel
        if [[ ! $system =~ ^(linux-gnu|windows)- ]]; then
            echo "release.sh: ONNX Runtime's provider is for linux-gnu-* and windows-*, not for" \
                "$system" >&2
            return 2
        fi
        ;;
    archive) form=archives ;;
    esac
    rm -rf "$folder/only"
    stage "$system" build "$system" "$name" "$targets" || return
    if [[ $only == wheel ]]; then build_wheels "$system"; fi
}

pack_forms() {  # ARGUMENT...
    packaging/python.sh packaging/pack.py --stage "$stages" --dist "$dist" --python "$pythons" \
        --forbid "$PWD" "$folder" "$@"
}

pack() {
    rm -rf "$dist" && mkdir -p "$dist" && cp "$folder"/deb/*.deb "$dist" &&
        pack_forms --debug "$symbols" || return
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

if [[ $only ]]; then
    if [[ ! $system ]]; then
        [[ $(uname -s) == Linux ]] || { echo "release.sh: --system: for which one?" >&2 && exit 2; }
        system=linux-gnu-$(uname -m | sed s/aarch64/arm64/)
    fi
    mkdir -p "$folder"
    form=""
    build_only
    stage pack pack_forms -- "$form"
    echo "release.sh: in $dist"
    print_stage_times
    exit
fi
stage set-up scripts/setup.sh --all debhelper lintian
build_all
stage deb quietly "$folder/deb.log" packaging/deb.sh "$folder/deb"
mapfile -t with_wheels < <(if ((quick)); then echo linux-gnu-x86_64; else systems_with wheel; fi)
build_wheels "${with_wheels[@]}"
stage pack pack
status=0
if ((check)); then check_all || status=$?; fi
print_stage_times
exit $status
