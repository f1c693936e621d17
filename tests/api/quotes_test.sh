#!/usr/bin/env bash
# quotes_test.sh SOURCE: checks the programs that documents quote. After a sentence "`examples/NAME`
# is the whole program:", README.md or docs/using.md has a block of C++. The block must stand in
# that program line by line, except for the indentation.
set -euo pipefail
cd "$1"
mapfile -t names < <(sed -n 's/.*`examples\/\([a-z_]*\)` is the whole program:$/\1/p' \
    README.md docs/using.md)
((${#names[@]})) || { echo "quotes_test: no example is quoted" >&2; exit 1; }
for name in "${names[@]}"; do
    quote=$(awk -v name="\`examples/$name\` is the whole program:" 'index($0, name) { found = 1 }
        found && /^```$/ { exit }
        inside { sub(/^ */, ""); print }
        found && /^```cpp$/ { inside = 1 }' README.md docs/using.md)
    [[ $quote && $(sed 's/^ *//' "examples/$name/main.cpp") == *"$quote"* ]] || {
        printf 'quotes_test: this is not in examples/%s/main.cpp:\n%s\n' "$name" "$quote" >&2
        exit 1
    }
    echo "passed: examples/$name/main.cpp has the $(wc -l <<<"$quote") lines that are quoted"
done
