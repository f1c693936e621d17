#!/usr/bin/env bash
# Fuzzes with libFuzzer, AddressSanitizer and UBSan: scripts/fuzz.sh MINUTES [FUZZER...]
#
# Each fuzzer of tests/fuzz, named as its folder in corpus/, runs for so many minutes, one after the
# other, and goes on from what earlier runs found in build-fuzz/corpus. A finding is left in
# build-fuzz/findings, with how to repeat it; the exit code is then 1.
#
#     --keep        copy the smallest set of inputs that reaches all that these reach to
#                   tests/fuzz/corpus, which ctest replays: 40 a fuzzer, of 4 KiB at most
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
# Ubuntu 22.04 has it in clang itself.
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
    # PNG's and JPEG's own memory is limited by malloc_limit_mb.
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
