#!/usr/bin/env bash
# Runs Python with the wheels of requirements.txt and one version of ONNX Runtime:
#
#     python.sh FOLDER VERSION ARGUMENT...
#
# The first call makes a virtual environment in FOLDER. The VERSION `newest` is the one that is
# listed in requirements.txt. An argument @WHEEL@, such as @onnxruntime==1.23.2@, is replaced by a
# folder that has only that wheel. Exit status 77: the wheels cannot be had.
set -euo pipefail
here=$(CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/../../../scripts/venv.sh"
mkdir -p "$1"
folder=$(CDPATH="" cd -P "$1" && pwd) version=$2
shift 2
given_path=${PYTHONPATH:-}
unset PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX
export PIP_USER=0
make_venv "$folder/venv" "$here/requirements.txt"
python=$folder/venv/bin/python

wheel() {  # REQUIREMENT: prints a folder that has only that wheel
    local at
    at=$folder/$("$python" -c 'import sys; print(sys.implementation.cache_tag)')/$1
    if [[ ! -d $at ]]; then
        rm -rf "$at.new"
        "$python" -m pip install --quiet --disable-pip-version-check --no-input --no-deps \
            --only-binary :all: --target "$at.new" "$1" >&2 || return
        mv "$at.new" "$at"
    fi
    printf '%s\n' "$at"
}
skip() { echo "skipped: the wheel $1 cannot be had" && exit 77; }

exec 9<"$here/requirements.txt"
flock 9  # one at a time
arguments=()
for argument; do
    at=$argument
    if [[ $argument == @*@ ]]; then at=$(wheel "${argument//@/}") || skip "${argument//@/}"; fi
    arguments+=("$at")
done
if [[ $version != newest ]]; then
    given_path=$(wheel "onnxruntime==$version"):$given_path || skip "onnxruntime==$version"
fi
exec 9<&-
PYTHONPATH=$given_path exec "$python" -W ignore "${arguments[@]}"
