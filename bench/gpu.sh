#!/usr/bin/env bash
# hewn on this machine's NVIDIA GPU: runs all its tests there, then measures every signature from 1
# Mi to 1 Gi elements beside the card's own device-to-device copies and, where installed, PyTorch.
# Leaves report.json and table.md.
#
#     ./bench/gpu.sh                   needs an NVIDIA driver
#     ./bench/gpu.sh --dry-run         the same on OpenCL with few elements: shows that the script
#                                      works where there is no GPU
#     --built                          with the programs in build/ as they are: installs and builds
#                                      nothing (bench/README.md)
#     --no-tests                       measures only
#     --results DIR                    where they go; default: build/gpu-results
set -euo pipefail
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
results=$root/build/gpu-results device=cuda measured=(--from 1Mi --to 1Gi) built='' tests=yes
while (($#)); do
    case $1 in
    -h | --help) sed -n '2,/^set/{/^set/!s/^# \?//p}' "${BASH_SOURCE[0]}" && exit ;;
    --dry-run) device=opencl measured=(--from 64Ki --to 256Ki --seconds 0.01) && shift ;;
    --built) built=yes && shift ;;
    --no-tests) tests='' && shift ;;
    --results) results=$(realpath -m "${2:?}") || exit 2; shift 2 ;;
    *) echo "gpu.sh: unknown option $1" >&2 && exit 2 ;;
    esac
done
cd "$root"
if [[ ! $built ]]; then
    scripts/setup.sh
    export PATH="$root/.venv/bin:$PATH"
    cmake --preset default
    cmake --build build --target hewn_tests hewn_gpu_tests hewn_cli hewn_gpu_bench
fi
if ! devices=$(build/bin/hewn info | grep "^  $device:") || [[ $devices == *": none;"* ]]; then
    echo "gpu.sh: ${devices:-no $device here}; --dry-run shows the script on OpenCL" >&2
    exit 1
fi
echo "$devices"

mkdir -p "$results"
if [[ $tests ]]; then
    build/tests/hewn_tests --gtest_brief=1 --gtest_filter="*__$device*"
    build/bin/hewn conformance tests/data/*.jsonl --device "$device"
    build/tests/hewn_gpu_tests --gtest_brief=1 --gtest_filter='Gpu.*:OpenCl.*'
fi
build/bin/hewn_gpu_bench --device "$device" "${measured[@]}" >"$results/rows.jsonl"
python3 bench/gpu_report.py "$results/rows.jsonl" "$results/report.json" "$results/table.md"
echo "report: $results/report.json, $results/table.md"
