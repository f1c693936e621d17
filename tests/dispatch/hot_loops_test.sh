#!/usr/bin/env bash
# hot_loops_test.sh NM OBJDUMP OBJECTS_FILE BOXES_OBJECT
#
# Checks the instructions of x86 kernels and of copies. Their speed depends on what LLVM, Halide and
# the C++ compiler make of the sources, and results do not show it:
#
# - LLVM joins the lanes of llvm.lrint and llvm.fma. Every kernel that narrows to 8 bits converts
#   vectors, in every form. It converts single elements at most in its scalar tail, of which there
#   is one for each layout (two for inputs of 32 bits, which are cut into halves). AVX-512 has masks
#   instead of a tail, and converts only whole vectors.
# - Differences of narrow integers stay in 32 bits, and the maximum that keeps Halide from narrowing
#   them is folded away (hewn::difference_f32).
# - No kernel calls a function of libm for a lane.
# - Kernels of small floats (f8) take f16 conversions of whole vectors to read codes, and fused
#   multiply-adds of whole vectors to round to them.
# - Halide finds vpdpbusd, and LLVM finds vaddph, keeps prefetches, and drops the branch that a
#   shortcut excludes.
# - LLVM loads twice what is passed twice, in ascending order (quotient() in
#   generators/quantize_linear.cpp), and packs what lies in order (add_packs in generators/packs.h).
# - Vectors of 32 and 64 bytes that LLVM keeps on the stack are aligned there, so that none lies
#   across two pages.
# - The C++ compiler keeps the prefetches of boxes.cpp: those of streamed outputs' inputs, by each
#   hint, and those of operands next to transposed ones.
# - The transpositions' module declares LLVM's prefetch intrinsic (generators/transpose.cpp).
#
# A target for which there is no rule here fails.
set -euo pipefail
set -f  # addresses in brackets are not patterns of files' names
nm=$1 objdump=$2 objects=$3 boxes=$4
checked=0 failed=0
variants=$(dirname "$objects")/../include/variants.inc

fail() {
    echo "$1"
    failed=1
}

