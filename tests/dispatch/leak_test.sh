#!/usr/bin/env bash
# leak_test.sh CC OBJDUMP OBJECTS <target>=<option>...: checks that a target's kernels have no
# instruction that the target's probe does not ask for. On ARM it also checks that no loop has a
# scalar operation that should have become a vector's.
#
# OBJECTS lists the kernels' objects. With the option, CC assembles for what the target's probe asks
# for, and for nothing more. Targets ascend in priority. Two that probe the same are not compared.
set -euo pipefail
cc=$1 objdump=$2 objects=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# instructions OBJECT: prints an object's instructions as a source for the assembler, with mnemonics
# and operands as objdump prints them. Branches and addresses are left out, because they are the
# same on every ARMv8 and every x86-64. So is x86's padding, which objdump prints with more prefixes
# than the assembler takes.
instructions() {
    "$objdump" --disassemble --no-show-raw-insn "$1" | sed -n 's/^ *[0-9a-f]*:\t//p' |
        sed 's/ *\/\/.*//; s/ *# .*//; s/ *<.*//' |
        grep -vE '^(b|bl|b\.[a-z]+|cbn?z|tbn?z|adrp?|j[a-z]+|call|data16|cs|nopw|nopl|\.)\b'
}
# assembles OBJECT OPTION: whether CC assembles the object's instructions with this option.
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
        # Count the kernels that the target below could not run. They prove that the check finds
        # something.
        if [[ $compared ]] && ! assembles "$object" "${compared#*=}"; then leaks=$((leaks + 1)); fi
    done < <(grep -E "__${target}(__|\.)" "$objects"
        # Transpositions that name no target are for the lowest one.
        [[ $lower ]] || grep -vE '__[^/]*$|halide_runtime' "$objects" || true)
    echo "checked $checked objects of $target${compared:+,"\
" $leaks of which have instructions that ${compared%%=*} lacks}"
    # A build with few kernels may have none that differ.
    if ((checked == 0)) || [[ $compared && $leaks == 0 && $checked -gt 8 ]]; then
        echo "FAILED  $target: nothing was found out"
        failed=1
    fi
    lower=$word
done

# ARM's kernels. A kernel has one call, of its own function by the uniform entry point, and no
# scalar rounding outside its tails: that proves that LLVM joined the lanes. A kernel whose lanes
# were not joined has hundreds. tests/dispatch/hot_loops_test.sh checks x86's kernels.
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
