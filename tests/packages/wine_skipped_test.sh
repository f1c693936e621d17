#!/usr/bin/env bash
# Checks that on a machine where Wine cannot be had, ctest lists the Windows build's tests as one
# test that is skipped, with the reason. The test uses the project's own scripts, with a setup.sh
# that installs nothing and a uname that prints what it is told.
#
#     wine_skipped_test.sh CTEST SOURCE WORK
set -euo pipefail
ctest=$1 source=$2 work=$3
rm -rf "$work"
mkdir -p "$work"/{scripts,tests/packages,bin}
cp "$source"/scripts/wine.sh "$work/scripts"
cp "$source"/tests/packages/{cross_tests.cmake,no_wine_test.sh} "$work/tests/packages"
printf '#!/bin/sh\nexit 1\n' >"$work/scripts/setup.sh"
printf '#!/bin/sh\necho "$MACHINE"\n' >"$work/bin/uname"
chmod +x "$work"/scripts/* "$work/bin/uname"
echo "include(\"$work/tests/packages/cross_tests.cmake\")" >"$work/CTestTestfile.cmake"

# expect REASON [MACHINE]: checks the reason, after wine.sh has run on that machine if one is named.
expect() {
    local output status=77
    if (($# > 1)); then
        status=0
        env MACHINE="$2" PATH="$work/bin:$PATH" "$work/scripts/wine.sh" || status=$?
    fi
    if ((status != 77)); then
        echo "wine_skipped_test: wine.sh's exit status is $status" >&2
        exit 1
    fi
    output=$("$ctest" --test-dir "$work" --verbose) || {
        echo "wine_skipped_test: ctest failed: $output" >&2
        exit 1
    }
    if ! grep -qF "wine: skipped: $1" <<<"$output" || ! grep -q 'wine (Skipped)' <<<"$output"; then
        printf 'wine_skipped_test: not in this: %s\n%s\n' "$1" "$output" >&2
        exit 1
    fi
    echo "passed: $1"
}

expect 'build-windows-x86_64/ is not there'
expect 'Wine cannot be installed' x86_64
expect 'Windows programs for x86-64 run on x86-64 only' riscv64
