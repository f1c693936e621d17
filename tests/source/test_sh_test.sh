#!/usr/bin/env bash
# Checks what ./test.sh runs for which arguments, with programs in place of the real ones that only
# note how they were called. It also asks ctest in the build what the presets choose and how long a
# test may take.
#
#     test_sh_test.sh CTEST SOURCE WORK BUILD
set -euo pipefail
ctest=$1 source=$2 work=$3 build=$4
failed=0

check() {  # check WHAT WANTED GOT
    if [[ $2 == "$3" ]]; then
        echo "ok      $1"
    else
        printf 'FAILED  %s:\n%s\n   instead of:\n%s\n' "$1" "$3" "$2"
        failed=1
    fi
}

rm -rf "$work"
mkdir -p "$work"/{scripts,bin}
cp "$source/test.sh" "$work"
cp "$source/scripts/stage.sh" "$work/scripts"
# `note` writes down its name and arguments. As ctest it fails, and as wine.sh it has no Wine.
cat >"$work/bin/note" <<'END'
#!/usr/bin/env bash
echo "$(basename "$0") $*" >>"$CALLS"
case "$(basename "$0") $*" in
ctest*) exit 8 ;;
wine.sh*) exit 77 ;;
esac
END
chmod +x "$work/bin/note"
for program in tune.sh scripts/{setup,cross,release,wine}.sh bin/{cmake,ctest}; do
    ln -s "$work/bin/note" "$work/$program"
done
export CALLS=$work/calls

# played STATUS ARGUMENT...: runs test.sh. Its calls are then in $calls, and what it prints is in
# $output.
played() {
    local status=0
    : >"$CALLS"
    output=$(PATH="$work/bin:$PATH" "$work/test.sh" "${@:2}" 2>&1) || status=$?
    calls=$(<"$CALLS")
    check "test.sh ${*:2}: exit status" "$1" "$status"
}
built=$'cmake --preset default\ncmake --build --preset quick'

for argument in -h --help; do
    played 0 --all $argument
    check "$argument runs nothing" "" "$calls"
    check "$argument tells of --all" 1 "$(grep -c '^ *\./test\.sh --all' <<<"$output")"
done

played 8 -R 'two words'
check "without --all" $'setup.sh --tests\n'"$built"$'\nctest --preset quick -R two words' "$calls"

played 8 --all -R some
check "--all begins as without it and goes on" $'setup.sh --all\ntune.sh --set-up\n'"$built"\
$'\ncmake --build --preset default\ncross.sh linux-arm64\ncross.sh linux-x86\ncross.sh wasm32\n'\
$'wine.sh \nrelease.sh --quick -B build-packages-quick\nctest --preset default -R some' "$calls"
# All systems that the README names can be built.
systems=$(sed -n '/^## Platforms/,/^## /s/^| \(`.*\)/\1/p' "$source/README.md" |
    grep -oE '`[a-z]+(-[a-z0-9_]+)+`' | tr -d '`' | sort)
check "every other system of the README's" "$systems" \
    "$(basename --suffix .cmake -a "$source"/cmake/toolchains/*-*.cmake | sort)"

# ---- The build itself

cd "$source"
if [[ $build != "$source/build" ]]; then
    echo "skipped: the presets are those of build/"
    exit $failed
fi
tests() { "$ctest" --preset "$1" --show-only "${@:2}" | sed -n 's/^ *Test *#[0-9]*: //p' | sort; }
quick=$(tests quick)
for name in api plan conformance verify python package variants.x86_64_sse41; do
    check "the preset quick has $name" "$name" "$(grep -x "$name" <<<"$quick")"
done
check "the preset quick has no other system's tests" "" \
    "$(comm -12 <(echo "$quick") <(tests default -R '^(qemu|x86-32|wasm32|wine|libraries|package)[.]'))"
# A limit is for hangs: on a busy machine tests have taken ten times as long. (A build for another
# system may be an older one.)
check "time limits below half an hour" "" \
    "$("$ctest" --preset default -E '^(qemu|x86-32|wasm32|wine)([.]|$)' --show-only=json-v1 |
        python3 -c '
import json, sys
for test in json.load(sys.stdin)["tests"]:
    properties = {property["name"]: property["value"] for property in test["properties"]}
    limit = properties.get("TIMEOUT", "no limit of its own")
    if limit == "no limit of its own" or limit < 1800: print(test["name"], limit)')"
exit $failed
