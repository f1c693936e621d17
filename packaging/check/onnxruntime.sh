#!/usr/bin/env bash
# onnxruntime.sh DIST WORK
#
# Checks the wheels of the execution provider:
#
# - auditwheel must accept them.
# - In an environment without a compiler, the lines of docs/onnxruntime.md run a model. ONNX
#   Runtime's own record must say that hewn has nodes.
# - pip must be able to install hewn-kernels[onnxruntime,tune].
# - The wheel for ARM64 is used under QEMU.
# - If HEWN_ONNXRUNTIME_INCLUDE names a folder with ONNX Runtime's headers, examples/onnxruntime
#   runs under Wine, with the provider's DLL in Microsoft's build of ONNX Runtime.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
module=onnxruntime_ep_hewn tests=$root/bindings/onnxruntime/tests

# wheel PLATFORM: prints the provider's wheel in DIST.
wheel() { only_file "${wheel_name}_onnxruntime-$version-py3-none-*$1.whl"; }

audit() {
    local said arch
    apt patchelf
    for arch in x86_64 aarch64; do
        said=$("$root/packaging/python.sh" -m auditwheel show "$(wheel "$arch")")
        [[ $said == *manylinux_2_17_"$arch"* || $said == *manylinux2014_"$arch"* ]] ||
            fail "$arch: $said"
        echo "ok      $arch: manylinux_2_17"
    done
}

# Uses the wheel in a new virtual environment, with ONNX Runtime from the registry and without a
# compiler on the PATH.
use() {
    local said
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-input \
        --only-binary ":all:" "$newest" "$(wheel x86_64)" ||
        skip "ONNX Runtime cannot be had"
    PYTHONPATH=$root/bindings/onnxruntime/python "$tests/python.sh" "$root/build/onnxruntime" \
        newest "$tests/chain.py" "$work/model.onnx" >&2
    awk '/^```python$/ { inside = 1; next } inside && /^```$/ { exit } inside' \
        "$root/docs/onnxruntime.md" >"$work/lines.py"
    said=$(cd "$work" && env -i "PATH=$work/venv/bin" "$work/venv/bin/python" lines.py)
    [[ $said == *"('HewnExecutionProvider', 'QLinearAdd'): 1"* ]] || fail "the lines say: $said"
    echo "ok      the lines of docs/onnxruntime.md: $(tail -1 <<<"$said")"
}

# Checks that hewn-kernels[onnxruntime,tune] brings the provider and the tuner from DIST. The
# packages of others are downloaded before, and no index is used.
extra() {
    local pip=("$work/venv/bin/pip" --quiet --disable-pip-version-check --no-input)
    local for_it=(--only-binary ":all:" --python-version 3.13 --platform manylinux_2_28_x86_64
        --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64)
    "${pip[@]}" download "${for_it[@]}" --dest "$work/others" "$newest" numpy ||
        skip "ONNX Runtime cannot be had"
    # Without --ignore-requires-python, pip would compare the packages' requirements with the Python
    # that runs it, and not with the one in --python-version.
    "${pip[@]}" --isolated install "${for_it[@]}" --ignore-requires-python --no-index \
        --find-links "$dist" --find-links "$work/others" --target "$work/extra" \
        "${distribution}[onnxruntime,tune]" ||
        fail "pip does not take ${distribution}[onnxruntime,tune]"
    for made in onnxruntime "$module/__init__.py" hewn/__init__.py hewn_tune/program.py; do
        [[ -e $work/extra/$made ]] || fail "${distribution}[onnxruntime,tune] does not bring $made"
    done
    echo "ok      ${distribution}[onnxruntime,tune]"
}

