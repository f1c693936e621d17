#!/usr/bin/env bash
# Checks that generators refuse types that their helpers do not accept, with the operator, the
# signature and the rule in the message: signatures_test.sh HEWN_GENERATORS SOURCE WORK
#
# The build shows that the listed signatures are accepted, because it makes them all.
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

# The first form of each operator is tried with every unlisted signature that differs from the first
# listed one in one type, or has one type too few or too many. The operator's other forms are tried
# with one of these signatures.
wrong=$(cd "$source" && python3 -B -c "
from lists.data_types import DATA_TYPES
from lists.signatures import KERNEL_OPERATORS, signatures_of

for operator in KERNEL_OPERATORS:
    listed = [str(one).split('_') for one in signatures_of(operator)]
    first = listed[0]
    wrong = [first[:i] + [other.name] + first[i + 1:] for i in range(len(first)) for other in DATA_TYPES]
    wrong += [first[:-1], first + first[-1:]]
    wrong = ['_'.join(one) for one in wrong if one and one not in listed]
    own = [form for form in operator.forms if not form.of]
    for i, form in enumerate(own):
        features = 'opencl' if form.gpu else 'sse41-avx-avx2-fma-f16c'
        for signature in wrong if i == 0 else wrong[i:i + 1]:
            print(operator.name, form.name, f'x86-64-linux-{features}', signature)
")
while read -r operator form target signature; do
    refused "${operator}_$form" "$operator $signature" "" "signature=$signature" layouts=111 \
        "target=$target-no_runtime"
done <<<"$wrong"
refused quantize_linear_reciprocal "quantize_linear f16_i16" \
    "narrowed holds integers of 8 bits, not i16" signature=f16_i16 layouts=1 \
    target=x86-64-linux-sse41-avx-avx2-fma-f16c-no_runtime
refused quantized_linear_add_divide "quantized_linear_add i16_u8_u8" \
    "the types of this operator have one width" signature=i16_u8_u8 layouts=11 target=x86-64-linux
refused transpose "transpose i8" "type 1 is 'i8', and must be one of: u8 u16 u32 u64" signature=i8 \
    target=x86-64-linux
refused add_general "add f64" "type 1 is 'f64', and must be one of: f32 f16 bf16 i64 i32 i16 i8" \
    signature=f64 target=x86-64-linux
refused add_general "add " "a signature of this operator has 1 types" target=x86-64-linux
exit $failed
