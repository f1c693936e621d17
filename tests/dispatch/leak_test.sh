#!/usr/bin/env bash
# No instruction in a target's kernels that its probe does not ask for; on ARM, nor a scalar
# operation in a loop that should have become a vector's: leak_test.sh CC OBJDUMP OBJECTS
# <target>=<option>..., where OBJECTS lists the kernels' objects and the option makes CC assemble
# for what the target's probe asks for and nothing more. Targets ascend in rank; two that probe the
# same are not compared.
set -euo pipefail
cc=$1 objdump=$2 objects=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# The instructions of an object as a source for the assembler: mnemonics and operands as objdump
# prints them. Left out: branches and addresses, which are the same on every ARMv8 and every x86-64,
# and x86's padding, which objdump prints with more prefixes than are assembled.
instructions() {
    "$objdump" --disassemble --no-show-raw-insn "$1" | sed -n 's/^ *[0-9a-f]*:\t//p' |
        sed 's/ *\/\/.*//; s/ *# .*//; s/ *<.*//' |
        grep -vE '^(b|bl|b\.[a-z]+|cbn?z|tbn?z|adrp?|j[a-z]+|call|data16|cs|nopw|nopl|\.)\b'
}
assembles() {
    instructions "$1" >"$work/a.s" && "$cc" "$2" -c "$work/a.s" -o "$work/a.o" 2>"$work/errors"
}

lower=''
for word in "$@"; do
    target=${word%%=*} option=${word#*=}
    compared=$lower
    if [[ ${lower#*=} == "$option" ]]; then compared=''; fi
    checked=0 leaks=0
    while read -r object; do
        checked=$((checked + 1))
        if ! assembles "$object" "$option"; then
            echo "FAILED  ${object##*/} has more than $option: $(grep -m1 Error "$work/errors" ||
                head -n 1 "$work/errors")"
            failed=1
        fi
        # What proves that the check finds something: kernels that the target below could not run.
        if [[ $compared ]] && ! assembles "$object" "${compared#*=}"; then leaks=$((leaks + 1)); fi
    done < <(grep -E "__${target}(__|\.)" "$objects"
        # Transpositions that name no target are for the lowest.
        [[ $lower ]] || grep -vE '__[^/]*$|halide_runtime' "$objects" || true)
    echo "checked $checked objects of $target${compared:+,"\
" $leaks of which have instructions that ${compared%%=*} lacks}"
    # A build of few kernels may have none that differ.
    if ((checked == 0)) || [[ $compared && $leaks == 0 && $checked -gt 8 ]]; then
        echo "FAILED  $target: nothing was found out"
        failed=1
    fi
    lower=$word
done

# In a whole kernel one call (of its own function by the uniform entry point) and no scalar rounding
# outside the tails: LLVM did join the lanes. A kernel whose lanes were not joined has hundreds.
# tests/dispatch/hot_loops_test.sh is x86's.
while read -r object; do
    name=${object##*/}
    calls=$("$objdump" -d --no-show-raw-insn "$object" | grep -cE '\sbl\s' || true)
    scalar=$(instructions "$object" | grep -cE '^(fmadd|frintn)\s+[sd]' || true)
    vector=$(instructions "$object" | grep -cE '^(fmla|frintn)\s+v' || true)
    if ((calls > 1)); then echo "FAILED  $name: $calls calls"; failed=1; fi
    if ((scalar > 0 && scalar * 2 > vector)); then
        echo "FAILED  $name: $scalar scalar operations, $vector of vectors"
        failed=1
    fi
done < <(grep '__arm64_[^/]*$' "$objects")
exit $failed