# ascending VERB LEAST OFFSET...: checks the offsets at which `name` reads memory or multiplies by
# it. There must be LEAST of them or more, in ascending order, each at most a cache line after the
# one before. [] stands for no offset: that is 0, where a loop begins.
ascending() {
    local verb=$1 least=$2 last=0 offset
    shift 2
    for offset; do
        offset=${offset//[\[\]]/} offset=${offset:-0}
        ((offset == 0 || (offset >= last && offset <= last + 64))) ||
            fail "$name: $verb at $offset just after $last"
        last=$offset
    done
    (($# >= least)) || fail "$name: $verb $# times, $least expected at least"
}

# The number of layouts of each kernel, by lines such as
# HEWN_FORM(hewnk_<kernel>, <form>, 1u << 0b11 | 1u << 0b10).
declare -A layouts_of
while read -r entry layouts; do
    layouts_of[$entry]=$layouts
done < <(grep -oE 'HEWN_FORM\(hewnk_[^)]*' "$variants" |
    awk -F ', ' '{sub(".*hewnk_", ""); print $1, split($3, layouts, " [|] ")}')

while read -r object; do
    name=$(basename "$object" .o)
    # Leave out Halide's runtime and the kernels of GPUs.
    [[ $name == *__x86_64_* || $name == transpose_* ]] || continue
    case $name in
    *__x86_64_sse41* | *__x86_64_avx2* | *__x86_64_avx512* | transpose_*) ;;
    *) fail "$name: what its target's loops should be is not known here" ;;
    esac
    # A kernel may call only Halide's runtime and the compiler's memory functions.
    unknown=$("$nm" --undefined-only "$object" | awk '{print $NF}' |
        grep -vE '^(halide_.*|_?_?mem(cpy|set|move))$' || true)
    [[ -z $unknown ]] || fail "$name: calls $(tr '\n' ' ' <<<"$unknown")"
    code=$("$objdump" --disassemble --no-show-raw-insn "$object")
    [[ $name != add_f16__x86_64_avx512_fp16__general ]] || grep -q 'vaddph .*%zmm' <<<"$code" ||
        fail "$name: no vaddph"
    [[ $name != quantize_linear_f32_[iu]8__*avx512__reciprocal ]] ||
        ((8 <= $(grep -cE '\bv(mul|fmadd[0-9]*)ps .*\(.*,%zmm' <<<"$code" || true))) ||
        fail "$name: loads what it could multiply by in memory"
    ! grep -qE '\bvmov(up[sd]|dqu[0-9]*) +%[yz]mm[0-9]+,(-?0x[0-9a-f]+)?\(%rsp\)' <<<"$code" ||
        fail "$name: keeps vectors on a stack that is not aligned for them" \
            "(see x86_64_avx2 in lists/targets.py)"
    # These forms read f32, whatever the output is.
    finds_ranges=0
    [[ $name != *__range && $name != *__rows && $name != *__largest ]] || finds_ranges=1
    if [[ $name == *_f8_*x86_64_avx* ]] && ((!finds_ranges)); then
        whole=vfmadd
        if [[ $name == dequantize* ]]; then whole=vcvtph2ps; fi
        ((2 <= $(grep -cE "\\b${whole}[0-9a-z]* .*%[yz]mm" <<<"$code" || true))) ||
            fail "$name: no $whole of whole vectors"
        checked=$((checked + 1))
        continue
    fi
    [[ $name != *_f8_* ]] || ((finds_ranges)) || continue  # SSE4.1 has neither
    case $name in
    add_*avx512*__general | dequantize_linear_*_f32__*avx512*__general | \
        dequantize_linear_*_f32__*avx512*__repeating | \
        quantize_linear_*avx512*__reciprocal | quantize_linear_*avx512*__repeating)
        grep -q prefetch <<<"$code" || fail "$name: prefetches nothing"
        ;;
    transpose_*avx2)  # a quarter of a tile's columns at a time
        bits=${name#transpose_u} bits=${bits%%_*}
        quarter=$(((bits <= 16 ? 16 : 32) * 8 / bits / 4))
        kept=$(grep -c prefetcht1 <<<"$code" || true)
        ((kept == quarter)) || fail "$name: $kept prefetches, $quarter expected"
        ;;
    dynamic_quantize_linear_*__range)  # two instructions for each vector, four vectors in a step
        kinds='minps maxps'
        if [[ $name == *_f16_* ]]; then kinds='pmaxuw pmaxsw'; fi
        for kind in $kinds; do
            ((4 <= $(grep -cE "\\bv?$kind\\b" <<<"$code" || true))) || fail "$name: few $kind"
        done
        ! grep -qE '\bvcvtph2ps\b' <<<"$code" || fail "$name: converts f16"
        ;;
    dynamic_quantize_*__rows)  # the same, but with AVX-512 a step has two vectors
        for kind in minps maxps; do
            ((2 <= $(grep -cE "\\bv?$kind\\b" <<<"$code" || true))) || fail "$name: few $kind"
        done
        ;;
    mx_quantize_*__largest)  # one for each vector, as integers
        ((4 <= $(grep -cE '\bv?pmax[su]d\b' <<<"$code" || true))) || fail "$name: few pmaxsd"
        ;;
    dequantize_linear_*_f32__*sse41__general | dequantize_linear_*_f32__*avx2__general)
        ! grep -qE '\bv?blendvps\b' <<<"$code" ||
            fail "$name: computes with and without a zero point, and chooses"
        ;;
    quantize_linear_f32_*avx2__reciprocal | quantize_linear_f32_*avx2__repeating)
        [[ $name == *__repeating ]] || ! grep -qE '\bvmov[au]ps .*\(.*,%ymm' <<<"$code" ||
            fail "$name: loads what it could multiply by in memory"
        # shellcheck disable=SC2046
        ascending "multiplies by memory" 16 \
            $(sed -nE '/rip/d; s/.*\bvmulps +(-?0x[0-9a-f]+)?\(.*,%ymm.*/[\1]/p' <<<"$code")
        ;;
    esac
    [[ $name == *quantize* ]] && ((!finds_ranges)) || continue

    narrowed=$(grep -cE '\bv?(psubw|pmaxsd)\b' <<<"$code" || true)
    ((narrowed == 0)) ||
        fail "$name: $narrowed psubw or pmaxsd: a difference was narrowed, or its maximum is" \
            "still there"
    if [[ $name == dequantize*__packed? ]]; then
        grep -qE '\bvps(rl|ll)vd\b' <<<"$code" ||
            fail "$name: no vpsrlvd or vpsllvd: elements are not shifted to their lanes"
        ! grep -qE '\bv(perm2[fi]128|insert[fi]128|pextr|pinsr)' <<<"$code" ||
            fail "$name: puts vectors together from parts"
    fi
    [[ $name != dequantize* ]] || continue
    vectors=$(grep -cE '\bv?cvtps2dq\b' <<<"$code" || true)
    scalars=$(grep -cE '\bv?cvtt?ss2si' <<<"$code" || true)
    layouts=${layouts_of[$name]:?}
    [[ $name != *avx512* && $name != *__repeating ]] || layouts=0
    [[ $name != *_[iu]32__*__divide ]] || layouts=$((2 * layouts))  # the halves of 32 bits
    ((vectors > 0)) || fail "$name: no cvtps2dq: its lanes were not joined"
    ((scalars <= layouts)) || fail "$name: $scalars cvtss2si, $layouts expected at most"
    if [[ $name == *avx512* ]]; then
        parts=$(grep -cE '\bvcvtps2dq .*%[xy]mm' <<<"$code" || true)
        ((parts == 0)) ||
            fail "$name: $parts vcvtps2dq of parts of a vector: its lanes were not joined whole"
    fi
    case $name in
    *quantize*avx512*__columns | *quantize*avx512*__reciprocal | quantize*avx512*__folded)
        grep -q 'vpmovsdw .*%zmm' <<<"$code" ||
            fail "$name: no vpmovsdw: it narrows by packs and moves between lanes"
        ;;
    quantize*avx512*__repeating | quantize*avx512*__blocks)
        grep -q 'vpackssdw .*%zmm' <<<"$code" ||
            fail "$name: no vpackssdw: it narrows vector by vector"
        ;;&
    quantize*avx512*__repeating)
        ! grep -qE '\bv(perm[ti]2|permq|permw|shuf|insert)' <<<"$code" ||
            fail "$name: permutes more than the bytes that it packed"
        # shellcheck disable=SC2046
        ascending "reads memory" 8 \
            $(sed -nE 's/.*\bv(movups|cvtdq2ps|cvtph2ps) +(-?0x[0-9a-f]+)?\(.*,%zmm.*/[\2]/p' \
            <<<"$code")
        ;;
    quantize*__packed?)
        if [[ $name == *avx512* ]]; then
            grep -q 'vpackssdw .*%zmm' <<<"$code" ||
                fail "$name: no vpackssdw: it narrows vector by vector"
        fi
        grep -q 'vpmaddubsw' <<<"$code" || fail "$name: no vpmaddubsw: it does not join neighbours"
        [[ $name == *avx512* ]] || ! grep -qE '\bv(perm2[fi]128|insert[fi]128|pextr|pinsr)' <<<"$code" ||
            fail "$name: permutes more than the bytes that it packed"
        ;;
    quantize*avx2__columns | quantize*avx2__repeating | quantize*avx2__blocks)
        ! grep -qE '\bv(perm2[fi]128|permq|insert[fi]128)\b' <<<"$code" ||
            fail "$name: permutes more than the bytes that it packed"
        ;;
    esac
    if [[ $name == *avx2__blocks || $name == *avx512__blocks ]]; then
        divided=$(grep -cE '\bvdivps\b' <<<"$code" || true)
        ((divided <= 4)) ||
            fail "$name: $divided divisions: reciprocals are not prepared once, for each of two" \
                "lengths and two strides of zero points"
    fi
    [[ $name != *avx512_vnni__reciprocal ]] || grep -q 'vpdpbusd .*%zmm' <<<"$code" ||
        fail "$name: no vpdpbusd"
    checked=$((checked + 1))
done <"$objects"

code=$("$objdump" --disassemble --no-show-raw-insn "$boxes")
# Without these instructions the results are the same, but they come slowly, or late: prefetches,
# streaming stores and their fence.
for instruction_and_least in prefetcht0:1 prefetcht1:2 prefetchnta:1 movntdq:1 vmovntdq:2 \
    sfence:1; do
    instruction=${instruction_and_least%:*} least=${instruction_and_least#*:}
    kept=$(grep -c "\\b$instruction\\b" <<<"$code" || true)
    ((kept >= least)) || fail "$boxes: $kept $instruction, $least expected at least"
done

((checked > 0)) || fail "$objects names no kernel that quantizes"
echo "$checked kernels looked at"
exit "$failed"
