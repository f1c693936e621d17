#!/usr/bin/env bash
# aar.sh DIST WORK
#
# Checks the AAR as an application uses it. It is read by prefab's rules, and then found and linked
# by CMake. A program with the static library is run, for ARM under QEMU. examples/android is built
# with it. musl is used instead of Android's bionic, and zig instead of the NDK.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
apt llvm qemu-user-static
zig=$(zig)/zig
aar=$(only_file 'hewn-*.aar')

# compiler NAME ARCH: makes a command that runs zig as a compiler for the architecture. It drops the
# option --exclude-libs, which zig's linker does not know.
compiler() {
    cat >"$work/$2/$1" <<END
#!/usr/bin/env bash
for argument; do
    shift
    [[ \$argument == *--exclude-libs* ]] || set -- "\$@" "\$argument"
done
exec "$zig" $1 -target $2-linux-musl "\$@"
END
    chmod +x "$work/$2/$1"
}

check() {  # ABI ARCH COMMAND...
    local prefab=$work/$2/prefab build=$work/$2/build test=$root/tests/api/c_api_test.c program
    mkdir -p "$work/$2"
    python "$here/prefab.py" "$aar" "$prefab" "$1"
    compiler cc "$2"
    cmake -S "$here/aar" -B "$build" -G Ninja \
        -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$2" \
        -DCMAKE_C_COMPILER="$work/$2/cc" -DCMAKE_LIBRARY_ARCHITECTURE="$2-linux-android" \
        -DCMAKE_FIND_ROOT_PATH="$prefab" -DCMAKE_PREFIX_PATH="$prefab" -DHEWN_TEST="$test" \
        -DHEWN_EXAMPLE="$root/examples/android/app/src/main/cpp" \
        -DCMAKE_EXE_LINKER_FLAGS=-static >"$build.log" 2>&1 &&
        cmake --build "$build" >>"$build.log" 2>&1 ||
        { tail -20 "$build.log" && fail "$1: build"; }
    program=$("${@:3}" "$build/with_static") || fail "$1: $program"
    llvm-readelf -d "$build/libwith_shared.so" | grep -q 'NEEDED.*libhewn.so' ||
        fail "$1: what links the shared library does not need it"
    echo "ok      $1: found, linked, run"
}
check arm64-v8a aarch64 qemu-aarch64-static
if [[ $(uname -m) == x86_64 ]]; then check x86_64 x86_64; fi
