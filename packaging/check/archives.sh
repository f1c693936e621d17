#!/usr/bin/env bash
# archives.sh DIST WORK
#
# Unpacks each archive and uses it. For systems whose programs can run here, a program is built with
# CMake, pkg-config and a plain compiler, with the shared and the static library, and run: ARM64
# under QEMU, musl with its own loader, Windows under Wine. For other systems, a program is only
# linked.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
shopt -s extglob
apt clang lld llvm musl-tools qemu-user-static g++-aarch64-linux-gnu g++-mingw-w64-x86-64
zig=$(zig)/zig
example=$root/examples/c_quantize
printed=$'0 100 113 132\n164 228 255 255\nquantize_linear_f32_u8__'

# run WHAT COMMAND...: checks that the command prints the example's output, with any variant.
run() {
    local output
    output=$("${@:2}" 2>&1) || fail "$1: exit status $?: $output"
    [[ ${output//$'\r'/} == "$printed"* ]] || fail "$1 printed: $output"
    echo "ok      $1"
}

# configured EXAMPLE BUILD PREFIX ARGUMENT...: builds the example with the package, by CMake.
configured() {
    { cmake -S "$root/examples/$1" -B "$2" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_PREFIX_PATH="$3" -DCMAKE_FIND_ROOT_PATH="$3" "${@:4}" && cmake --build "$2"; } \
        >"$2.log" 2>&1 || { tail -n 20 "$2.log" && fail "$2: does not build"; }
}

# by_cmake SYSTEM PREFIX TOOLCHAIN [RUNNER...]: uses both libraries by find_package. Without a
# runner, the program is only linked.
by_cmake() {
    local system=$1 prefix=$2 library build arguments=()
    if [[ $3 != native ]]; then arguments=(--toolchain "$root/cmake/toolchains/$3.cmake"); fi
    for library in hewn::hewn hewn::hewn_static; do
        build=$work/$system-${library#hewn::}
        if [[ $system == windows-* && $library == *static ]]; then continue; fi
        configured c_quantize "$build" "$prefix" -DHEWN_LIBRARY=$library "${arguments[@]}"
        if [[ $system == windows-* ]]; then cp "$prefix/bin/hewn.dll" "$build"; fi
        if (($# > 3)); then
            run "$system: CMake, $library" "${@:4}" "$(echo "$build"/c_quantize*(.exe))"
        else
            echo "ok      $system: CMake, $library, linked"
        fi
    done
}

by_pkg_config() {  # SYSTEM PREFIX
    local flags=() program=$work/$1-pkg-config
    read -r -a flags <<<"$(PKG_CONFIG_PATH=$2/lib/pkgconfig pkg-config --cflags --libs hewn)"
    cc "$example/main.c" "${flags[@]}" -o "$program"
    LD_LIBRARY_PATH=$2/lib run "$1: pkg-config" "$program"
    read -r -a flags <<<"$(PKG_CONFIG_PATH=$2/lib/pkgconfig \
        pkg-config --static --cflags --libs hewn)"
    cc -static "$example/main.c" "${flags[@]}" -o "$program"
    run "$1: pkg-config, everything static" "$program"
}

# by_compiler WHAT PREFIX RUN COMPILER...: names the static library as a file.
by_compiler() {
    local program=$work/$1-compiler
    "${@:4}" -static "$example/main.c" -I"$2/include" "$2/lib/libhewn.a" -o "$program" ||
        fail "$1: the compiler's command"
    # shellcheck disable=SC2086  # the runner may be several words
    run "$1: a compiler's command" $3 "$program"
}

# zig's linker does not know the option that hides the functions of the static library. The CMake
# package must cope with that.
by_zig() {  # SYSTEM PREFIX
    CC="$zig cc" configured c_quantize "$work/$1-zig" "$2" -DHEWN_LIBRARY=hewn::hewn_static
    run "$1: CMake with zig" "$work/$1-zig/c_quantize"
}

# This does not use CMake, which takes no library with an @rpath if it finds no SDK of Apple's.
for_mac() {  # SYSTEM PREFIX ARCHITECTURE...
    local arch library libc=${zig%/*}/lib/libc
    for arch in "${@:3}"; do
        for library in libhewn.dylib libhewn.a; do
            clang --target="$arch-apple-macos11.0" -isystem "$libc/include/any-macos-any" \
                "$example/main.c" -I"$2/include" "$2/lib/$library" -fuse-ld=lld -nostdlib \
                -L"$libc/darwin" -lSystem -o "$work/$1-$arch" || fail "$1: $arch, $library"
            echo "ok      $1: $arch, $library, linked"
        done
    done
}

version_resource() {  # SYSTEM PREFIX
    [[ $(strings -el "$2/bin/hewn.dll" | sed -n '/^ProductVersion$/{n;p}') == "$version" ]] ||
        fail "$1: hewn.dll's version resource does not say $version"
    echo "ok      $1: version resource"
}

oldest_glibc() {  # SYSTEM PREFIX
    local newest
    newest=$(llvm-readelf --version-info "$2/lib/libhewn.so" | grep -o 'GLIBC_[0-9.]*' | sort -V |
        tail -1)
    [[ $newest ]] || fail "$1: no version of glibc's in libhewn.so"
    [[ $(printf '%s\n' GLIBC_2.17 "$newest" | sort -V | tail -1) == GLIBC_2.17 ]] ||
        fail "$1: libhewn.so needs $newest"
    echo "ok      $1: needs no symbol newer than GLIBC_2.17"
}

# Checks that the library and the file of its debug symbols have the same build id, by which a
# debugger finds the file.
debug_symbols() {  # SYSTEM PREFIX
    local id symbols=$work/debug-$1
    mkdir -p "$symbols"
    tar -xf "$(only_file "hewn-$version-$1-debug.tar.gz")" -C "$symbols"
    id=$(llvm-readelf -n "$2/lib/libhewn.so" | sed -n 's/^ *Build ID: //p')
    [[ $id && $(llvm-readelf -n "$(find "$symbols" -name 'libhewn.so*.debug')" |
        sed -n 's/^ *Build ID: //p') == "$id" ]] ||
        fail "$1: no debug symbols of the build id '$id'"
    if llvm-readelf -S "$2/lib/libhewn.so" | grep -q '\.debug_info'; then
        fail "$1: libhewn.so has debug information"
    fi
    echo "ok      $1: build id, debug symbols apart"
}

check() {  # SYSTEM PREFIX
    case $1 in
    linux-*) debug_symbols "$1" "$2" ;;&
    linux-gnu-*) oldest_glibc "$1" "$2" ;;&
    linux-gnu-x86_64*)
        by_cmake "$1" "$2" native env
        by_pkg_config "$1" "$2"
        by_compiler "$1" "$2" env cc -pthread
        by_zig "$1" "$2"
        ;;
    linux-gnu-arm64*)
        by_cmake "$1" "$2" linux-arm64 qemu-aarch64-static -L /usr/aarch64-linux-gnu
        ;;
    linux-musl-x86_64)
        by_compiler "$1" "$2" env musl-gcc
        musl-gcc "$example/main.c" -I"$2/include" -L"$2/lib" -lhewn -o "$work/$1-shared"
        run "$1: the shared library, musl's loader" env LD_LIBRARY_PATH="$2/lib" "$work/$1-shared"
        ;;
    linux-musl-arm64)
        by_compiler "$1" "$2" qemu-aarch64-static "$zig" cc -target aarch64-linux-musl
        ;;
    windows-*) version_resource "$1" "$2" ;;&
    windows-x86_64*)
        if "$root/scripts/wine.sh" >&2; then
            by_cmake "$1" "$2" windows-x86_64 "$root/tests/support/run-wine.sh"
        else
            by_cmake "$1" "$2" windows-x86_64
        fi
        ;;
    windows-arm64) by_cmake "$1" "$2" "$1" ;;
    macos-universal) for_mac "$1" "$2" arm64 x86_64 ;;
    macos-*) for_mac "$1" "$2" "${1#macos-}" ;;
    *) echo "skipped: $1 is another check's" ;;
    esac
}

for archive in "$dist/hewn-$version"-*-*.{tar.gz,zip}; do
    [[ -e $archive ]] || continue
    system=$(basename "$archive") system=${system#hewn-"$version"-} system=${system%.@(tar.gz|zip)}
    case $system in *-debug | *xcframework* | *conan* | *vcpkg*) continue ;; esac
    mkdir -p "$work/unpacked"
    if [[ $archive == *.zip ]]; then python -m zipfile -e "$archive" "$work/unpacked"
    else tar -xf "$archive" -C "$work/unpacked"; fi
    check "$system" "$work/unpacked/hewn-$version-$system"
done
[[ -d $work/unpacked ]] || fail "there is no archive in $dist"
