# shellcheck shell=bash
# Sourced by demo.sh and test.sh.

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

# Prints the times of all stages so far in one line.
print_stage_times() {
    local line
    printf -v line '%s, ' "${stage_times[@]}"
    printf '== time: %s\n' "${line%, }"
}
