#!/usr/bin/env bash
# Fuzzes hewn with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer:
# scripts/fuzz.sh MINUTES [FUZZER...] [--keep]
#
# Runs each FUZZER for MINUTES, one after the other. A fuzzer has the name of its folder in
# tests/fuzz/corpus; without FUZZER all of them run. The inputs that a run finds are kept in
# build-fuzz/corpus, and the next run continues from them. An input that makes hewn fail is left in
# build-fuzz/findings, the command that repeats it is printed, and the exit code is 1.
#
#     --keep        copies inputs to tests/fuzz/corpus, from where ctest replays them: the smallest
#                   set that reaches the same code as all inputs, at most 40 for each fuzzer and at
#                   most 4 KiB each
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
keep='' arguments=()
for argument; do
    case $argument in
    -h | --help) sed -n '2,/^set/{/^set/!s/^# \?//p}' "${BASH_SOURCE[0]}" && exit ;;
    --keep) keep=yes ;;
    *) arguments+=("$argument") ;;
    esac
done
minutes=${arguments[0]:?fuzz.sh: how many minutes?}
fuzzers=("${arguments[@]:1}")
if ((${#fuzzers[@]} == 0)); then mapfile -t fuzzers < <(ls tests/fuzz/corpus); fi

scripts/setup.sh --tests clang
version=$(clang -dumpversion | cut -d. -f1)
# This package has the fuzzer's library. In Ubuntu 22.04 clang's own package has it.
if apt-cache show "libclang-rt-$version-dev" >/dev/null 2>&1; then
    scripts/setup.sh clang "libclang-rt-$version-dev"
fi
export PATH="$PWD/.venv/bin:$PATH" CC=clang CXX=clang++ OUT=$PWD/build-fuzz
export LIB_FUZZING_ENGINE=-fsanitize=fuzzer
export CFLAGS="-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=undefined"
export CXXFLAGS=$CFLAGS
if [[ -x build/hewn_generators ]]; then
    export HEWN_GENERATORS=${HEWN_GENERATORS:-$PWD/build/hewn_generators}
fi
mkdir -p build-fuzz/findings
tests/fuzz/build.sh

status=0
for fuzzer in "${fuzzers[@]}"; do
    program=$OUT/hewn_fuzz_$fuzzer corpus=$OUT/corpus/$fuzzer kept=tests/fuzz/corpus/$fuzzer
    mkdir -p "$corpus"
    echo "== $fuzzer"
    # malloc_limit_mb limits the memory that the libraries for PNG and JPEG allocate at once.
    "$program" -max_total_time=$((minutes * 60)) -max_len=4096 -timeout=30 -rss_limit_mb=4096 \
        -malloc_limit_mb=2048 -artifact_prefix="$OUT/findings/$fuzzer-" -print_final_stats=1 \
        "$corpus" "$kept" 2>&1 | tee "$OUT/$fuzzer.log" |
        grep -E "^(fuzz:|SUMMARY|stat::|==.*ERROR)|runtime error|findings" || true
    if grep -qE "SUMMARY|deadly signal" "$OUT/$fuzzer.log"; then
        echo "FOUND   $program $OUT/findings/$fuzzer-..."
        status=1
    fi
    if [[ $keep ]]; then
        rm -rf "$OUT/least" && mkdir "$OUT/least"
        "$program" -merge=1 "$OUT/least" "$corpus" "$kept" >/dev/null 2>&1
        find "$OUT/least" -type f -printf '%s %p\n' | sort -n | awk 'NR <= 40 { print $2 }' |
            xargs -r cp -t "$kept"
    fi
done
exit $status