# Runs the example's program under Wine, with the provider's DLL in Microsoft's build of ONNX
# Runtime and the model of use().
use_under_wine() {
    local headers=${HEWN_ONNXRUNTIME_INCLUDE:-} said
    if [[ ! -f $headers/onnxruntime_c_api.h ]]; then
        echo "skipped Windows: HEWN_ONNXRUNTIME_INCLUDE names no folder with onnxruntime_c_api.h"
        return
    fi
    apt g++-mingw-w64-x86-64
    "$work/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps \
        --only-binary ":all:" --platform win_amd64 --dest "$work" "$newest" ||
        skip "ONNX Runtime for Windows cannot be had"
    for wheel in "$work"/onnxruntime-*.whl "$(wheel win_amd64)"; do
        python -m zipfile -e "$wheel" "$work/windows"
    done
    cd "$work/windows"
    cp onnxruntime/capi/onnxruntime.dll "$module/onnxruntime_providers_hewn.dll" ../model.onnx .
    printf 'LIBRARY onnxruntime.dll\nEXPORTS\n OrtGetApiBase\n' >onnxruntime.def
    x86_64-w64-mingw32-dlltool -d onnxruntime.def -l libonnxruntime.a
    x86_64-w64-mingw32-g++-posix -std=c++17 -static -I "$headers" \
        "$root/examples/onnxruntime/main.cpp" -o run_model.exe libonnxruntime.a
    said=$("$root/tests/support/run-wine.sh" ./run_model.exe \
        "Z:${PWD//\//\\}\\onnxruntime_providers_hewn.dll" model.onnx | tr -d '\r')
    [[ $said == *"HewnExecutionProvider: Mul"*": 0 of "* ]] || fail "under Wine: $said"
    echo "ok      Windows, under Wine: $(tail -1 <<<"$said")"
}

# unpacked ARCH PACKAGE FILES: unpacks a package of Debian 13 and the packages that it needs,
# without configuring them. Only packages that match FILES are unpacked.
unpacked() {
    debootstrap --foreign --arch="$1" --variant=minbase --include="$2" trixie "$work/$1" \
        >"$work/$1.log" 2>&1 || skip "no debootstrap of trixie: $(tail -1 "$work/$1.log")"
    for deb in "$work/$1"/var/cache/apt/archives/$3.deb; do
        dpkg-deb --extract "$deb" "$work/$1"
    done
}

# Uses the wheel on ARM64 in QEMU. ONNX Runtime's library needs QEMU 10 or newer, which Debian 13
# has.
use_on_arm() {
    local said
    if ((EUID != 0)); then echo "skipped ARM64: debootstrap takes root" && return; fi
    apt debootstrap
    unpacked amd64 qemu-user 'qemu-user_*'
    unpacked arm64 python3 '*'
    cp "$work/amd64/usr/bin/qemu-aarch64" "$work/arm64/usr/bin/"
    grep -v '^rapidocr' "$tests/requirements.txt" >"$work/wheels.txt"  # for Pythons before 3.13
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-input --no-deps \
        --only-binary ":all:" --python-version 3.13 --implementation cp --abi cp313 --abi abi3 \
        --abi none --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 \
        --platform manylinux_2_17_aarch64 --target "$work/arm64/opt/site" \
        -r "$work/wheels.txt" "$(wheel aarch64)" || skip "no wheels for ARM64"
    cp -r "$tests" "$work/arm64/opt/tests" && cp "$work"/{lines.py,model.onnx} "$work/arm64/opt"
    emulated() {
        env -i LC_ALL=C.UTF-8 PYTHONPATH=/opt/site "$(command -v chroot)" "$work/arm64" \
            /usr/bin/qemu-aarch64 /usr/bin/python3.13 -B -W ignore "$@" 2>&1
    }
    said=$(emulated -c 'import os; os.chdir("/opt"); exec(open("lines.py").read())')
    [[ $said == *"('HewnExecutionProvider', 'QLinearAdd'): 1"* ]] || fail "ARM64: $said"
    # If the wheel has all kernels, ONNX's node tests are run too.
    if grep --quiet quantize_linear_f16_i16__ "$work/arm64/opt/site/$module"/*.so; then
        said=$(emulated /opt/tests/nodes_test.py) || fail "ARM64: $said"
    fi
    echo "ok      ARM64, by QEMU: $(tail -1 <<<"$said")"
}

newest=$(grep -o '^onnxruntime==[0-9.]*' "$tests/requirements.txt")
audit
use
extra
use_on_arm
use_under_wine
