#!/usr/bin/env bash
# Checks the package of a system whose programs do not run here, as far as that is possible without
# running it: the object format and the CPU, what it needs of the system, what it exports, and that
# every kernel is there. Exit status 77: there is no build.
#
#     tests/packages/libraries_test.sh FOLDER
#
# FOLDER is one that scripts/cross.sh makes, build-<os>-<arch>, or any folder whose name ends in
# <os>-<arch>.
set -euo pipefail
build=$(realpath --canonicalize-missing "${1:?"usage: tests/packages/libraries_test.sh FOLDER"}")
CDPATH="" cd -P "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD
target=$(basename "$build") && target=${target#build-}
failed=0
# The targets that have only some kernels. Lower targets provide the others.
partial=$(python3 -B -c 'from lists.targets import TARGETS
print("|".join(target.name for target in TARGETS if target.only))')

# none WHAT LINES: checks that the lines are empty.
none() {
    if [[ -z $2 ]]; then
        echo "ok      $target: $1"
    else
        printf 'FAILED  %s: %s:\n%s\n' "$target" "$1" "$2"
        failed=1
    fi
}
# same WHAT EXPECTED GOT: checks that these are the same lines, in any order.
same() { none "$1" "$(diff <(sort -u <<<"$2") <(sort -u <<<"$3") || true)"; }
# only WHAT PATTERN LINES: checks that there are lines, and that an extended pattern matches the
# whole of each.
only() {
    none "$1" "$(if [[ $3 ]]; then grep -vxE "$2" <<<"$3" || true; else echo "none found"; fi)"
}

formats() { llvm-readobj --file-headers "$@" | sed -n 's/^Format: //p'; }
names() { llvm-nm --format=posix "$@" 2>/dev/null | awk 'NF > 1 {print $1}' | sort -u; }
# The names that the file (or no other member of the archive) defines.
missing() { comm -23 <(names --undefined-only "$@") <(names --defined-only "$@"); }
functions() {
    sed -n 's/^HEWN_API .*HEWN_CALL \(hewn_[a-z0-9_]*\)(.*/\1/p' "$root/include/hewn/hewn.h"
}

check_elf() {  # FORMAT
    same "format" "$1" "$(formats lib/libhewn.so lib/libhewn.a)"
    none "segments of 16 KiB" \
        "$(cmake -DREADELF="$(type -P llvm-readelf)" -DLIBRARY=lib/libhewn.so \
        -P "$root/cmake/CheckSegments.cmake" 2>&1 || true)"
    none "symbols" "$("$root/tests/packages/symbols_test.sh" llvm-nm llvm-readelf lib/libhewn.a \
        lib/libhewn.so | grep -v '^ok ' || true)"
    same "a build id" 1 "$(llvm-readelf -n lib/libhewn.so | grep -c 'Build ID: [0-9a-f]')"
}

check_android() {  # FORMAT ARCHITECTURE
    local bionic
    check_elf "$1"
    bionic=$(grep -v '^#' "$root/cmake/bionic.txt" | paste -sd '|')
    only "the shared library needs names of bionic's" "$bionic" \
        "$(missing --dynamic lib/libhewn.so)"
    only "the static library needs names of bionic's" "$bionic" "$(missing lib/libhewn.a)"
    if [[ -z ${ANDROID_NDK_HOME:-} ]]; then
        none "a program runs, with musl in bionic's place" \
            "$(run_with_musl "$2" 2>&1 | grep -vx ok || true)"
    fi
}

# Runs tests/api/c_api_test.c with the static library: on x86-64 with the system's musl, for ARM
# with the musl of zig, which compiles it for a minute.
run_with_musl() {  # ARCHITECTURE
    local program=$build/c_api_test compiler=(musl-gcc) run=()
    if [[ $1 != x86_64 ]]; then
        compiler=(python -m ziglang cc -target "$1-linux-musl") run=("qemu-$1-static")
    fi
    cat >"$program.log.c" <<'END'
int __android_log_print(int priority, const char *tag, const char *format, ...) {
    return !priority + !tag + !format;
}
END
    "${compiler[@]}" -static -DHEWN_STATIC -Iinclude "$root/tests/api/c_api_test.c" \
        "$program.log.c" lib/libhewn.a -o "$program" &&
        "${run[@]}" "$program" || echo "failed with $?"
}

check_macho() {  # FORMAT
    local commands
    commands=$(llvm-objdump --macho --private-headers lib/libhewn.dylib)
    same "format" "$1" "$(formats lib/libhewn.dylib lib/libhewn.a)"
    same "install name" "@rpath/libhewn.${version%.*}.dylib" \
        "$(sed -n '/cmd LC_ID_DYLIB/,/name/s/^ *name \(.*\) (offset.*/\1/p' <<<"$commands")"
    same "libraries needed" /usr/lib/libSystem.B.dylib \
        "$(sed -n '/cmd LC_LOAD_DYLIB/,/name/s/^ *name \(.*\) (offset.*/\1/p' <<<"$commands")"
    same "oldest system" "platform macos minos 11.0" \
        "$(sed -nE '/cmd LC_BUILD_VERSION/,/minos/s/^ *(platform|minos) (.*)/\1 \2/p' \
        <<<"$commands" | paste -sd ' ')"
    if [[ $1 == *arm64 ]]; then
        same "signed, as Apple's chips want it" LC_CODE_SIGNATURE \
            "$(grep -o LC_CODE_SIGNATURE <<<"$commands" || true)"
    fi
    same "exports" "$(functions | sed 's/^/_/')" \
        "$(names --extern-only --defined-only lib/libhewn.dylib)"
    only "the static library's C names begin with hewn" '_hewn.*|__Z.*' \
        "$(names --extern-only --defined-only lib/libhewn.a)"
}

check_ios() {  # PLATFORM OLDEST
    same "format" "Mach-O arm64" "$(formats lib/libhewn.a)"
    same "platform and oldest system of every object" "platform $1 minos $2" \
        "$(llvm-objdump --macho --private-headers lib/libhewn.a |
            sed -nE '/cmd LC_BUILD_VERSION/,/minos/s/^ *(platform|minos) (.*)/\1 \2/p' |
            paste -d ' ' - -)"
    only "C names begin with hewn" '_hewn.*|__Z.*' \
        "$(names --extern-only --defined-only lib/libhewn.a)"
}

check_coff() {  # FORMAT
    same "format" "$1" "$(formats bin/hewn.dll)"
    only "DLLs needed are Windows' own" 'KERNEL32\.dll|api-ms-win-crt-[a-z]+-l1-1-0\.dll' \
        "$(llvm-readobj --coff-imports bin/hewn.dll | sed -n 's/^  Name: //p')"
    same "exports" "$(functions)" "$(llvm-readobj --coff-exports bin/hewn.dll |
        sed -n 's/^  Name: //p')"
    same "import library" "$(functions)" "$(names --defined-only lib/hewn.lib | grep '^hewn_')"
}

