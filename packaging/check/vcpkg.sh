#!/usr/bin/env bash
# vcpkg.sh DIST WORK
#
# Runs the vcpkg port with the archives in DIST, and builds examples/add with the files that it
# installs, statically and dynamically. vcpkg itself is not available here, so
# check/vcpkg/vcpkg.cmake has stand-ins for its functions.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[[ $(uname -m) == x86_64 ]] || skip "the triplet is of x86-64"
tar -xzf "$(only_file 'hewn-*-vcpkg.tar.gz')" -C "$work"
for linkage in static:hewn_static:so dynamic:hewn:a; do
    IFS=: read -r name target unwanted <<<"$linkage"
    cmake -DPORT="$work/hewn-vcpkg/$distribution" -DDIST="$dist" -DWORK="$work/$name" -DLINKAGE="$name" \
        -P "$here/vcpkg/vcpkg.cmake"
    left=$(find "$work/$name/package/lib" -name "*.$unwanted*")
    [[ -z $left ]] || fail "$name: the package has $left"
    cmake -S "$root/examples/add" -B "$work/$name/build" -G Ninja \
        -DCMAKE_PREFIX_PATH="$work/$name/package" -DHEWN_LIBRARY="hewn::$target" >/dev/null
    cmake --build "$work/$name/build" >/dev/null
    "$work/$name/build/add" | grep '^11 22 33 44 ' >/dev/null || fail "$name: the sums are wrong"
    echo "ok      vcpkg: the port's files, $name: found, linked, run"
done
