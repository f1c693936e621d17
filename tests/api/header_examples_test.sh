#!/usr/bin/env bash
# header_examples_test.sh WORK LIBRARY INCLUDE CC CXX: the programs in the first comments of hewn.h
# and hewn.hpp must compile as they stand there, without a warning, and print the sums that they
# promise.
set -euo pipefail
work=$1 library=$2 include=$3 cc=$4 cxx=$5
rm -rf "$work"
mkdir -p "$work"

# example HEADER: prints the program in the header's first comment, whose lines are indented by four
# more spaces.
example() { sed -nE '/^#ifndef/q; s/^( \*|\/\/)     ?//p' "$include/hewn/$1"; }

example hewn.h >"$work/c.c"
example hewn.hpp >"$work/cpp.cpp"
warnings=(-Wall -Wextra -pedantic -Werror)
"$cc" -std=c99 "${warnings[@]}" -I"$include" "$work/c.c" "$library" -ldl -lpthread -lm -o "$work/c"
"$cxx" -std=c++17 "${warnings[@]}" -I"$include" "$work/cpp.cpp" "$library" -ldl -lpthread -o "$work/cpp"
for program in c cpp; do
    printed=$("$work/$program" | xargs)
    if [[ $printed != "11 22 33 44" ]]; then
        echo "FAILED: $program printed '$printed', expected 11 22 33 44" >&2
        exit 1
    fi
done
