#!/usr/bin/env bash
# test.sh BUILD WORK [PYTEST ARGUMENT...]: the wheel of a build of hewn, installed in a virtual
# environment that has no compiler, and tested there. Exit status 77: the wheels of
# requirements.txt, or Python's headers, cannot be had.
set -euo pipefail
here=$(CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(realpath "$here/../..")
build=$(realpath "${1:?"usage: $0 BUILD WORK"}") work=$(realpath -m "${2:?"usage: $0 BUILD WORK"}")
shift 2
source "$root/scripts/venv.sh"
export PATH="$root/.venv/bin:$PATH"
mkdir -p "$work"

"$root/scripts/setup.sh" python3-dev >&2 || { echo "skipped: no python3-dev" && exit 77; }
tools=$work/tools
make_venv "$tools" "$here/requirements.txt"

rm -rf "$work/stage" "$work/dist" "$work/venv"
for component in hewn_Runtime hewn_Development; do
    cmake --install "$build" --prefix "$work/stage" --component $component >/dev/null
done
HEWN_ROOT=$work/stage "$tools/bin/python" -m pip wheel --quiet --disable-pip-version-check \
    --no-deps --no-build-isolation -w "$work/dist" -C "build-dir=$work/build" "$root"

# Without HEWN_ROOT hewn itself is built, with kernels for the CPU only: the others would never run.
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
generators=$(cached HEWN_GENERATORS)
cmake -S "$here" -B "$work/source" -G Ninja "-DPython_EXECUTABLE=$tools/bin/python" \
    "-DHEWN_GENERATORS=${generators:-$build/hewn_generators}" \
    "-DHEWN_HALIDE_DIR=$(dirname "$(cached HEWN_HALIDE_INCLUDE_DIR)")" >/dev/null
grep -q 'add_f32__[a-z0-9_]*\.o' "$work/source/build.ninja"
if grep -E -q 'add_f32__(opencl|cuda)' "$work/source/build.ninja"; then
    echo "a build from source has kernels for GPUs" >&2 && exit 1
fi

# The tests' wheels are seen through a path file; programs are those of the environment alone.
"$tools/bin/python" -m venv --without-pip "$work/venv"
"$tools/bin/python" -m pip --python "$work/venv/bin/python" install --quiet \
    --disable-pip-version-check --no-deps --no-index "$work"/dist/*.whl
site=$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$tools/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$site/tools.pth"
cd "$work"
env -i HOME="$work" PATH="$work/venv/bin" LC_ALL=C.UTF-8 "$work/venv/bin/python" -B -m pytest \
    -q -p no:cacheprovider "$here/tests" "$@"
