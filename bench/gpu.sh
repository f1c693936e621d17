#!/usr/bin/env bash
# hewn on this machine's NVIDIA GPU: runs all its tests there, then measures every signature from 1 Mi to 1 Gi elements beside the card's
# own device-to-device copies and, where installed, PyTorch. Leaves report.json and table.md.
#
#     ./bench/gpu.sh                   needs an NVIDIA driver
#     ./bench/gpu.sh --dry-run         the same on OpenCL with few elements: shows that the script works where there is no GPU
#     --results DIR                    where they go; default: build/gpu-results
set -euo pipefail
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
results=$root/build/gpu-results device=cuda measured=(--from 1Mi --to 1Gi)
while (($#)); do
    case $1 in
    --dry-run) device=opencl measured=(--from 64Ki --to 256Ki --seconds 0.01) && shift ;;
    --results) results=$(realpath -m "$2") && shift 2 ;;
    *) echo "gpu.sh: unknown option $1" >&2 && exit 2 ;;
    esac
done
cd "$root"
if [[ $device == cuda ]] && ! ldconfig -p | grep -q 'libcuda\.so\.1'; then
    echo "gpu.sh: no CUDA driver here (libcuda.so.1); --dry-run shows the script on OpenCL" >&2
    exit 1
fi

scripts/setup.sh
export PATH="$root/.venv/bin:$PATH"
[[ -f build/build.ninja ]] || cmake --preset default
cmake --build build --target hewn_tests hewn_gpu_tests hewn_cli hewn_gpu_bench
ctest --test-dir build --output-on-failure -R "^(variants|conformance)\.${device}"
build/tests/hewn_gpu_tests --gtest_filter='Gpu.*:OpenCl.*'

mkdir -p "$results"
build/bin/hewn_gpu_bench --device "$device" "${measured[@]}" >"$results/rows.jsonl"
python=python3
"$python" -c 'import torch' 2>/dev/null || python=.venv/bin/python
"$python" bench/gpu_report.py "$results/rows.jsonl" "$results/report.json" "$results/table.md"
echo "report: $results/report.json, $results/table.md"