if [[ ! -d $build/package ]]; then
    echo "skipped: there is no package in $build: ./test.sh --all makes it, as does" \
        "scripts/cross.sh $target -B '$build'"
    exit 77
fi
export PATH="$root/.venv/bin:$PATH"
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:.*=//p' "$build/CMakeCache.txt")
cd "$build/package/hewn-$version-$target"
case $target in
android-arm64) check_android elf64-littleaarch64 aarch64 ;;
android-x86_64) check_android elf64-x86-64 x86_64 ;;
linux-*-arm64) check_elf elf64-littleaarch64 ;;
linux-*-x86_64) check_elf elf64-x86-64 ;;
macos-arm64) check_macho "Mach-O arm64" ;;
macos-x86_64) check_macho "Mach-O 64-bit x86-64" ;;
ios-arm64) check_ios ios 13.0 ;;
ios-simulator-arm64) check_ios iossimulator 14.0 ;;
windows-arm64) check_coff COFF-ARM64 ;;
*) none "checks" "there are none for it" ;;
esac
# The library's variants are those of the lists. Their names are in the library, whose table
# contains them.
for library in bin/hewn.dll lib/libhewn.dylib lib/libhewn.so lib/libhewn.a; do
    if [[ -e $library ]]; then break; fi
done
variants=$(sed -nE 's/^HEWN_VARIANT\(([a-z_]+), ([a-z0-9_]+), ([a-z0-9_]+),.*/\1_\2__\3/p' \
    "$build/generated/include/variants.inc")
only "variants are listed" '.+__.+' "$variants"
kernels=$(awk -F__ '{print $1}' <<<"$variants" | sort -u | wc -l)
same "$kernels kernels a target" "$kernels" \
    "$(grep -vE "__($partial)\$" <<<"$variants" | sed 's/.*__//' | sort | uniq -c |
    awk '{print $1}')"
none "every variant" "$(while read -r variant; do grep -qaF "$variant" "$library" ||
    echo "$variant"; done <<<"$variants")"
exit $failed
