#!/usr/bin/env bash
# nuget.sh DIST WORK
#
# Installs the package with NuGet's client. Mono's xbuild evaluates its targets, which must copy the
# platform's DLL and refuse other platforms. A C program is compiled and linked with the package,
# and run under Wine if that can be installed.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
apt nuget mono-xbuild g++-mingw-w64-x86-64
package=$(only_file "$distribution.$version.nupkg")
# Without -NoCache, the client could take an earlier package of the same version from its cache.
# -Source keeps it from looking elsewhere.
cp "$package" "$work/"
HOME=$work nuget install "$distribution" -Source "$work" -OutputDirectory "$work/packages" -NoCache \
    >"$work/log" 2>&1 || { cat "$work/log" && fail "nuget install"; }
native=$(echo "$work/packages/$distribution".*/) && native=${native%/}
cmp "$native"/build{,Transitive}/native/"$distribution".targets

evaluate() {  # PLATFORM
    xbuild /nologo "/p:Platform=$1;HewnTargets=$native/build/native/$distribution.targets" \
        "$here/nuget/consumer.vcxproj" 2>&1
}
for platform in x64:win-x64 ARM64:win-arm64; do
    evaluate "${platform%:*}" >"$work/log" || { cat "$work/log" && fail "${platform%:*}: xbuild"; }
    dll=$(sed -n 's/.*copies //p' "$work/log" | tr '\134' /)  # a backslash
    [[ $(realpath "$dll") == "$(realpath "$native/runtimes/${platform#*:}/native/hewn.dll")" ]] ||
        fail "${platform%:*}: copies '$dll'"
    [[ -f $native/build/native/lib/${platform%:*}/hewn.lib ]] || fail "${platform%:*}: no hewn.lib"
done
if evaluate Win32 >"$work/log"; then fail "Win32 is not refused"; fi
grep -q 'not for Win32' "$work/log" || fail "Win32 is refused in other words: $(<"$work/log")"
echo "ok      nuget: installed, x64 and ARM64 taken, Win32 refused"

x86_64-w64-mingw32-gcc -I"$native/build/native/include" "$root/tests/api/c_api_test.c" \
    "$native/build/native/lib/x64/hewn.lib" -o "$work/c_api_test.exe"
cp "$native/runtimes/win-x64/native/hewn.dll" "$work/"
status=0
"$root/tests/support/run-wine.sh" "$work/c_api_test.exe" || status=$?
case $status in
0) echo "ok      nuget: a C program linked and run" ;;
77) echo "skipped nuget: a C program is linked, but there is no Wine that would run it" ;;
*) fail "the C program under Wine: $status" ;;
esac
