#!/usr/bin/env bash
# Checks programs with one kernel, of QUANTIZE_LINEAR and of QUANTIZED_LINEAR_ADD, whose kernels are
# the largest. It checks how much larger they are than an empty program, with the kernel for every
# CPU target, and without what came after DirectML's level 6.2. Operators without a kernel, and
# whatever was left out, must say so. hewn is built from a copy in a folder with as odd a name as a
# folder may have.
#
#     one_kernel_test.sh CMAKE SOURCE SCRATCH-FOLDER CC CXX HALIDE-INCLUDE-DIR GENERATOR
#         MAKE-PROGRAM HEWN_GENERATORS SIZE NM
set -euo pipefail
cmake=$1 source=$2 scratch=$3 cc=$4 cxx=$5 halide=$6 generator=$7 make=$8 generators=$9 size=${10} \
    nm=${11}
unset HEWN_VARIANT
odd="$scratch/a b+ü (1)'s"
rm -rf "$scratch"
mkdir -p "$odd"
cp -r "$source"/{CMakeLists.txt,cmake,generators,include,lists,runtime,tuning} "$odd"

# build FOLDER SIGNATURE [OPTION...]: builds the static library with only that kernel.
build() {
    if ! { "$cmake" -S "$odd" -B "$1" -G "$generator" -DCMAKE_MAKE_PROGRAM="$make" \
        -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER="$cc" \
        -DCMAKE_CXX_COMPILER="$cxx" -DHEWN_HALIDE_INCLUDE_DIR="$halide" \
        -DHEWN_GENERATORS="$generators" -DHEWN_BUILD_TESTS=OFF \
        -DHEWN_BUILD_TOOLS=OFF -DHEWN_BUILD_EXAMPLES=OFF -DHEWN_SIGNATURES="$2" \
        -DHEWN_TARGETS=cpu "${@:3}" &&
        "$cmake" --build "$1" --target hewn_static; } >"$1.log" 2>&1; then
        cat "$1.log"
        exit 1
    fi
}
build "$odd/build" quantize_linear_f32_u8
build "$odd/sum_build" quantized_linear_add_u8_u8_u8
build "$odd/level_build" quantize_linear_f32_u8 -DHEWN_FEATURE_LEVEL=6.2
[[ $(wc -l <"$odd/build/code-size.txt") -gt 1 ]] ||
    { echo "FAILED  code-size.txt lists no variant" && exit 1; }

link() {
    "$cc" -O2 -I"$source/include" -Wl,--gc-sections "$1" "${@:3}" -o "$scratch/$2" -lpthread -ldl \
        -lm
}
text() { "$size" "$scratch/$1" | awk 'NR == 2 {print $1}'; }
echo 'int main(void) { return 0; }' >"$scratch/empty.c"
link "$scratch/empty.c" empty
link "$source/examples/c_quantize/main.c" app "$odd/build/libhewn.a"
link "$source/tests/packages/one_kernel.c" one_kernel "$odd/build/libhewn.a"
link "$source/examples/c_quantize/main.c" level_app "$odd/level_build/libhewn.a"
link "$source/tests/packages/one_kernel.c" level_one_kernel "$odd/level_build/libhewn.a"
link "$scratch/empty.c" sum -Wl,-u,hewn_compile,-u,hewn_execute,-u,hewn_destroy_operator \
    "$odd/sum_build/libhewn.a"

"$scratch/one_kernel" 2
"$scratch/level_one_kernel" 1 6.2
names=$("$nm" -C "$scratch/app")
if ! grep forms_of_quantize_linear <<<"$names" ||
    grep -E 'forms_of_(quantized_linear_add|dequantize_linear)|find_folded_factors|halide_double_to_string' \
    <<<"$names"; then
    echo "FAILED  forms_of_quantize_linear is needed, the others are not"
    exit 1
fi
failed=0
# check PROGRAM KERNEL MOST: the limit is loose, because compilers differ. Code that is left out is
# also looked for by name.
check() {
    local more=$(($(text "$1") - $(text empty)))
    echo "a program with $2 has $more bytes of text more than an empty one"
    if ((more > $3)); then
        echo "FAILED  $3 are allowed"
        failed=1
    fi
}
check app quantize_linear_f32_u8 152900  # sub-byte types, mixed and small floats, blocks
check level_app "quantize_linear_f32_u8 of level 6.2" 122200
check sum quantized_linear_add_u8_u8_u8 131100
exit $failed
