#!/usr/bin/env bash
# wheels.sh DIST WORK: Python's wheels keep to the stable ABI, and to the Linux that their names
# say; pip takes each for its platform. python.sh runs them. hewn-tune, from its wheel, unpacks its
# source, which sets itself up.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
apt patchelf
wheels=("$dist/hewn-$version"-*.whl)
[[ -e ${wheels[0]} ]] || skip "no wheels: no headers of Python 3.12"
only_file "hewn-$version.tar.gz" >"$work/source"
for wheel in "${wheels[@]}"; do
    tag=$(basename "$wheel" .whl) && tag=${tag#"hewn-$version-cp312-abi3-"}
    said=$("$root/packaging/python.sh" -m abi3audit --strict --verbose "$wheel" 2>&1) ||
        fail "$tag: abi3audit: $said"
    said=$(tr -s ' \n' ' ' <<<"$said")
    [[ $said == *"0 ABI version mismatches and 0 ABI violations"* ]] ||
        fail "$tag: abi3audit: $said"
    if [[ $tag == manylinux* ]]; then
        said=$("$root/packaging/python.sh" -m auditwheel show "$wheel")
        [[ $said == *"$tag"* ]] || fail "$tag: auditwheel: $said"
    fi
    "$root/packaging/python.sh" -m pip install --quiet --disable-pip-version-check --no-deps \
        --no-index --target "$work/$tag" --platform "$tag" --python-version 3.12 \
        --implementation cp --abi abi3 --only-binary :all: "$wheel" || fail "$tag: pip refuses it"
    [[ -f $work/$tag/hewn/_operators.pyi ]] || fail "$tag: no stubs"
    echo "ok      $tag"
done
python3 -m venv "$work/tune"
"$work/tune/bin/pip" install --quiet --disable-pip-version-check --no-index \
    "$(only_file "hewn_tune-$version-py3-none-any.whl")"
said=$(cd "$work" && tune/bin/hewn-tune --help) || fail "hewn-tune: $said"
[[ $said == *"--budget"* ]] || fail "hewn-tune: $said"
"$work/tune/bin/python" -c "import hewn_tune; hewn_tune.Recorded" || fail "hewn_tune: no module"
echo "ok      hewn-tune"
