#!/usr/bin/env bash
# reproducible.sh DIST WORK
#
# Checks that packages are reproducible. It runs scripts/release.sh --quick here and in a clone,
# whose folder's name has a space, and compares all files. It takes a quarter of an hour.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$root"
[[ -z $(git status --porcelain) ]] || skip "the sources here are not those of a commit"
here=$work/here there="$work/another folder/hewn"
scripts/release.sh --quick -B "$here" >"$work/here.log" 2>&1 ||
    fail "here: $(tail "$work/here.log")"
git clone --quiet "$root" "$there"
"$there/scripts/release.sh" --quick -B "$there/build-packages" >"$work/there.log" 2>&1 ||
    fail "there: $(tail "$work/there.log")"
differing=$(diff <(cd "$here/dist" && sha256sum -- *) \
    <(cd "$there/build-packages/dist" && sha256sum -- *)) || fail "differing: $differing"
echo "ok      $(find "$here/dist" -type f | wc -l) files are the same"
