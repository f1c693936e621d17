#!/usr/bin/env bash
# How much of runtime/ the tests run: builds with --coverage and few kernels in
# build-coverage/, runs the tests, and writes build-coverage/html/index.html and, as the last line,
# the totals. Arguments are of ctest: scripts/coverage.sh -R plan
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
# The generators need no second build where there is one.
generators=()
if [[ -x build/hewn_generators ]]; then
    generators=("-DHEWN_GENERATORS=$PWD/build/hewn_generators")
fi
# -fprofile-update=atomic: several threads run the same lines.
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
# What looks at the build itself is not about coverage, and finds another build here.
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
