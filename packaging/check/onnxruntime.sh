#!/usr/bin/env bash
# onnxruntime.sh DIST WORK: the wheel of the execution provider where there is no compiler: the
# lines of docs/onnxruntime.md run a model, with nodes on hewn as ONNX Runtime's own record says;
# what auditwheel says of the wheels.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
module=onnxruntime_ep_hewn tests=$root/tests/onnxruntime

# wheel PLATFORM: of dist/.
wheel() { only_file "$module-$version-py3-none-*$1.whl"; }

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

# A virtual environment of its own, ONNX Runtime as the registry has it, no compiler on the PATH.
use() {
    local said newest
    newest=$(grep -o '^onnxruntime==[0-9.]*' "$tests/requirements.txt")
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

audit
use
