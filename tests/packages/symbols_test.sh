#!/usr/bin/env bash
# Checks what the libraries export and need: symbols_test.sh NM READELF STATIC_LIBRARY
# SHARED_LIBRARY
set -euo pipefail
nm=$1 readelf=$2 static=$3 shared=$4
failed=0

# none WHAT LINES: checks that the lines are empty.
none() {
    if [[ -z $2 ]]; then
        echo "ok      $1"
    else
        printf 'FAILED  %s:\n%s\n' "$1" "$2"
        failed=1
    fi
}
# some WHAT LINES: checks that the lines are not empty. Otherwise the check next to it would prove
# nothing.
some() {
    if [[ -n $2 ]]; then echo "ok      $1"; else echo "FAILED  $1: none"; failed=1; fi
}

exported=$("$nm" -D --defined-only --format=posix "$shared" | awk '{print $1}' | sed 's/@.*//')
some "the shared library exports hewn_execute" "$(grep -x hewn_execute <<<"$exported" || true)"
none "the shared library exports hewn_* only" "$(grep -v '^hewn_' <<<"$exported" || true)"
# Every function of the header is exported.
header=$(dirname "$0")/../../include/hewn/hewn.h
for function in $(grep -o 'HEWN_CALL hewn_[a-z0-9_]*(' "$header" | sed 's/HEWN_CALL //; s/(//' |
    sort -u); do
    none "the shared library exports $function" "$(grep -qx "$function" <<<"$exported" ||
        echo "$function is missing")"
done

needed=$("$readelf" -d "$shared" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
some "the shared library needs libc" "$(grep '^libc\.' <<<"$needed" || true)"
none "the shared library needs libc, libm, libpthread, libdl only" \
    "$(grep -vE '^(libc|libm|libpthread|libdl|ld-linux-[a-z0-9_-]+)\.so' <<<"$needed" || true)"
none "the shared library's stack is not executable" "$("$readelf" -lW "$shared" | grep GNU_STACK |
    grep RWE || true)"
some "the shared library names its functions" "$("$nm" "$shared" | grep " [tT] " | head -1 || true)"
none "the shared library cannot print what Halide traces" \
    "$("$nm" "$shared" | grep halide_double_to_string || true)"
none "the shared library starts no thread as Halide does" \
    "$("$nm" "$shared" | grep spawn_thread_helper || true)"
none "the shared library has no text relocations" "$("$readelf" -d "$shared" | grep TEXTREL ||
    true)"

# A name that is undefined in one member may be defined in another.
undefined=$(comm -23 <("$nm" -u --format=posix "$static" 2>/dev/null | awk 'NF > 1 {print $1}' |
    sort -u) \
    <("$nm" --defined-only --format=posix "$static" 2>/dev/null | awk 'NF > 1 {print $1}' |
    sort -u))
some "the static library needs the C library" \
    "$(grep -xE 'malloc|aligned_alloc|memcpy' <<<"$undefined" || true)"
none "the library has no static constructors" \
    "$("$readelf" -SW "$static" | grep -E ' \.(preinit_array|init_array|ctors)' || true)"
none "the static library needs no C++ runtime" \
    "$(grep -E '^(_Z|__cxa_|__gxx_|_Unwind_)' <<<"$undefined" || true)"
none "the static library needs no arithmetic from libm or the compiler's library" \
    "$(grep -xE -e '(l?l?rint|nearbyint|fma|round|floor|ceil|trunc|fmin|fmax)f?' \
        -e '__(extend|trunc|fix|float|gnu_)[a-z0-9_]*|__[a-z]*hf[a-z0-9]*' <<<"$undefined" || true)"
defined=$("$nm" --defined-only --extern-only --format=posix "$static" 2>/dev/null |
    awk 'NF > 1 {print $1}' | sort -u)
some "the static library defines hewn_execute" "$(grep -x hewn_execute <<<"$defined" || true)"
none "the static library leaves the names halide_* to the program" \
    "$(grep -E '^_?halide_' <<<"$defined" || true)"
none "the static library's other C names begin with hewn" "$(grep -vE '^(hewn|_Z)' <<<"$defined" ||
    true)"
exit $failed
