#!/usr/bin/env bash
# hewn on this NVIDIA GPU, in one run of at most 8 minutes: all tests and 1500 random cases; every
# signature from 1 Mi to 1 Gi elements and, of 64 Mi, in other layouts, beside the card's own copies
# and, where installed, PyTorch and Triton; launches of 4 Ki elements, alone and in a captured
# graph. Leaves report.json, table.md, chart.svg and what they come from.
#
#     ./bench/gpu.sh                    builds, then runs; needs an NVIDIA driver
#     ./bench/gpu.sh --pack DIR         builds, then puts what runs into DIR, for a machine with a
#                                       card that has no compiler and no network
#     ./bench/gpu.sh --from DIR         there: runs what was packed
#     --dry-run                         with the tests' CUDA driver, which computes nothing, and few
#                                       elements: shows that the script works, and that results
#                                       that differ are found: exit code 1
#     --build DIR                       the build; default: build
#     --results DIR                     where the results go; default: build/gpu-results
#     --minutes N                       at most; default: 8
#
# Exit code: 1 if a test failed, a result differs or a step ran out of time; measuring goes on.
set -euo pipefail
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
build=$root/build from='' pack='' results=$root/build/gpu-results minutes=8 dry=''
measured=() cases=1500 filter='*__cuda*'
while (($#)); do
    case $1 in
    -h | --help) sed -n '2,/^set/{/^set/!s/^# \?//p}' "${BASH_SOURCE[0]}" && exit ;;
    --dry-run) dry=yes && shift ;;
    --pack) pack=$(realpath -m "${2:?}"); shift 2 ;;
    --from) from=$(realpath "${2:?}") || exit 2; shift 2 ;;
    --build) build=$(realpath "${2:?}") || exit 2; shift 2 ;;
    --results) results=$(realpath -m "${2:?}"); shift 2 ;;
    --minutes) minutes=${2:?}; shift 2 ;;
    *) echo "gpu.sh: unknown option $1" >&2 && exit 2 ;;
    esac
done
[[ $minutes =~ ^[0-9]+$ ]] || { echo "gpu.sh: --minutes $minutes: whole minutes" >&2 && exit 2; }
cd "$root"
programs=(bin/hewn bin/hewn_gpu_bench tests/hewn_tests tests/hewn_gpu_tests)

# What the programs load beside the C library, which the other system has: its own, so that the
# driver finds what it wants.
libraries_of() {
    ldd "$@" | awk '$3 ~ /^\// && $1 !~ /^(libc|libm|libdl|librt|libpthread)\.so/ { print $3 }' |
        sort -u
}
pack_programs() {
    local program
    rm -rf "$pack"
    mkdir -p "$pack"/{bin,tests/fake,libraries}
    for program in "${programs[@]}"; do strip -o "$pack/$program" "$build/$program"; done
    cp "$build/tests/fake/libcuda.so.1" "$pack/tests/fake"
    libraries_of "${programs[@]/#/$build/}" | xargs -I{} cp -L {} "$pack/libraries"
    du -sh "$pack"
}
if [[ ! $from ]]; then
    if [[ $build == "$root/build" ]]; then
        scripts/setup.sh --tests
        export PATH="$root/.venv/bin:$PATH"
        cmake --preset default
        cmake --build build --target hewn_tests hewn_gpu_tests hewn_cli hewn_gpu_bench fake_cuda
    fi
    if [[ $pack ]]; then pack_programs && exit; fi
    from=$build
fi

paths=$from/libraries
if [[ $dry ]]; then
    paths=$from/tests/fake:$paths filter='*EveryLength*__cuda*' cases=15
    measured=(--from 4Ki --to 64Ki --layout-elements 16Ki --seconds 0.0002)
fi
# Where the caller finds its driver, too.
paths+=${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# The programs alone get the libraries: another program's may be newer.
hewn() { LD_LIBRARY_PATH=$paths exec "$from/$1" "${@:2}"; }
peers() {
    local python
    python=$(command -v python3) || { echo "no python3: no peers" && exit 77; }
    "$python" bench/gpu/gpu_peers.py "$results/rows.jsonl"
}
# Why a card's kernels that miss a bar do: what its profiler says of the furthest below.
profile() {
    local kernel layout elements
    command -v ncu >/dev/null || { echo "no ncu" && exit 77; }
    while read -r kernel layout elements; do
        echo "== $kernel $layout $elements"
        LD_LIBRARY_PATH=$paths ncu --clock-control none --section SpeedOfLight \
            --section MemoryWorkloadAnalysis --section Occupancy --section WarpStateStats \
            --section LaunchStats \
            "$from/bin/hewn_gpu_bench" --only "$kernel" --once "$layout" \
            --layout-elements "$elements" || true
    done < <(python3 bench/gpu/gpu_report.py --misses "$results")
}
export -f hewn peers profile
export paths from results

if ! device=$(hewn bin/hewn info | grep "^  cuda:") || [[ $device == *": none;"* ]]; then
    echo "gpu.sh: ${device:-no CUDA here}; --dry-run shows the script without a card" >&2
    exit 1
fi
mkdir -p "$results"
rm -f "$results"/{log.txt,profile.txt,rows.jsonl,steps.jsonl,report.json,table.md,chart.svg}
deadline=$((SECONDS + minutes * 60)) failed=0

# step NAME MOST-SECONDS FILE COMMAND...: its output goes to the end of FILE, its messages and how
# it ended to log.txt and steps.jsonl.
step() {
    local name=$1 most=$2 file=$results/$3 begun=$SECONDS code=0 outcome
    shift 3
    if ((most > deadline - SECONDS)); then most=$((deadline - SECONDS)); fi
    echo "== $name" | tee -a "$results/log.txt"
    if ((most > 0)); then
        timeout "$most" bash -c '"$@"' bash "$@" >>"$file" 2>>"$results/log.txt" || code=$?
    else
        code=124
    fi
    case $code in
    0) outcome=passed ;;
    77) outcome=skipped ;;
    124) outcome="out of time" failed=1 ;;
    *) outcome=failed failed=1 ;;
    esac
    printf '{"step": "%s", "outcome": "%s", "seconds": %d}\n' "$name" "$outcome" \
        $((SECONDS - begun)) | tee -a "$results/steps.jsonl"
}
{
    echo "$device"
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem \
        --format=csv || true
} >>"$results/log.txt" 2>&1

step "devices' tests" 60 log.txt hewn tests/hewn_gpu_tests --gtest_brief=1 \
    --gtest_filter='Gpu.*:Cuda.*'
step "conformance" 60 log.txt hewn bin/hewn conformance tests/data/*.jsonl --device cuda
step "random cases" 60 log.txt hewn bin/hewn verify --device cuda --cases "$cases"
step "speed" 180 rows.jsonl hewn bin/hewn_gpu_bench "${measured[@]}"
step "peers" 90 rows.jsonl peers
report() {
    if command -v python3 >/dev/null; then
        python3 bench/gpu/gpu_report.py "$results" || failed=1
    else
        echo "gpu.sh: no python3: bench/gpu/gpu_report.py $results makes the report elsewhere"
    fi
}
report >/dev/null
step "profile" 60 profile.txt profile
# Last, because they take longest: a run that is cut short has the others. In one process: several
# wait for one another at the card.
step "variants' tests" 300 log.txt hewn tests/hewn_tests --gtest_brief=1 --gtest_filter="$filter"
report
# A step's own output is in the log; here is what a look at the end of the run should show.
grep -aE "FAILED|SKIPPED|differ|[0-9]+ passed" "$results/log.txt" | tail -20 || true
cat "$results/steps.jsonl"
exit $failed
