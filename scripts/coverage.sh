#!/usr/bin/env bash
# Measures how much of the code in runtime/ the tests run. Builds with --coverage and with one
# kernel of each operator in build-coverage/, runs the tests, writes build-coverage/html/index.html,
# and prints the totals at the end.
#
#     scripts/coverage.sh [CTEST ARGUMENT...]    for example -R plan, to run only these tests
set -euo pipefail
if [[ ${1-} == -h || ${1-} == --help ]]; then
    sed -n '2,/^set/{/^set/!s/^# \?//p}' "${BASH_SOURCE[0]}"
    exit
fi
CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/stage.sh
scripts/setup.sh --all
export PATH="$PWD/.venv/bin:$PATH"
build=build-coverage venv=$PWD/build-coverage/venv
# If the folder build/ has the generators, they are not built again.
generators=()
if [[ -x build/hewn_generators ]]; then
    generators=("-DHEWN_GENERATORS=$PWD/build/hewn_generators")
fi
# -fprofile-update=atomic, because several threads run the same lines.
cmake -G Ninja -B $build -DCMAKE_BUILD_TYPE=Debug "-DHEWN_SIGNATURES=$one_kernel_each" \
    "-DCMAKE_CXX_FLAGS=--coverage -fprofile-update=atomic" -DHEWN_BUILD_EXAMPLES=OFF \
    "${generators[@]}"
cmake --build $build
if [[ ! -x $venv/bin/gcovr ]]; then
    /usr/bin/python3 -m venv --clear "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --no-deps \
        --only-binary :all: -r scripts/coverage-requirements.txt
fi
find $build -name '*.gcda' -delete
status=0
# Tests that look at the build itself are left out: they add no coverage, and this build is not the
# one that they expect.
ctest --test-dir $build --output-on-failure -LE '^(long|headers)$' \
    -E '^(lint|qemu|symbols|hot_loops|leak|allocation|signatures|test_sh|wine_skipped|memory|valgrind|'\
'exhaustive|bench|options|one_kernel|python|package|subproject|tune|blocks)' "$@" ||
    status=$?
mkdir -p $build/html
"$venv/bin/gcovr" --root . --filter 'runtime/' --object-directory $build \
    --exclude-unreachable-branches --html-details $build/html/index.html --print-summary \
    $build/CMakeFiles/hewn_shipped_runtime.dir |
    grep -E '^(lines|functions|branches):'
exit $status
