#!/usr/bin/env bash
# deb.sh DIST WORK
#
# Checks the Debian packages with lintian, and uses their files from another folder. chroot.sh
# installs the packages.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
apt lintian man-db mandoc fish zsh
debs=("$dist"/*.deb)
[[ ${#debs[@]} == 5 ]] || fail "not five packages: ${debs[*]}"
said=$(lintian --info --no-tag-display-limit --fail-on none "${debs[@]}")
[[ -z $said ]] || fail "lintian: $said"
echo "ok      lintian has nothing to say"
for deb in "${debs[@]}"; do dpkg-deb --extract "$deb" "$work/installed"; done
"$work/installed/usr/bin/hewn" info >"$work/info" || fail "the tool does not run"
grep -q x86_64_avx2 "$work/info" || fail "the tool lists no targets: $(<"$work/info")"
said=$(LC_ALL=C.UTF-8 man -l --warnings "$work/installed/usr/share/man/man1/hewn.1.gz" 2>&1 \
    >"$work/page")
[[ -z $said && -s $work/page ]] || fail "the man page: $said"
for file in bash-completion/completions/hewn zsh/site-functions/_hewn \
    fish/vendor_completions.d/hewn.fish; do
    [[ -f $work/installed/usr/share/$file ]] || fail "there is no $file"
done
python "$root/tests/tool/shells_test.py" "$work/installed/usr/bin/hewn" >"$work/shells.log" 2>&1 ||
    fail "shells_test.py: $(tail "$work/shells.log")"
echo "ok      the man page, completions in bash, zsh and fish"
cmake -S "$root/examples/add" -B "$work/add" -G Ninja -DCMAKE_PREFIX_PATH="$work/installed/usr" \
    >"$work/log"
cmake --build "$work/add" >>"$work/log"
printed=$("$work/add/add")
[[ $printed == "11 22 33 44 "* ]] || fail "examples/add printed: $printed"
echo "ok      the tool, examples/add"
