#!/usr/bin/env bash
# Checks that the components together have all files of the whole installation, and that no file is
# in two components: components_test.sh BUILD WORK CMAKE
set -euo pipefail
build=$1 work=$2 cmake=$3
files() { (cd "$1" && find . -type f -o -type l) | sort; }
rm -rf "$work"
mkdir -p "$work"
"$cmake" --install "$build" --prefix "$work/whole" >"$work/install.log"
for component in Runtime Development Tool OnnxRuntime; do
    "$cmake" --install "$build" --prefix "$work/$component" --component hewn_$component \
        >>"$work/install.log"
    [[ $(files "$work/$component") ]] || { echo "hewn_$component is empty" >&2 && exit 1; }
    files "$work/$component" >>"$work/files"
done
diff <(sort "$work/files") <(files "$work/whole") ||
    { echo "the components are not the whole: the lines above" >&2 && exit 1; }
echo "passed: $(wc -l <"$work/files") files, each in one component"
