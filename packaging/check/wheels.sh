#!/usr/bin/env bash
# wheels.sh DIST WORK
#
# Checks the wheels of the Python package. The wheels for the stable ABI must use nothing else, and
# all wheels must fit the Linux that their names say. pip must accept each for its platform and
# Python. A wheel whose Python is on this machine is installed in a new environment, where it
# verifies its kernels. (python.sh runs the package's tests.) Then hewn-tune is installed from its
# wheel and started.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$root/packaging/interpreters.sh"
apt patchelf
only_file "$wheel_name-$version.tar.gz" >"$work/source"

on_the_stable_abi() {  # WHEEL
    local said
    said=$("$root/packaging/python.sh" -m abi3audit --strict --verbose "$1" 2>&1) ||
        fail "$1: abi3audit: $said"
    said=$(tr -s ' \n' ' ' <<<"$said")
    [[ $said == *"0 ABI version mismatches and 0 ABI violations"* ]] || fail "$1: abi3audit: $said"
}

# use WHEEL VERSION PYTHON: uses the wheel in an environment that has only NumPy besides.
use() {
    local said at=$work/use-$2
    "$3" -m venv "$at"
    "$at/bin/pip" install --quiet --disable-pip-version-check --no-input --only-binary :all: \
        numpy >&2 || { echo "skipped $2: NumPy cannot be had" && return; }
    "$at/bin/pip" install --quiet --disable-pip-version-check --no-input --no-deps --no-index "$1"
    said=$(cd "$work" && env -i "PATH=$at/bin" "$at/bin/python" -m hewn verify) ||
        fail "Python $2: $said"
    # A free-threaded Python turns the GIL on, with a warning, for a module that does not say that
    # it works without.
    if [[ $2 == *t ]]; then
        "$at/bin/python" -W error -c 'import hewn, sys; sys.exit(sys._is_gil_enabled())' ||
            fail "Python $2: the extension turns the GIL on"
    fi
    echo "ok      Python $2: $(tail -1 <<<"$said")"
}

# at_hand PYTHON-TAG: prints the oldest version of Python for which the wheel is and which this
# machine has, if there is one.
at_hand() {
    local known versions
    versions=("$(version_of_tag "$1")")
    if [[ $1 == *-abi3 ]]; then versions=(3.12 3.13 3.14 3.15); fi
    for known in "${versions[@]}"; do
        if python_at_hand "$known" >/dev/null; then echo "$known" && return; fi
    done
}

wheels=("$dist/$wheel_name-$version"-*.whl)
[[ -e ${wheels[0]} ]] || skip "no wheels: no headers of Python"
for wheel in "${wheels[@]}"; do
    tag=$(basename "$wheel" .whl) && tag=${tag#"$wheel_name-$version-"}
    platform=${tag##*-} python=${tag%-*}
    if [[ $python == *-abi3 ]]; then on_the_stable_abi "$wheel"; fi
    if [[ $platform == manylinux* ]]; then
        said=$("$root/packaging/python.sh" -m auditwheel show "$wheel")
        [[ $said == *"$platform"* ]] || fail "$tag: auditwheel: $said"
    fi
    taken=$(version_of_tag "$python")
    "$root/packaging/python.sh" -m pip install --quiet --disable-pip-version-check --no-deps \
        --no-index --target "$work/$tag" --platform "$platform" --python-version "${taken%t}" \
        --implementation cp --abi "${python#*-}" --only-binary :all: "$wheel" ||
        fail "$tag: pip refuses it"
    [[ -f $work/$tag/hewn/_operators.pyi ]] || fail "$tag: no stubs"
    echo "ok      $tag"
    if [[ $platform == manylinux*_$(uname -m) ]]; then
        taken=$(at_hand "$python")
        if [[ $taken ]]; then use "$wheel" "$taken" "$(python_at_hand "$taken")"; fi
    fi
done
python3 -m venv "$work/tune"
"$work/tune/bin/pip" install --quiet --disable-pip-version-check --no-index \
    "$(only_file "${wheel_name}_tune-$version-py3-none-any.whl")"
said=$(cd "$work" && tune/bin/hewn-tune --help) || fail "hewn-tune: $said"
[[ $said == *"--budget"* ]] || fail "hewn-tune: $said"
"$work/tune/bin/python" -c "import hewn_tune; hewn_tune.Recorded" || fail "hewn_tune: no module"
echo "ok      hewn-tune"
