#!/usr/bin/env bash
# Checks a build for Windows:
#
#     windows_test.sh imports OBJDUMP FILE...
#     windows_test.sh msvc SOURCE BUILD WORK
#
# `imports` checks that the programs and DLLs need only hewn.dll and Windows' own DLLs, that
# hewn.dll exports only hewn_*, and that it has compiled shaders and not their text. `msvc` builds
# the C program of Microsoft's ABI (msvc_consumer.c) with hewn.lib and runs it under Wine.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")

fail() {
    echo "windows_test: $*" >&2
    exit 1
}

imports() {
    local objdump=$1 file table dll
    for file in "${@:2}"; do
        table=$("$objdump" -p "$file")
        grep -q 'DLL Name: ' <<<"$table" || fail "$file imports nothing: is it no Windows program?"
        while read -r dll; do
            case ${dll,,} in
            kernel32.dll | msvcrt.dll | hewn.dll) ;;
            *) fail "$file needs $dll" ;;
            esac
        done < <(sed -n 's/^[[:space:]]*DLL Name: //p' <<<"$table")
        [[ $file == *.dll ]] || continue
        if grep --quiet --text numthreads "$file"; then fail "$file holds the text of shaders"; fi
        # The table has lines of "[ 0] name" or, from binutils after 2.40, "[ 0] +base[ 1]  0000
        # name".
        table=$(sed -n '/^.Ordinal.Name Pointer. Table/,/^$/p' <<<"$table" |
            sed -n 's/^[[:space:]]*\[ *[0-9]*\] \(.* \)\{0,1\}\([^ ]*\)$/\2/p')
        [[ $(grep -c '^hewn_' <<<"$table") -ge 20 ]] || fail "$file exports: $table"
        if grep -v '^hewn_' <<<"$table"; then fail "$file exports the above"; fi
    done
}

msvc() {
    local source=$1 build=$2 work=$3
    rm -rf "$work"
    mkdir -p "$work"
    printf 'LIBRARY kernel32.dll\nEXPORTS\n    ExitProcess\n' >"$work/kernel32.def"
    llvm-dlltool -m i386:x86-64 -d "$work/kernel32.def" -l "$work/kernel32.lib"
    clang --target=x86_64-pc-windows-msvc -std=c99 -ffreestanding -fno-builtin -O1 -Wall -Wextra \
        -Werror -I "$source/include" \
        -c "$source/tests/packages/msvc_consumer.c" -o "$work/consumer.obj"
    lld-link /nologo /nodefaultlib /subsystem:console /entry:mainCRTStartup \
        /out:"$work/consumer.exe" "$work/consumer.obj" \
        "$build/hewn.lib" "$work/kernel32.lib"
    cp "$build/bin/hewn.dll" "$work"
    "$here/../support/run-wine.sh" "$work/consumer.exe"
    echo "passed: hewn.lib with lld-link"
}

"$@"
