#!/usr/bin/env bash
# Checks the benchmark on a machine that has none of the peers. It must configure, build, and name
# each peer with what to install. It must run only if it is told to do without them.
#
#     without_peers_test.sh CMAKE SOURCE SCRATCH-FOLDER CC CXX HALIDE-INCLUDE-DIR GENERATOR
#         MAKE-PROGRAM HEWN_GENERATORS
set -euo pipefail
cmake=$1 source=$2 scratch=$3 cc=$4 cxx=$5 halide=$6 generator=$7 make=$8 generators=$9
unset HEWN_VARIANT
rm -rf "$scratch"
mkdir -p "$scratch"
log=$scratch/log

fail() {
    echo "FAILED  $1"
    [[ ! -f $log ]] || tail -40 "$log"
    exit 1
}
# configure OPTION...: configures so that neither the system's headers nor Google Benchmark are
# found.
configure() {
    "$cmake" -S "$source" -B "$scratch/build" -G "$generator" -DCMAKE_MAKE_PROGRAM="$make" \
        -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
        -DHEWN_HALIDE_INCLUDE_DIR="$halide" -DHEWN_GENERATORS="$generators" \
        "-DHEWN_SIGNATURES=add_f32;quantize_linear_f32_i8;quantize_linear_f32_f8" \
        -DHEWN_TARGETS=x86_64_sse41 -DHEWN_BUILD_BENCH=ON \
        -DHEWN_BUILD_TESTS=OFF -DHEWN_BUILD_TOOLS=OFF -DHEWN_BUILD_EXAMPLES=OFF \
        "-DCMAKE_IGNORE_PATH=$hidden" -DCMAKE_DISABLE_FIND_PACKAGE_benchmark=ON "$@" >"$log" 2>&1
}
hidden="/usr/include;/usr/include/$("$cc" -print-multiarch);/usr/local/include"
# says WHAT WHY: checks that the configuration left WHAT out for this reason. Ends of lines do not
# matter.
says() {
    tr -s '[:space:]' ' ' <"$log" | grep -qF "Benchmark: $1 is left out: $2" ||
        fail "$1 is not left out with '$2'"
    echo "ok      $1: $2"
}
pool=$(dirname "$(printf '#include <pthreadpool.h>\n' | "$cc" -E -x c - 2>/dev/null |
    sed -n 's/^# [0-9]* "\(.*pthreadpool\.h\)".*/\1/p' | head -1)")

configure || fail "without any peer, the build does not configure"
says "Google Benchmark, and bench_variants and bench_calls with it," "install libbenchmark-dev"
says compare "install libcli11-dev, nlohmann-json3-dev and libpthreadpool-dev"
if [[ ! -f $pool/pthreadpool.h ]]; then
    echo "skipped: no pthreadpool, without which there is no comparison"
    exit 77
fi

configure "-DPTHREADPOOL_INCLUDE_DIR=$pool" || fail "without any peer, it does not configure"
says oneDNN "no oneapi/dnnl/dnnl.hpp: install libdnnl-dev, or set HEWN_BENCH_ONEDNN_PREFIX"
says XNNPACK "no xnnpack.h: install libxnnpack-dev, or set HEWN_BENCH_XNNPACK_PREFIX"
says NumPy "HEWN_BENCH_PYTHON is not set"
says NumKong "HEWN_BENCH_PYTHON is not set"
says "ONNX Runtime" "HEWN_BENCH_PYTHON is not set"
"$cmake" --build "$scratch/build" --target compare >>"$log" 2>&1 || fail "compare does not build"

compare() { "$scratch/build/bench/compare" --op add --elements 16 --threads 1 "$@" >"$log" 2>&1; }
if compare; then fail "compare goes on without its peers"; fi
for peer in oneDNN XNNPACK NumPy NumKong "ONNX Runtime"; do
    grep -q "^  $peer: .*--without-peer [a-z]*$" "$log" || fail "$peer is not named"
done
if compare --without-peer oneDNN; then fail "--without-peer takes any name"; fi
grep -q "onednn" "$log" || fail "--without-peer does not name its values"
without=(--without-peer onednn --without-peer xnnpack --without-peer numpy --without-peer numkong)
if compare "${without[@]}"; then fail "compare goes on without ONNX Runtime"; fi
compare "${without[@]}" --without-peer onnxruntime --report "$scratch/report.json" ||
    fail "compare does not run without peers"
grep -q '^oneDNN *left out: no oneapi/dnnl/dnnl.hpp: install libdnnl-dev' "$log" ||
    fail "the table's head does not name what was left out"
grep -q '"XNNPACK": "left out: no xnnpack.h' "$scratch/report.json" ||
    fail "the report does not name what was left out"
grep -q '^add  *f32  *dense  *16 ' "$log" || fail "no row is measured"
echo "ok      compare, with and without --without-peer"

# Types that these kernels take, but that are not in their names.
signatures=(f32_i8 bf16_i8 f32_i4 f32_f8e4m3fn f32_f8e5m2fnuz f32_f6e2m3 f32_f4e2m1)
"$scratch/build/bench/compare" --op quantize_linear --signature "${signatures[@]}" --elements 17 \
    --threads 1 "${without[@]}" --without-peer onnxruntime --quick >"$log" 2>&1 ||
    fail "compare does not measure the types that have no kernels of their own"
for signature in "${signatures[@]}"; do
    grep -q "^quantize_linear  *$signature  *dense  *17 " "$log" || fail "no row of $signature"
done
echo "ok      types that have no kernels of their own"

# A folder that is given must have the peer.
if configure "-DPTHREADPOOL_INCLUDE_DIR=$pool" "-DHEWN_BENCH_ONEDNN_PREFIX=$scratch"; then
    fail "a prefix without oneDNN is accepted"
fi
tr -s '[:space:]' ' ' <"$log" |
    grep -qF "HEWN_BENCH_ONEDNN_PREFIX: $scratch has no oneapi/dnnl/dnnl.hpp" ||
    fail "the prefix without oneDNN is not named"
if configure "-DPTHREADPOOL_INCLUDE_DIR=$pool" -DHEWN_BENCH_ONEDNN_PREFIX= \
    "-DHEWN_BENCH_PYTHON=$scratch/python"; then
    says NumPy "$scratch/python"
else
    fail "a Python that is not there ends the configuration"
fi
