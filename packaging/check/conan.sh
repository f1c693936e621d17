#!/usr/bin/env bash
# conan.sh DIST WORK
#
# Runs `conan create` with the recipe and the archives in DIST, static and shared. The test
# package's program is run each time. Then it checks that another compiler and build type use the
# same binary, that packages for the other systems can be made, and that a system without an archive
# is refused.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[[ $(uname -m) == x86_64 ]] || skip "the profile is of x86-64"
command -v g++ >/dev/null || skip "no g++"
tar -xzf "$(only_file 'hewn-*-conan.tar.gz')" -C "$work"
recipe=$work/hewn-conan
export CONAN_HOME=$work/conan2
# The recipe names the addresses at which a release is published. These archives are in DIST.
sed -i "s|\"url\": \".*/|\"url\": \"file://$dist/|" "$recipe/conandata.yml"
conan() { "$root/packaging/python.sh" -m conans.conan "$@"; }
# quietly WHAT COMMAND...: runs the command, and shows its output only if it fails.
quietly() {
    "${@:2}" >"$work/log" 2>&1 || { tail -20 "$work/log"; fail "$1"; }
    echo "ok      conan: $1"
}
create() { conan create "$recipe" --no-remote "$@"; }

conan profile detect >/dev/null 2>&1
for shared in False True; do
    quietly "create, shared=$shared" create -o "$distribution/*:shared=$shared" -s compiler.cppstd=17
    grep -q '^11 22 33 44 ' "$work/log" || fail "the test package's program printed no sums"
done
quietly "another compiler and build type take the same binary" \
    conan install --no-remote --requires "$distribution/$version" -s build_type=Debug -s compiler=clang \
    -s compiler.version=14 -s compiler.libcxx=libstdc++11 --output-folder "$work/install"
# of SYSTEM ARGUMENT...: makes the package for another system, if its archive is in DIST.
of() {
    compgen -G "$dist/hewn-$version-$1.*" >/dev/null || return 0
    quietly "package for $1" create --test-folder= "${@:2}"
}
of linux-gnu-arm64 -s arch=armv8
of linux-musl-x86_64 -o "$distribution/*:libc=musl"
of linux-musl-arm64 -o "$distribution/*:libc=musl" -s arch=armv8
of android-arm64 -s os=Android -s os.api_level=21 -s arch=armv8
of android-x86_64 -s os=Android -s os.api_level=21
of macos-arm64 -s os=Macos -s arch=armv8
of macos-x86_64 -s os=Macos
of windows-arm64 -s os=Windows -s arch=armv8
of windows-x86_64 -s os=Windows
if create --test-folder= -s arch=riscv64 >"$work/log" 2>&1; then fail "riscv64 is not refused"; fi
grep -q 'no archive for Linux on riscv64' "$work/log" ||
    fail "refused in other words: $(tail -3 "$work/log")"
echo "ok      conan: what has no archive is refused"
