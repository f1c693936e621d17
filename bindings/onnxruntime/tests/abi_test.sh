#!/usr/bin/env bash
# Checks that the members in bindings/onnxruntime/onnxruntime_abi.h have the places and the types
# that they have in ONNX Runtime's headers in FOLDER: abi_test.sh CXX FOLDER
#
# A member's type is in the name that C++ mangles it to. Exit status 77: there is no FOLDER.
set -euo pipefail
cxx=$1 upstream=${2:-}
ours=$(CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
header=$ours/onnxruntime_abi.h
if [[ ! -f $upstream/onnxruntime_c_api.h ]]; then
    echo "skipped: HEWN_ONNXRUNTIME_INCLUDE names no folder with onnxruntime_c_api.h" && exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

members() {  # STRUCT: prints the members that our header names
    sed -n "/^struct $1 {/,/^};/p" "$header" | tr '\n' ' ' |
        grep -oE '(ORT_API_CALL \*|HEWN_STATUS\()[A-Za-z0-9_]+' | sed -E 's/.*[*(]//' | sort -u
}
{
    echo '#include HEADER'
    echo '#include <cstddef>'
    echo '#include <cstdio>'
    echo '#include <typeinfo>'
    echo 'void show(const char *name, size_t number, const char *type) {'
    echo '    std::printf("%s %zu ", name, number), std::puts(type);'
    echo '}'
    echo 'int main() {'
    for struct in OrtApi OrtApiBase OrtEp OrtEpApi OrtEpFactory OrtKernelImpl OrtNodeComputeInfo; do
        for member in $(members $struct); do
            echo "show(\"$struct.$member\", offsetof($struct, $member)," \
                "typeid(decltype($struct::$member)).name());"
        done
    done
    for number in $(grep -oE '\b[A-Za-z_0-9]+ = [0-9]+' "$header" | sed 's/ =.*//'); do
        echo "show(\"$number\", $number, \"\");"
    done
    echo '}'
} >"$work/members.cpp"
for include in "$header" "$upstream/onnxruntime_c_api.h"; do
    "$cxx" -std=c++17 "-DHEADER=\"$include\"" "$work/members.cpp" -o "$work/members"
    "$work/members" >"$work/$(basename "$include" .h)"
done
diff "$work/onnxruntime_abi" "$work/onnxruntime_c_api"
count=$(wc -l <"$work/onnxruntime_abi")
echo "$count members and numbers are ONNX Runtime's"
((count > 100))
