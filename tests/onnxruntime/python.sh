#!/usr/bin/env bash
# python.sh FOLDER VERSION ARGUMENT...: Python with the wheels of requirements.txt and this version
# of ONNX Runtime (newest: the one that is listed), in virtual environments that the first calls
# make in FOLDER. @WHEEL@ in an argument is a folder with that wheel alone: @onnxruntime==1.23.2@.
# Exit status 77: the wheels cannot be had.
set -euo pipefail
here=$(CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
folder=$(CDPATH="" cd -P "$1" && pwd) version=$2
shift 2
requirements=$here/requirements.txt
unset PYTHONHOME PIP_TARGET PIP_PREFIX
export PIP_USER=0
install=(-m pip install --quiet --disable-pip-version-check --no-input --no-deps
    --only-binary ":all:")

skip() { echo "skipped: $1 cannot be had" && exit 77; }

# Made anew when the folder, whose name its scripts hold, or the wanted wheels change.
exec 9<"$requirements"
flock 9  # one at a time
venv=$folder/venv wanted="$folder $(python3 -V) $(sha256sum <"$requirements")"
if [[ ! -f $venv/hewn.stamp || $(<"$venv/hewn.stamp") != "$wanted" ]]; then
    rm -rf "$folder"/venv "$folder"/wheels
    python3 -m venv "$venv"
    PYTHONPATH="" "$venv/bin/python" "${install[@]}" -r "$requirements" >&2 ||
        skip "the wheels of $requirements"
    printf '%s\n' "$wanted" >"$venv/hewn.stamp"
fi

wheel() {  # REQUIREMENT: prints a folder with that wheel alone
    local at=$folder/wheels/$1
    if [[ ! -d $at ]]; then
        rm -rf "$at.new"
        PYTHONPATH="" "$venv/bin/python" "${install[@]}" --target "$at.new" "$1" >&2 || return
        mv "$at.new" "$at"
    fi
    printf '%s\n' "$at"
}

arguments=()
for argument; do
    if [[ $argument == @*@ ]]; then
        argument=$(wheel "${argument//@/}") || skip "the wheel ${argument//@/}"
    fi
    arguments+=("$argument")
done
if [[ $version != newest ]]; then
    older=$(wheel "onnxruntime==$version") || skip "ONNX Runtime $version"
    export PYTHONPATH=$older${PYTHONPATH:+:$PYTHONPATH}
fi
exec 9<&- "$venv/bin/python" -W ignore "${arguments[@]}"
