#!/usr/bin/env bash
# Tunes the kernels for this machine's chip: sets up, builds, searches, and writes
# tuning/<target>.json, a report, and a library with the new values.
#
#     ./tune.sh --op quantize_linear --signature f32_u8 --budget 3m
#
# An interrupted run continues when you start it again. --help lists the options and the other
# commands; docs/tuning.md explains them.
set -euo pipefail
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
source "$root/scripts/venv.sh"
# What pip finds or puts elsewhere would be missing in the virtual environments.
unset PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX
export PIP_USER=0
python=/usr/bin/python3
[[ -x $python ]] || python=python3
command -v "$python" >/dev/null || "$root/scripts/setup.sh"  # a bare system

# Prints help or refuses wrong arguments before anything is made or installed.
answer=$("$python" "$root/tools/tune/command_line.py" "$@")

# use_venv NAME REQUIREMENTS: from here on, $python is that of build-tune/NAME, which has the wheels
# and the module hewn_tune.
use_venv() {
    local venv=$root/build-tune/$1 packages
    mkdir -p "$root/build-tune"
    [[ -f $venv/hewn.stamp ]] || echo "tune.sh: making $venv, which takes about a minute"
    make_venv "$venv" "$root/tools/tune/$2"
    python=$venv/bin/python
    packages=("$venv"/lib/python3*/site-packages)
    echo "$root/tools/tune" >"${packages[0]}/hewn_tune.pth"
}

case $answer in
merge) ;;
benchmark) use_venv benchmark-venv benchmark-requirements.txt ;;
export-space) "$root/scripts/setup.sh" ;;
search | record)
    "$root/scripts/setup.sh"
    use_venv venv requirements.txt
    ;;
*)
    printf '%s\n' "$answer"
    exit
    ;;
esac
for argument; do
    [[ $argument == --set-up ]] && exit
done
exec "$python" "$root/tools/tune" "$@"
