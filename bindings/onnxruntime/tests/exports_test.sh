#!/usr/bin/env bash
# exports_test.sh NM LIBRARY: the provider exports its two entry points alone, though hewn, Halide's
# runtime and C++'s library are inside.
set -euo pipefail
exported=$("$1" --dynamic --defined-only "$2" | sed 's/^[0-9a-f]* . //' | sort | tr '\n' ' ')
echo "$exported"
[[ $exported == "CreateEpFactories ReleaseEpFactory " ]]
