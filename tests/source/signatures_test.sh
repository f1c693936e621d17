#!/usr/bin/env bash
# Generators refuse types that their helpers do not hold, with the operator, the signature and the
# rule: signatures_test.sh HEWN_GENERATORS SOURCE WORK. (That the listed signatures are taken shows
# the build, which makes them all.)
set -euo pipefail
generators=$1 source=$2 work=$3
failed=0

# refused GENERATOR KERNEL-NAME RULE ARGUMENT...
refused() {
    local output status=0
    rm -rf "$work"
    mkdir -p "$work"
    output=$("$generators" -g "$1" -f f -n f -o "$work" -e object "${@:4}" 2>&1) || status=$?
    if ((status != 0)) && [[ $output == *"$2: $3"* && -z $(ls "$work") ]]; then
        echo "ok      $1 $2"
    else
        printf 'FAILED  %s %s: exit status %s, %s in the folder, no "%s" in: %s\n' "$1" "$2" \
            "$status" "$(ls "$work" | paste -sd ' ')" "$3" "$output"
        failed=1
    fi
}

# operator SIGNATURE...: none of them is one of the operator's; its forms that are for GPUs, and the
# others.
operator() {
    local operator=$1 signature form target
    while read -r form target; do
        for signature in "${@:2}"; do
            refused "${operator}_$form" "$operator $signature" "" "signature=$signature" \
                layouts=111 "target=$target-no_runtime"
        done
    done < <(cd "$source" && python3 -B -c "from lists.build import OPERATOR
for form in OPERATOR['$operator'].forms:
    features = 'opencl' if form.gpu else 'sse41-avx-avx2-fma-f16c'
    if not form.of: print(form.name, f'x86-64-linux-{features}')")
}

operator add u8 u64 f64 f32_f32
operator quantize_linear f32_i64 f64_u8 u32_u8 f32
operator dequantize_linear i64_f32 f32_f32 u8_f64 u8_i8
operator quantized_linear_add i8_i8_i16 i16_u8_u8 u8_u8
operator quantized_linear_mul i8_i16 u16_u8 u8_u8_u8
operator dynamic_quantize_linear f32_i16 i32_u8 f32
refused quantize_linear_reciprocal "quantize_linear f16_i16" \
    "narrowed holds integers of 8 bits, not i16" signature=f16_i16 layouts=1 \
    target=x86-64-linux-sse41-avx-avx2-fma-f16c-no_runtime
refused quantized_linear_add_divide "quantized_linear_add i16_u8_u8" \
    "the types of this operator have one width" signature=i16_u8_u8 layouts=11 target=x86-64-linux
refused transpose "transpose i8" "type 1 is 'i8', and must be one of: u8 u16 u32 u64" signature=i8 \
    target=x86-64-linux
refused add_general "add bf16" "type 1 is 'bf16', and must be one of: f32 f16 i64 i32 i16 i8" \
    signature=bf16 target=x86-64-linux
refused add_general "add " "a signature of this operator has 1 types" target=x86-64-linux
exit $failed
