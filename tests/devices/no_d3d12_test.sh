#!/usr/bin/env bash
# Checks `hewn info` without d3d12.dll, and without an adapter that has Direct3D 12: each case has
# its own message, and the CPU's variants still work.
#
#     no_d3d12_test.sh HEWN.EXE
set -euo pipefail
wine=$(dirname "${BASH_SOURCE[0]}")/../support/run-wine.sh program=$1

# expect MESSAGE [VARIABLE=VALUE...]: with these variables, `hewn info` must print MESSAGE, which is
# a regular expression.
expect() {
    local output
    output=$(env "${@:2}" "$wine" "$program" info) || {
        echo "no_d3d12_test: info failed: $output" >&2
        exit 1
    }
    if ! grep -qE "$1" <<<"$output" || ! grep -q 'runs here; picked' <<<"$output" ||
        ! grep -qE 'this machine lacks (a )?Direct3D 12' <<<"$output"; then
        printf 'no_d3d12_test: not in this: %s\n%s\n' "$1" "$output" >&2
        exit 1
    fi
    echo "passed: $1"
}

expect 'd3d12: none; D3D12: no Direct3D 12: d3d12.dll is not there' HEWN_WINE_OVERRIDES='d3d12='
lacks='d3d12:0 .* cannot run hewn: it lacks Direct3D 12 \(code 0x'
expect "$lacks|d3d12: none; D3D12: the system has no graphics adapter" HEWN_WINE_NO_ADAPTER=1
