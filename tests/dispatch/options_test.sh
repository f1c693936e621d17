#!/usr/bin/env bash
# options_test.sh CMAKE SOURCE SCRATCH-FOLDER CXX HALIDE-INCLUDE-DIR GENERATOR MAKE-PROGRAM
#
# Tests what the CMake options choose, and how wrong ones are refused. It only configures builds.
set -euo pipefail
cmake=$1 source=$2 scratch=$3 cxx=$4 halide=$5 generator=$6 make=$7
failed=0

# configure OPTION...: configures a build in the scratch folder.
configure() {
    rm -rf "$scratch"
    "$cmake" -S "$source" -B "$scratch" -G "$generator" -DCMAKE_MAKE_PROGRAM="$make" \
        -DCMAKE_CXX_COMPILER="$cxx" -DHEWN_HALIDE_INCLUDE_DIR="$halide" -DHEWN_BUILD_TESTS=OFF \
        -DHEWN_BUILD_TOOLS=OFF -DHEWN_BUILD_EXAMPLES=OFF "$@" >"$scratch.log" 2>&1
}
check() {  # check WHAT WANTED GOT
    if [[ $2 == "$3" ]]; then
        echo "ok      $1"
    else
        echo "FAILED  $1: '$3' instead of '$2'"
        failed=1
    fi
}
refused() {  # refused MESSAGE OPTION...
    local message=$1
    shift
    if configure "$@"; then check "$*" "an error" "none"; else
        check "$* is refused" yes "$(tr -s '[:space:]' ' ' <"$scratch.log" | grep -q "$message" &&
            echo yes || cat "$scratch.log")"
    fi
}
# names MACRO 1|2 FILE: prints the first or second arguments of the macro in a generated file, each
# once.
names() {
    sed -n "s/^$1(\\([^,)]*\\), *\\([^,)]*\\).*/\\$2/p" "$scratch/generated/include/$3" | sort -u |
        paste -sd' '
}

# Dispatch and the transpositions take the first target for the lowest, so targets ascend, whatever
# the option's order.
configure "-DHEWN_TARGETS=x86_64_avx512;x86_64_sse41;x86_64_avx512"
check "targets ascend in priority" "x86_64_sse41 x86_64_avx512" \
    "$(sed -n 's/^HEWN_TARGET(\([^,]*\),.*/\1/p' "$scratch/generated/include/targets.inc" |
    paste -sd' ')"

chosen_targets() {
    sed -n 's/^HEWN_[GPU_]*TARGET(\([^,]*\),.*/\1/p' "$scratch/generated/include/targets.inc" |
        paste -sd' '
}
configure -DHEWN_TARGETS=cpu
check "the CPU's targets" \
    "x86_64_sse41 x86_64_avx2 x86_64_avx512 x86_64_avx512_vnni x86_64_avx512_fp16" \
    "$(chosen_targets)"
configure "-DHEWN_TARGETS=x86_64_avx2;gpu"
check "a target and the GPUs'" "x86_64_avx2 opencl cuda_sm75 cuda_sm80" "$(chosen_targets)"

configure "-DHEWN_SIGNATURES=quantize_linear_f32_u8;add_i8" "-DHEWN_TARGETS=x86_64_avx2"
check "two signatures, one target" "2" \
    "$(grep -c '^HEWN_VARIANT' "$scratch/generated/include/variants.inc")"
transpositions() {
    sed -n 's/^HEWN_TRANSPOSITION(hewnk_transpose_\([^,]*\)_argv,.*/\1/p' \
        "$scratch/generated/include/transpositions.inc" | paste -sd' '
}
check "transpositions of elements and scales" "u8 u32 u8__x86_64_avx2 u32__x86_64_avx2" \
    "$(transpositions)"
configure -DHEWN_SIGNATURES=add_f16 -DHEWN_TARGETS=x86_64_sse41
check "transpositions that the lowest target may run" "u16" "$(transpositions)"
configure -DHEWN_SIGNATURES=dequantize_linear_u8_f16 -DHEWN_TARGETS=x86_64_sse41
check "transpositions of elements and scales of f16" "u8 u16" "$(transpositions)"
configure -DHEWN_SIGNATURES=add_f16 -DHEWN_TARGETS=opencl
check "a transposition where no CPU needs one" "u32" "$(transpositions)"
configure "-DHEWN_SIGNATURES=add_f16;dequantize_linear_u8_f16" "-DHEWN_TARGETS=cuda_sm75;cuda_sm80"
variants() {
    sed -n 's/^HEWN_VARIANT(\([^,]*\), \([^,]*\), \([^,]*\),.*/\1_\2__\3/p' \
        "$scratch/generated/include/variants.inc" | sort | paste -sd' '
}
check "a target with signatures of its own" \
    "add_f16__cuda_sm75 dequantize_linear_u8_f16__cuda_sm75 dequantize_linear_u8_f16__cuda_sm80" \
    "$(variants)"
