#!/usr/bin/env bash
# Checks the PTX of every CUDA kernel, assembles it for every architecture from the target's own on,
# and prints how many registers the kernels take.
#
# The test asserts that division and rounding are those of IEEE-754, that the kernels that go by
# steps access 16 bytes at a time and compute f16 in pairs, that everything assembles without spills
# and stack, and that the dense kernels take few registers.
#
#     ptxas_test.sh <folder of the device code> <target>...
#
# Exit code 77: nothing is wrong with the PTX, but there is no ptxas to assemble it.
set -euo pipefail
folder=$1
shift
ptxas=$(command -v ptxas || true)
[[ -n $ptxas || ! -x /usr/local/cuda/bin/ptxas ]] || ptxas=/usr/local/cuda/bin/ptxas
if [[ $ptxas ]]; then
    "$ptxas" --version | tail -n 2
    known=" $("$ptxas" --help | grep -o "'sm_[0-9]*'" | tr -d "'" | sort -u | paste -sd' ') "
fi
shopt -s nullglob
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

failures=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

for target in "$@"; do
    # All kernels of a target are assembled as one file. For that, their names get the name of their
    # variant's form as a prefix.
    all=$scratch/$target.ptx
    kernels=0
    for file in "$folder"/*__"$target"{__*,}.device_code; do
        name=$(basename "$file" .device_code)
        ptx=$(tr -d '\0' <"$file" | sed "s/_kernel_output/${name}/g; s/_kernel_/${name}_/g")
        if [[ ! -s $all ]]; then grep -E '^\.(version|target|address_size)' <<<"$ptx" >"$all"; fi
        grep -vE '^\.(version|target|address_size)' <<<"$ptx" >>"$all"
        kernels=$((kernels + 1))

        if grep -qE '\.ftz|div\.(approx|full)|rcp\.approx|\.local\.' <<<"$ptx"; then
            fail "$name: flushes, divides inexactly or uses local memory"
        fi
        [[ $name == *__dense || $name == *__runs ]] || continue
        # f16 elements are added and converted in pairs. sm_75 cannot convert pairs, sm_80 can.
        case $name in
        add_f16__*) pair='add(\.rn)?\.f16x2' single='add(\.rn)?\.f16 ' ;;
        *__cuda_sm80__*) pair='cvt\.rn\.f16x2\.f32' single='cvt\.rn\.f16\.f32' ;;
        *) pair='' single='(?!)' ;;
        esac
        if ! grep -qP "$pair" <<<"$ptx" || grep -qP "$single" <<<"$ptx"; then
            fail "$name: f16 not in pairs"
        fi
        # The widest tensor is loaded or stored 16 bytes at a time, and each other tensor as many
        # elements at a time. So a kernel has one store.
        grep -qE '(ld|st)\.global[a-z.]*(\.v4\.b32|\.v2\.b64)' <<<"$ptx" ||
            fail "$name: no 16-byte access"
        entries=$(grep -c '\.entry' <<<"$ptx") stores=$(grep -c 'st\.global' <<<"$ptx")
        ((entries == stores)) || fail "$name: $stores stores in $entries kernels"
        [[ $name == *__dense ]] || continue
        # One load for each input of a dense kernel. Its pointers are the inputs and the output.
        inputs=$(($(grep -c '\.param \.u64 \.ptr' <<<"$ptx") - 1))
        loads=$(grep -c 'ld\.global' <<<"$ptx")
        ((inputs == loads)) || fail "$name: $loads loads of $inputs inputs"
    done
    echo "$target: $kernels modules"
    ((kernels > 0)) || fail "$target: no device code in $folder"
    [[ $ptxas ]] || continue
    own=${target##*_sm}
    for architecture in sm_75 sm_80 sm_86 sm_87 sm_89 sm_90 sm_100; do
        if ((${architecture#sm_} < own)); then continue; fi
        if [[ $known != *" $architecture "* ]]; then
            echo "$target: this ptxas does not know $architecture"
            continue
        fi
        if ! "$ptxas" -v -arch="$architecture" "$all" -o "$scratch/out" >"$scratch/log" 2>&1; then
            tail -n 20 "$scratch/log"
            fail "$target does not assemble for $architecture"
            continue
        fi
        if grep -E 'spill|stack' "$scratch/log" |
            grep -qvE ' 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads'; then
            grep -B2 -E '[1-9][0-9]* bytes (stack|spill)' "$scratch/log" | head -n 20
            fail "$target spills on $architecture"
        fi
        # The number of registers that leaves room for all threads of a multiprocessor of compute
        # capability 7.5, and for 1536 threads on later ones. With as many threads, loads hide the
        # memory's latency.
        allowed=40
        if [[ $architecture == sm_75 ]]; then allowed=64; fi
        # The log alternates "Compiling entry function '<name>' ..." and "Used <n> registers".
        awk -v target="$target" -v architecture="$architecture" -v allowed="$allowed" '
            /Compiling entry function/ { split($0, word, "\x27"); name = word[2] }
            /Used [0-9]+ registers/ {
                match($0, /Used [0-9]+/); used = substr($0, RSTART + 5, RLENGTH - 5) + 0
                form = name ~ /__dense/ ? "dense" : name ~ /__runs/ ? "runs" : "strided"
                if (used > most[form]) { most[form] = used; which[form] = name }
                count[form]++
                if (form == "dense" && used > allowed) {
                    print "FAILED: " name " takes " used " registers on " architecture
                    failed = 1
                }
            }
            END {
                for (form in most)
                    printf "%s on %s: %d %s kernels, most registers %d (%s)\n", target,
                        architecture, count[form], form, most[form], which[form]
                exit failed
            }' "$scratch/log" || failures=$((failures + 1))
    done
done
((failures == 0)) || exit 1
if [[ -z $ptxas ]]; then
    echo "ptxas: no CUDA toolkit here, the PTX is not assembled"
    exit 77
fi
