#!/usr/bin/env bash
# auditwheel.sh DIST WORK
#
# Packs the library of each archive for glibc as a wheel, and checks with auditwheel that it fits
# manylinux_2_17.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
apt patchelf
for arch in x86_64:x86_64 arm64:aarch64; do
    system=linux-gnu-${arch%:*} tag=py3-none-linux_${arch#*:}
    tar -xf "$(only_file "hewn-$version-$system.tar.gz")" -C "$work"
    mkdir -p "$work/$system/hewn" "$work/$system/hewn-$version.dist-info"
    cp "$work/hewn-$version-$system/lib/libhewn.so" "$work/$system/hewn/"
    cd "$work/$system/hewn-$version.dist-info"
    printf 'Metadata-Version: 2.1\nName: hewn\nVersion: %s\n' "$version" >METADATA
    printf 'Wheel-Version: 1.0\nGenerator: hewn\nRoot-Is-Purelib: false\nTag: %s\n' "$tag" >WHEEL
    printf '%s,,\n' hewn/libhewn.so "hewn-$version.dist-info"/{METADATA,WHEEL,RECORD} >RECORD
    wheel=$work/hewn-$version-$tag.whl
    (cd .. && python -m zipfile -c "$wheel" hewn "hewn-$version.dist-info")
    said=$("$root/packaging/python.sh" -m auditwheel show "$wheel")
    [[ $said == *manylinux_2_17_"${arch#*:}"* || $said == *manylinux2014_"${arch#*:}"* ]] ||
        fail "$system: $said"
    echo "ok      $system: $(grep -o 'manylinux[0-9_]*_[a-z0-9_]*' <<<"$said" | head -1)"
done
