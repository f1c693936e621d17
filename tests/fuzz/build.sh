#!/usr/bin/env bash
# Builds the fuzzers into $OUT, as OSS-Fuzz calls it: with $CC, $CXX, $CFLAGS, $CXXFLAGS and
# $LIB_FUZZING_ENGINE. Each fuzzer's kept inputs are copied to $OUT as NAME_seed_corpus.
# HEWN_GENERATORS may name the generators of a native build; without it they are built. What
# building hewn needs must be installed (scripts/setup.sh).
set -euo pipefail
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
build=$OUT/build
cmake -G Ninja -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g" \
    -DHEWN_BUILD_EXAMPLES=OFF -DHEWN_GENERATORS="${HEWN_GENERATORS:-}" \
    "-DHEWN_TARGETS=x86_64_sse41;x86_64_avx2" -DHEWN_FUZZING_ENGINE="$LIB_FUZZING_ENGINE"
for corpus in "$source"/tests/fuzz/corpus/*; do
    name=hewn_fuzz_$(basename "$corpus")
    cmake --build "$build" --target "$name"
    cp "$build/tests/$name" "$OUT"
    rm -rf "$OUT/${name}_seed_corpus"
    cp -r "$corpus" "$OUT/${name}_seed_corpus"
done
