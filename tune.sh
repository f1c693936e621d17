#!/usr/bin/env bash
# Tunes the kernels for this machine's chip: sets up, builds, searches, writes tuning/<target>.json,
# a report, and a library with it.
#
#     ./tune.sh --op quantize_linear --signature f32_u8 --budget 3m
#
# An interrupted run continues when it is started again. --help lists everything; docs/tuning.md
# explains it.
set -euo pipefail
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
venv=$root/build-tune/venv
# What pip finds or puts elsewhere would be missing in the virtual environment.
unset PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX
export PIP_USER=0

install_wheels() {
    local python=/usr/bin/python3 stamp=$venv/hewn.stamp wanted
    wanted="$root $("$python" -V) $(sha256sum <"$root/tools/tune/requirements.txt")"
    if [[ -f $stamp && $(<"$stamp") == "$wanted" ]]; then return; fi
    echo "tune.sh: making $venv"
    "$python" -m venv --clear "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --no-deps \
        --only-binary :all: \
        -r "$root/tools/tune/requirements.txt"
    printf '%s\n' "$wanted" >"$stamp"
}

if [[ ${1-} == benchmark ]]; then  # builds nothing; the test of foreign optimisers needs the wheels
    source "$root/scripts/venv.sh"
    mkdir -p "$root/build-tune"
    make_venv "$root/build-tune/benchmark-venv" "$root/tools/tune/benchmark-requirements.txt"
    [[ ${2-} == --set-up ]] && exit
    exec "$root/build-tune/benchmark-venv/bin/python" "$root/tools/tune" "$@"
fi

"$root/scripts/setup.sh" --tests
install_wheels
export PATH="$root/.venv/bin:$PATH"
[[ ${1-} == --set-up ]] && exit  # the tests need no more
exec "$venv/bin/python" "$root/tools/tune" "$@"
