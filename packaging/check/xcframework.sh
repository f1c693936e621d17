#!/usr/bin/env bash
# xcframework.sh DIST WORK
#
# Checks that every slice of the XCFramework has all functions. A program that includes the header
# as a module must link with each slice without a warning, by lld, for the oldest system that
# Package.swift names. Neither Xcode nor Apple's SDK is available here. Instead, zig's headers and
# its libSystem of macOS are used, with stand-ins for Foundation and libobjc.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
apt clang lld llvm unzip
zig=$(zig)/lib/libc
archive=$(only_file 'hewn-*.xcframework.zip')
unzip -q "$archive" -d "$work"
cp "$dist/Package.swift" "$work/"
for name in Package.swift "$distribution.podspec.json"; do
    grep -q "$(sha256sum "$archive" | cut -d' ' -f1)" "$dist/$name" ||
        fail "$name has another checksum"
done

# stand_in NAME INSTALL-NAME SYMBOL...: writes a text-based stub of a library for $target.
stand_in() {
    mkdir -p "$(dirname "$1")"
    printf -- "--- !tapi-tbd\ntbd-version: 4\ntargets: [ %s ]\ninstall-name: '%s'\nexports:\n" \
        "$target" "$2" >"$1"
    printf -- "  - targets: [ %s ]\n    symbols: [ %s ]\n...\n" "$target" "${*:3}" >>"$1"
}
stand_ins() {  # in $sdk, for $target
    local framework=System/Library/Frameworks/Foundation.framework/Foundation
    stand_in "$sdk/$framework.tbd" "/$framework" _NSLog
    stand_in "$sdk/libobjc.tbd" /usr/lib/libobjc.A.dylib _objc_getClass, _objc_msgSend, _sel_getUid
    sed "s/arm64e-macos/$target/g" "$zig/darwin/libSystem.tbd" >"$sdk/libSystem.tbd"
}

functions=$(sed -n 's/^HEWN_API .*HEWN_CALL \(hewn_[a-z0-9_]*\)(.*/_\1/p' \
    "$root/include/hewn/hewn.h" | sort)
slices=0
while IFS=$'\t' read -r triple arch library headers; do
    missing=$(comm -23 <(echo "$functions") <(llvm-nm --arch="$arch" --defined-only --extern-only \
        --format=posix "$library" 2>/dev/null | awk 'NF > 1 {print $1}' | sort))
    [[ -z $missing ]] || fail "$triple has not $missing"
    sdk=$work/sdk-$triple target=$arch-$(sed 's/.*-apple-//; s/[0-9.]//g' <<<"$triple")
    stand_ins
    # Foundation is linked because the module map says so, as in Xcode.
    clang --target="$triple" -fmodules -fmodules-cache-path="$work/modules" -I"$headers" \
        -nostdlibinc -idirafter "$zig/include/any-macos-any" \
        "$root/tests/api/c_api_test.c" "$library" \
        -fuse-ld=lld -nostdlib -L"$sdk" -F"$sdk/System/Library/Frameworks" -lSystem -lobjc \
        -Wl,-fatal_warnings -o "$work/$triple"
    platform=$(llvm-objdump --macho --private-headers "$work/$triple" |
        sed -nE '/cmd LC_BUILD_VERSION/,/minos/s/^ *(platform|minos) (.*)/\2/p' | paste -sd ' ')
    echo "ok      $triple: linked, for $platform"
    slices=$((slices + 1))
done < <(python "$here/xcframework.py" "$work/hewn.xcframework")
((slices == 4)) || fail "$slices slices, not iOS, its simulator and macOS of two architectures"