# If a form is another operator's and that operator is built, the form is that operator's function.
shared() {
    sed -n 's/.* HEWN_FORM(\(hewnk_[a-z0-9_]*__reciprocal\),.*/\1/p' \
        "$scratch/generated/include/variants.inc" | sort -u | paste -sd' '
}
dynamic=dynamic_quantize_linear_f32_u8
configure -DHEWN_SIGNATURES=$dynamic "-DHEWN_TARGETS=x86_64_avx2;opencl"
check "a form of another operator that is not built" hewnk_${dynamic}__x86_64_avx2__reciprocal \
    "$(shared)"
configure -DHEWN_SIGNATURES=dynamic_quantize_linear_f16_u8 "-DHEWN_TARGETS=x86_64_avx2;opencl"
check "a signature without forms for GPUs" 1 \
    "$(grep -c '^HEWN_VARIANT' "$scratch/generated/include/variants.inc")"
configure "-DHEWN_SIGNATURES=quantize_linear_f32_u8;$dynamic" -DHEWN_TARGETS=x86_64_avx2
check "one that is" hewnk_quantize_linear_f32_u8__x86_64_avx2__reciprocal "$(shared)"
configure "-DHEWN_OPERATORS=add"
check "one operator" "add" "$(names HEWN_VARIANT 1 variants.inc)"

# An older feature level: its types, forms and pass kernels.
configure -DHEWN_OPERATORS=quantize_linear "-DHEWN_TARGETS=x86_64_avx2;opencl" \
    -DHEWN_FEATURE_LEVEL=3.0
check "types of level 3.0" "quantize_linear_f32_i8__opencl quantize_linear_f32_i8__x86_64_avx2 \
quantize_linear_f32_u8__opencl quantize_linear_f32_u8__x86_64_avx2 quantize_linear_i32_i8__opencl \
quantize_linear_i32_i8__x86_64_avx2 quantize_linear_i32_u8__opencl \
quantize_linear_i32_u8__x86_64_avx2" "$(variants)"
check "no form for blocks below 6.3" 0 \
    "$(grep -c 'avx2__blocks' "$scratch/generated/include/variants.inc")"
check "no forms for packed elements below 6.3" 0 \
    "$(grep -c 'avx2__packed' "$scratch/generated/include/variants.inc")"
check "no pass kernels below 6.3" 0 \
    "$(grep -c '^HEWN_PASS_KERNEL' "$scratch/generated/include/pass_kernels.inc")"
configure -DHEWN_OPERATORS=dynamic_quantize_linear -DHEWN_TARGETS=opencl -DHEWN_FEATURE_LEVEL=4.0
check "an operator's pass kernels at its own level" 4 \
    "$(grep -c '^HEWN_PASS_KERNEL' "$scratch/generated/include/pass_kernels.inc")"
refused "'quantize_linear_f32_u16' is not known; did you mean quantize_linear_f32_u8?" \
    -DHEWN_SIGNATURES=quantize_linear_f32_u16 \
    -DHEWN_FEATURE_LEVEL=6.2
refused "the tool and the tests are for builds of all levels" -DHEWN_FEATURE_LEVEL=6.2 \
    -DHEWN_BUILD_TOOLS=ON
refused "'7.0' is not one of: 1.0 2.0" -DHEWN_FEATURE_LEVEL=7.0
refused "leave no variant" -DHEWN_OPERATORS=dynamic_quantize_linear -DHEWN_FEATURE_LEVEL=3.1

refused "'add_float32' is not known; did you mean add_f32?" -DHEWN_SIGNATURES=add_float32
refused "'nonsense' is not one of the .* names known" -DHEWN_SIGNATURES=nonsense
refused "'quantize_liner' is not known; did you mean quantize_linear?" \
    -DHEWN_OPERATORS=quantize_liner
refused "'multiply' is not one of: .*add" -DHEWN_OPERATORS=multiply
refused "'sse2' is not one of: cpu gpu x86_64_sse41" -DHEWN_TARGETS=sse2
refused "leave no variant" -DHEWN_OPERATORS=add -DHEWN_SIGNATURES=quantize_linear_f32_u8
refused "leave no variant" -DHEWN_SIGNATURES=add_f32 -DHEWN_TARGETS=cuda_sm80

# If something is missing, the message names it and says what to do.
refused "Halide 21.0.0 was not found.*scripts/setup.sh" "-DHEWN_HALIDE_DIR=$scratch/nowhere"
configure "-DHEWN_HALIDE_DIR=$(dirname "$halide")" \
    "-DHEWN_HALIDE_INCLUDE_DIR:PATH=$(dirname "$halide")/gone"
check "what was found once and is gone is looked for again" "$halide" \
    "$(sed -n 's/^HEWN_HALIDE_INCLUDE_DIR:PATH=//p' "$scratch/CMakeCache.txt")"
refused "HEWN_HALIDE_INCLUDE_DIR: $scratch-gone has no" "-DHEWN_HALIDE_INCLUDE_DIR=$scratch-gone"
refused "HEWN_HALIDE_INCLUDE_DIR: $scratch-empty has no HalideRuntime.h" \
    "-DHEWN_HALIDE_INCLUDE_DIR=$scratch-empty"
