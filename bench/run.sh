#!/usr/bin/env bash
# Compares the speed of hewn with ONNX Runtime, oneDNN, XNNPACK, NumPy, NumKong and the machine's
# limits. Sets up what that needs, builds, measures and draws.
#
#     ./bench/run.sh                          the full comparison
#     ./bench/run.sh --quick --json rows.json a short one, in under a minute
#     ./bench/run.sh --op add --elements 1Mi  a part of it; --help lists all options
#
#     --results DIR          where report.json, the pictures and index.html go; default:
#                            build/bench-results
#     --xnnpack-prefix DIR   uses the XNNPACK that is installed in DIR instead of the system's
#     --onednn-prefix DIR    uses the oneDNN that is installed in DIR instead of the system's
#     --without-peer NAME    leaves out onnxruntime, onednn, xnnpack, numpy or numkong, and does not
#                            install its package; may be given several times
set -euo pipefail
caller=$PWD
# These variables would make pip look for packages, or install them, outside of the virtual
# environment.
unset PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX
export PIP_USER=0
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")

results=$root/build/bench-results xnnpack_prefix='' onednn_prefix='' help=''
compare_arguments=() leave_out=()
while (($#)); do
    case $1 in
    -h | --help) help=yes && shift ;;
    --results) results=$(realpath -m "${2:?}") || exit 2; shift 2 ;;
    --xnnpack-prefix) xnnpack_prefix=$(realpath "${2:?}") || exit 2; shift 2 ;;
    --onednn-prefix) onednn_prefix=$(realpath "${2:?}") || exit 2; shift 2 ;;
    --without-peer=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
    --without-peer)
        case ${2:?} in
        onednn) leave_out+=(libdnnl-dev) ;;
        xnnpack) leave_out+=(libxnnpack-dev) ;;
        esac
        compare_arguments+=("$1" "$2") && shift 2
        ;;
    *) compare_arguments+=("$1") && shift ;;
    esac
done
if [[ $help ]]; then
    sed -n '2,/^set/{/^set/!s/^# \?//p}' "${BASH_SOURCE[0]}"
    if [[ -x $root/build/bench/compare ]]; then exec "$root/build/bench/compare" --help; fi
    echo "Once built, this lists the options of the comparison as well."
    exit
fi
cd "$root"

packages=(libbenchmark-dev libdnnl-dev libxnnpack-dev libpthreadpool-dev python3-dev)
venv=build/bench-venv log=build/bench.log

install_wheels() {
    local python=/usr/bin/python3 stamp=$venv/hewn.stamp wanted
    wanted="$PWD $("$python" -V) $(sha256sum <bench/requirements.txt)"
    if [[ -f $stamp && $(<"$stamp") == "$wanted" ]]; then return; fi
    echo "run.sh: making $venv"
    "$python" -m venv --clear "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --no-deps \
        --only-binary :all: \
        -r bench/requirements.txt
    printf '%s\n' "$wanted" >"$stamp"
}

# Runs a command and shows its output only if it fails.
logged() {
    if ! "$@" >"$log" 2>&1; then
        cat "$log" >&2
        return 1
    fi
}

for package in "${leave_out[@]}"; do
    mapfile -t packages < <(printf '%s\n' "${packages[@]}" | grep -vxF "$package")
done
scripts/setup.sh --tests "${packages[@]}"
mkdir -p build
install_wheels
export PATH="$root/.venv/bin:$PATH"
[[ -f build/build.ninja ]] || echo "run.sh: building hewn: some minutes the first time"
if ! logged cmake --preset default -DHEWN_BUILD_BENCH=ON \
    -DHEWN_BENCH_PYTHON="$root/$venv/bin/python" \
    -DHEWN_BENCH_XNNPACK_PREFIX="$xnnpack_prefix" -DHEWN_BENCH_ONEDNN_PREFIX="$onednn_prefix"; then
    # ./test.sh and ./demo.sh build there too.
    cmake --preset default -DHEWN_BUILD_BENCH=OFF >"$log" 2>&1 || true
    exit 1
fi
logged cmake --build build --target compare

mkdir -p "$results"
status=0
(cd "$caller" && "$root/build/bench/compare" --report "$results/report.json" \
    ${compare_arguments[@]+"${compare_arguments[@]}"}) || status=$?
if [[ $results/report.json -nt $log ]]; then
    "$venv/bin/python" bench/report/plots.py "$results/report.json" "$results"
    echo
    echo "Pictures and all rows: $results/index.html"
fi
exit "$status"
