#!/usr/bin/env bash
# Compares the library's binary interface with the baseline in abi/:
#
#     abi_test.sh SOURCE LIBRARY NM CXX SCRATCH-FOLDER
#
# The baseline has two files:
#
# - symbols.txt: the symbols that the library must export.
# - hewn.h: an earlier header, without its comments. All that it declares must still be the same:
#   functions' parameters, structs' members and where they lie, enumerators' values. For functions
#   and structs, abidiff compares the debug information of one program that is compiled with either
#   header. New functions and enumerators are not reported.
#
# A struct that has grown at its end is reported too, although that is allowed. If the report says
# no more than "data member insertion", take today's header in the same commit:
#
#     { echo '// clang-format off'
#       perl -0pe 's,/\*.*?\*/,,gs; s/[ \t]+$//gm; s/\n\n+/\n/g; s/\A\n//' include/hewn/hewn.h; }
set -euo pipefail
source=$1 library=$2 nm=$3 cxx=$4 scratch=$5
baseline=$source/tests/packages/abi failed=0
command -v abidiff >/dev/null || { echo "abidiff is not there (abigail-tools)" && exit 77; }
rm -rf "$scratch"
mkdir -p "$scratch"/{old,new}/hewn

lost=$(comm -23 "$baseline/symbols.txt" <("$nm" -D --defined-only --format=posix "$library" |
    awk '{ print $1 }' | sort))
if [[ $lost ]]; then
    printf 'FAILED  no longer exported:\n%s\n' "$lost"
    failed=1
fi

# Writes a variable for everything that the baseline declares (a pointer to each function, and each
# struct), and a function that prints the enumerators.
{
    printf '#include <hewn/hewn.h>\n#include <cstdio>\n'
    sed -n 's/.*HEWN_CALL \(hewn_[a-z0-9_]*\)(.*/decltype(\&::\1) function_\1;/p
        s/^\(typedef \)\?struct \(hewn_[a-z0-9_]*\) {.*/::\2 struct_\2;/p' "$baseline/hewn.h" |
        sort -u
    echo 'void print_values() {'
    sed -n 's/^    \(HEWN_[A-Z0-9_]*\) =.*/std::printf("\1 %lld\\n", (long long)\1);/p' \
        "$baseline/hewn.h"
    echo '}'
} >"$scratch/interface.cpp"
echo 'void print_values(); int main() { print_values(); }' >"$scratch/main.cpp"
for kind in function_ struct_ printf; do
    count=$(grep -c "$kind" "$scratch/interface.cpp" || true)
    echo "$count of $kind"
    if ((count < 15)); then echo "FAILED  too few of $kind" && failed=1; fi
done

build() {  # build FOLDER
    "$cxx" -std=c++17 -g -O0 -fPIC -shared -I"$scratch/$1" "$scratch/interface.cpp" \
        -o "$scratch/$1/libinterface.so"
    "$cxx" "$scratch/main.cpp" "$scratch/$1/libinterface.so" -o "$scratch/$1/values"
    "$scratch/$1/values" >"$scratch/$1/values.txt"
}
same() {
    build new && diff "$scratch/old/values.txt" "$scratch/new/values.txt" &&
        abidiff --no-show-locs "$scratch/old/libinterface.so" "$scratch/new/libinterface.so"
}
cp "$baseline/hewn.h" "$scratch/old/hewn/"
build old
cp "$source/include/hewn/hewn.h" "$scratch/new/hewn/"
if same; then echo "ok      the interface is the baseline's"; else
    echo "FAILED  the interface is not the baseline's"
    failed=1
fi

# changed EXPECTED WHAT SED-EXPRESSION: checks whether this change of the baseline is reported.
# EXPECTED is `told` or `not told`.
changed() {
    local found=told
    sed "$3" "$baseline/hewn.h" >"$scratch/new/hewn/hewn.h"
    if cmp -s "$baseline/hewn.h" "$scratch/new/hewn/hewn.h"; then found="not made"
    elif same >"$scratch/log" 2>&1; then found="not told"; fi
    if [[ $found == "$1" ]] && ! grep -q 'error:' "$scratch/log"; then echo "ok      $2: $1"; else
        echo "FAILED  $2: $found"
        failed=1
    fi
}
binding='/^struct hewn_buffer_binding/,/^}/'
changed told "an enumerator with another value" 's/\(HEWN_DEVICE_OPENCL = \)2/\19/'
changed told "a struct without a member" "$binding{/uint64_t size;/d}"
changed told "a member of another type" "${binding}s/uint64_t offset/uint32_t offset/"
changed told "a member in between" "${binding}s/uint64_t offset/uint64_t more, offset/"
changed told "a struct that has grown" "${binding}s/^};/    int32_t more;\n};/"
changed told "a struct that a void pointer leads to" \
    '/^typedef struct hewn_add_desc/,/^}/s/a_tensor;/a_tensor, *more;/'
changed told "another parameter" 's/uint64_t bytes, hewn_error/uint32_t bytes, hewn_error/'
changed "not told" "one enumerator more" 's/^    HEWN_DEVICE_D3D12 = 3/&, HEWN_MORE = 4/'
exit $failed