refused "HEWN_GENERATORS: there is no $scratch/nowhere" "-DHEWN_GENERATORS=$scratch/nowhere"
refused "HEWN_TUNING_DIR: $scratch/nowhere is not a folder" "-DHEWN_TUNING_DIR=$scratch/nowhere"

# Systems without kernels are refused by name: other processors, 32 bits, the other byte order.
foreign=(-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY
    "-DHEWN_GENERATORS=$cxx")
for processor in s390x armv7l riscv64; do
    refused "no kernels for $processor yet" "${foreign[@]}" "-DCMAKE_SYSTEM_PROCESSOR=$processor"
done
refused "no kernels for 32-bit programs yet; on x86_64" "${foreign[@]}" \
    -DCMAKE_SYSTEM_PROCESSOR=x86_64 -DCMAKE_C_FLAGS=-m32 -DCMAKE_CXX_FLAGS=-m32
if command -v aarch64-linux-gnu-g++ >/dev/null; then
    refused "no kernels for big-endian programs yet" "${foreign[@]}" \
        -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc \
        -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DCMAKE_C_FLAGS=-mbig-endian \
        -DCMAKE_CXX_FLAGS=-mbig-endian
fi

# Tuning files are checked before anything is built.
tuning=$scratch-tuning
mistuned() {  # mistuned MESSAGE SED-EXPRESSION: the file of x86_64_avx2, changed
    rm -rf "$tuning"
    cp -r "$source/tuning" "$tuning"
    sed -i "$2" "$tuning/x86_64_avx2.json"
    refused "$1" "-DHEWN_TUNING_DIR=$tuning" -DHEWN_TARGETS=x86_64_avx2
}
mistuned "measured with Halide 20.0.0" 's/"halide": "[^"]*"/"halide": "20.0.0"/'
mistuned "tuned for the target arm64" 's/"target": "[^"]*"/"target": "arm64"/'
mistuned "'unroll' is not a knob of add general" '0,/"vector"/s//"unroll"/'
mistuned "'3' is not a value of the knob vector" '0,/"vector": [0-9]*/s//"vector": 3/'
mistuned "'order' is not a knob of add_.*__x86_64_avx2__general" \
    '0,/"vector": [0-9]*/s//"order": "batches"/'
mistuned "'box_bytes' is not a knob of add general" '0,/"vector": [0-9]*/s//"box_bytes": 65536/'
mistuned "'tail' is not a knob of quantized_linear_add plan" \
    's/"reciprocal_elements": [0-9]*/"tail": "narrowed"/'
mistuned "'5000' is not a value of the knob box_bytes" \
    's/"reciprocal_elements": [0-9]*/"box_bytes": 5000/'
mistuned "'multiply' is not an operator" 's/"quantized_linear_add"/"multiply"/'
mistuned "'general' is not a form of quantized_linear_add" 's/"folded"/"general"/'
mistuned "'dense' is not a form of quantized_linear_add for x86_64_avx2" 's/"folded"/"dense"/'
mistuned "no tuning file" 's/{/[/'

# A target without a file of its own takes that of its family, which has to serve all its forms.
rm -rf "$tuning"
cp -r "$source/tuning" "$tuning"
rm "$tuning/x86_64_avx2.json"
configure "-DHEWN_TUNING_DIR=$tuning" -DHEWN_TARGETS=x86_64_avx2 \
    -DHEWN_SIGNATURES=quantize_linear_f32_u8
check "the family's values" yes \
    "$(grep -rqE 'quantize_linear_f32_u8__x86_64_avx2__repeating .*tail=shifted' \
    "$scratch"/build.ninja \
    "$scratch"/CMakeFiles 2>/dev/null && echo yes)"
rm "$tuning/x86_64.json"
refused "no file for x86_64_avx2, none of x86_64_avx2.json, x86_64.json, x86.json" \
    "-DHEWN_TUNING_DIR=$tuning" -DHEWN_TARGETS=x86_64_avx2
rm -rf "$tuning"
cp -r "$source/tuning" "$tuning"

# The values of a plan's knobs: a signature's own come before the operator's, and these before the
# defaults.
plan_of() {
    sed -n "s/^HEWN_PLAN($1__x86_64_avx2, .*KNOB($2, \([0-9]*\)).*/\1/p" \
        "$scratch/generated/include/plans.inc"
}
cp "$source/tuning/x86_64_avx2.json" "$tuning"
sed -i -e 's/"knobs": {/&"quantized_linear_add_u8_u8_u8": {"plan": {"box_bytes": 65536}},/' \
    -e 's/"reciprocal_elements"/"box_bytes": 131072, &/' \
    "$tuning/x86_64_avx2.json"
configure "-DHEWN_TUNING_DIR=$tuning" -DHEWN_TARGETS=x86_64_avx2
check "a signature's plan" 65536 "$(plan_of quantized_linear_add_u8_u8_u8 box_bytes)"
check "an operator's plan" 131072 "$(plan_of quantized_linear_add_i8_i8_i8 box_bytes)"
check "a default plan" 262144 "$(plan_of dequantize_linear_u8_f32 box_bytes)"
exit $failed
