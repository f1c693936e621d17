#!/usr/bin/env bash
# Mutation testing: changes the code in one place at a time, and counts how many of these changes the
# tests notice. scripts/mutate.sh runtime|python|javascript|onnxruntime [OPTION...]; --help lists the
# options. It builds for 10 minutes and then takes up to a minute for each change. CI does not run it.
set -euo pipefail
CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/venv.sh
mkdir -p build-mutation
make_venv "$PWD/build-mutation/venv" scripts/mutate-requirements.txt
export PATH=$PWD/build-mutation/venv/bin:$PWD/.venv/bin:$PATH
if [[ " $* " != *" -h "* && " $* " != *" --help "* ]]; then
    scripts/setup.sh --all
    cmake --preset default >/dev/null
    cmake --build --preset default --target hewn_generators
fi
exec python3 -B scripts/mutate.py "$@"
