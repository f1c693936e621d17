#!/usr/bin/env bash
# Tests and measures hewn on this machine's NVIDIA GPU, in one run of at most 8 minutes:
# - all tests, and 1500 random cases;
# - the speed of every kernel with 1 Mi to 1 Gi elements, and with 64 Mi elements in other layouts,
#   compared with copies on the card and, where they are installed, with PyTorch and Triton;
# - the time of launches of 4 Ki elements, one by one and in a captured graph.
# Writes report.json, table.md, chart.svg and the data from which they are made.
#
#     ./bench/gpu.sh                    builds, then runs; needs an NVIDIA driver
#     ./bench/gpu.sh --pack DIR         builds, then puts the programs into DIR, for a machine with
#                                       a GPU but without a compiler and without a network
#     ./bench/gpu.sh --from DIR         on that machine: runs the programs in DIR
#     --dry-run                         runs on the tests' own CUDA driver, which computes nothing,
#                                       with few elements. Shows that the script works and that it
#                                       finds results that differ: the exit code is 1
#     --build DIR                       the folder of the build; default: build
#     --results DIR                     where the results go; default: build/gpu-results
#     --minutes N                       the most minutes that a run takes; default: 8
#
# The exit code is 1 if a test failed, a result differs or a step ran out of time. The other steps
# run all the same.
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

# Prints the libraries that the programs load, except for the C library: the driver needs the C
# library of the system on which it runs.
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
    find "$pack" -type f -exec gzip {} +  # what is carried to such a machine may be limited
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
else
    find "$from" -name "*.gz" -exec gunzip {} +
fi

paths=$from/libraries
if [[ $dry ]]; then
    paths=$from/tests/fake:$paths filter='*EveryLength*__cuda*' cases=15
    measured=(--from 4Ki --to 64Ki --layout-elements 16Ki --seconds 0.0002)
fi
# Keeps the caller's path, which may have the driver.
paths+=${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# Only these programs get the packed libraries: other programs may need newer ones.
hewn() { LD_LIBRARY_PATH=$paths exec "$from/$1" "${@:2}"; }
peers() {
    local python
    python=$(command -v python3) || { echo "no python3: no peers" && exit 77; }
    "$python" bench/gpu/gpu_peers.py "$results/rows.jsonl"
}
# Runs NVIDIA's profiler on the kernels that are furthest below a bar, to show why.
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

# step NAME MOST-SECONDS FILE COMMAND...: runs a command. Its output is added to FILE, its messages
# to log.txt, and its outcome to steps.jsonl.
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
# These tests are last because they take longest: a run that is cut short has the others. They run
# in one process, because several would wait for one another at the card.
step "variants' tests" 300 log.txt hewn tests/hewn_tests --gtest_brief=1 --gtest_filter="$filter"
report
# All output of the steps is in the log. This prints the lines that matter at the end of the run.
grep -aE "FAILED|SKIPPED|differ|[0-9]+ passed" "$results/log.txt" | tail -20 || true
cat "$results/steps.jsonl"
exit $failed
