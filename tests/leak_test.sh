#!/usr/bin/env bash
# No instruction that ARMv8.0 lacks in an arm64_neon kernel, nor a scalar operation in a loop that should have become a vector's:
# leak_test.sh CC OBJDUMP OBJECTS, where OBJECTS lists the kernels' objects. CC assembles for ARM.
set -euo pipefail
cc=$1 objdump=$2 objects=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# The instructions of an object as a source for the assembler: mnemonics and operands as objdump prints them, branches and addresses,
# which are the same on every ARMv8, left out.
instructions() {
    "$objdump" --disassemble --no-show-raw-insn "$1" | sed -n 's/^ *[0-9a-f]*:\t//p' | sed 's/ *\/\/.*//; s/ *<.*//' |
        grep -vE '^(b|bl|b\.[a-z]+|cbn?z|tbn?z|adrp?|\.)\b'
}
assembles() { instructions "$1" >"$work/a.s" && "$cc" -march="$2" -c "$work/a.s" -o "$work/a.o" 2>"$work/errors"; }

checked=0
for object in $(grep __arm64_neon__ "$objects"); do
    checked=$((checked + 1))
    if ! assembles "$object" armv8-a; then
        echo "FAILED  ${object##*/} is not ARMv8.0: $(grep -m1 Error "$work/errors" || head -n 1 "$work/errors")"
        failed=1
    fi
done
echo "checked $checked objects of arm64_neon"
((checked)) || failed=1

# What proves that the check finds something: the f16 sum of arm64_fp16.
fp16=$(grep add_f16__arm64_fp16__general "$objects" || true)
if [[ $fp16 ]]; then
    if assembles "$fp16" armv8-a; then echo "FAILED  ${fp16##*/} has no instruction of ARMv8.2"; failed=1; fi
    assembles "$fp16" armv8.2-a+fp16+dotprod || { echo "FAILED  ${fp16##*/} does not assemble at all: $(head -n 3 "$work/errors")"; failed=1; }
fi

# In a whole kernel one call (of its own function by the uniform entry point) and no scalar rounding outside the tails: LLVM did join the
# lanes. A kernel whose lanes were not joined has hundreds.
for object in $(grep __arm64_ "$objects"); do
    name=${object##*/}
    calls=$("$objdump" -d --no-show-raw-insn "$object" | grep -cE '\sbl\s' || true)
    scalar=$(instructions "$object" | grep -cE '^(fmadd|frintn)\s+[sd]' || true)
    vector=$(instructions "$object" | grep -cE '^(fmla|frintn)\s+v' || true)
    if ((calls > 1)); then echo "FAILED  $name: $calls calls"; failed=1; fi
    if ((scalar > 0 && scalar * 2 > vector)); then echo "FAILED  $name: $scalar scalar operations, $vector of vectors"; failed=1; fi
done
exit $failed
