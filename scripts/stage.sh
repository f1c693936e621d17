# shellcheck shell=bash
# For scripts that build in stages or build few kernels, which source this file.

# HEWN_SIGNATURES with one kernel of each operator. That is enough for tests of the runtime and of
# packages, which do not differ between types.
# shellcheck disable=SC2034
one_kernel_each="add_f32;add1_f32;quantize_linear_f32_u8;dequantize_linear_u8_f32"
one_kernel_each+=";quantized_linear_add_u8_u8_u8;quantized_linear_mul_u8_u8"
one_kernel_each+=";requantize_u8_i8;dynamic_quantize_linear_f32_u8"

stage_times=()

# stage NAME COMMAND...: runs the command, notes how long it took and returns its status.
stage() {
    local name=$1 start=${EPOCHREALTIME/[.,]/} tenths status=0
    shift
    printf '== %s\n' "$name"
    "$@" || status=$?
    tenths=$(((${EPOCHREALTIME/[.,]/} - start) / 100000))
    stage_times+=("$name $((tenths / 10)).$((tenths % 10)) s")
    return $status
}

# Prints the times of all stages so far, in one line.
print_stage_times() {
    local line
    printf -v line '%s, ' "${stage_times[@]}"
    printf '== time: %s\n' "${line%, }"
}
