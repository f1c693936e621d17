#!/usr/bin/env bash
# Checks that the provider exports only its two entry points, although hewn, Halide's runtime and
# C++'s library are inside: exports_test.sh NM LIBRARY
set -euo pipefail
exported=$("$1" --dynamic --defined-only "$2" | sed 's/^[0-9a-f]* . //' | sort | tr '\n' ' ')
echo "$exported"
[[ $exported == "CreateEpFactories ReleaseEpFactory " ]]
