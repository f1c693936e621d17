#!/usr/bin/env bash
# Builds hewn by add_subdirectory in a project of C, with make:
#
#     subproject_test.sh SOURCE WORK CMAKE HALIDE-INCLUDE-DIR HEWN_GENERATORS NM READELF
#
# The first build has what a distribution or the parent may ask for: no build type, unity builds,
# link-time optimisation, libstdc++'s assertions, inexact mathematics, and folders with the names
# that package managers give them. Then there is a table of more flags and variables that a parent
# may set. CC and CXX are the compilers.
set -euo pipefail
source=$1 work=$2 cmake=$3 halide=$4 generators=$5 nm=$6 readelf=$7
unset HEWN_VARIANT CLICOLOR_FORCE

fail() {
    echo "subproject_test: $*" >&2
    exit 1
}

rm -rf "$work"
mkdir -p "$work/parent"
cat >"$work/parent/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.28)
project(parent LANGUAGES C)
add_compile_options(${PARENT_OPTIONS})
foreach(choice SIGNATURES TARGETS)  # as an app does, by a variable of its own
    if(PARENT_${choice})
        set(HEWN_${choice} ${PARENT_${choice}})
    endif()
endforeach()
add_subdirectory(${HEWN_SOURCE} hewn)
foreach(library hewn hewn_static)
    add_executable(app_${library} ${HEWN_SOURCE}/examples/c_quantize/main.c)
    target_link_libraries(app_${library} PRIVATE hewn::${library})
endforeach()
add_executable(app_few ${HEWN_SOURCE}/examples/c_quantize/main.c)
hewn_link_kernels(app_few quantize_linear_f32_u8)
add_library(plugin SHARED nan_scale.c)
add_executable(nan_scale nan_scale.c)
foreach(target plugin nan_scale)
    target_link_libraries(${target} PRIVATE hewn::hewn_static)
endforeach()
install(TARGETS app_hewn_static)
END

# Adds two tensors, the first of which has NaN as its scale. Every sum is NaN, and its quantization
# is the zero point, unless the library is compiled with the parent's inexact mathematics.
cat >"$work/parent/nan_scale.c" <<'END'
#include <hewn/hewn.h>

#include <stdio.h>

int main(void) {
    enum { kCount = 1024 };
    const int64_t sizes[] = {kCount}, repeat[] = {0};
    const hewn_tensor_desc q = {sizeof q, HEWN_DATA_TYPE_UINT8, 1, sizes, NULL};
    const hewn_tensor_desc z = {sizeof z, HEWN_DATA_TYPE_UINT8, 1, sizes, repeat};
    const hewn_tensor_desc s = {sizeof s, HEWN_DATA_TYPE_FLOAT32, 1, sizes, repeat};
    const hewn_quantized_linear_add_desc add = {sizeof add, &q, &s, &z, &q, &s, &z, &s, &z, &q, 0, 0};
    const hewn_operator_desc desc = {sizeof desc, HEWN_OPERATOR_QUANTIZED_LINEAR_ADD, &add};
    uint8_t a[kCount], sum[kCount], zero_point = 7;
    const uint32_t nan_bits = 0x7fc00000;
    float scale = 0.5f;
    hewn_error error = {sizeof error, 0, ""};
    hewn_operator *op = NULL;
    for (int i = 0; i < kCount; i++) a[i] = (uint8_t)i;
    const hewn_buffer_binding x = {sizeof x, a, 0, sizeof a}, y = {sizeof y, sum, 0, sizeof sum};
    const hewn_buffer_binding one = {sizeof one, &scale, 0, sizeof scale};
    const hewn_buffer_binding nan = {sizeof nan, (void *)&nan_bits, 0, sizeof nan_bits};
    const hewn_buffer_binding zero = {sizeof zero, &zero_point, 0, 1};
    const hewn_buffer_binding inputs[] = {x, nan, zero, x, one, zero, one, zero};
    int wrong = 0;
    if (hewn_compile(NULL, &desc, NULL, &op, &error) ||
        hewn_execute(op, inputs, 8, &y, 1, NULL, &error)) {
        puts(error.message);
        return 1;
    }
    for (int i = 0; i < kCount; i++) wrong += sum[i] != zero_point;
    printf("%s: %d of %d wrong\n", hewn_operator_variant(op), wrong, (int)kCount);
    hewn_destroy_operator(op);
    return wrong != 0;
}
END

build=$work/@scope/build@1.0  # CMake takes what is between two @ for a variable
configure() {
    "$cmake" -S "$work/parent" -B "$build" -G "Unix Makefiles" -DHEWN_SOURCE="$source" \
        -DHEWN_HALIDE_INCLUDE_DIR="$halide" \
        -DHEWN_GENERATORS="$generators" \
        "-DHEWN_SIGNATURES=quantize_linear_f32_u8;add_i8;quantized_linear_add_u8_u8_u8" \
        "-DHEWN_TARGETS=x86_64_sse41;x86_64_avx2" "$@" >"$work.log" 2>&1
}
odd_flags="-D_GLIBCXX_DEBUG -D_GLIBCXX_ASSERTIONS -flto=auto -ffat-lto-objects -ffast-math"
configure -DCMAKE_BUILD_TYPE= -DCMAKE_UNITY_BUILD=ON -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON \
    "-DCMAKE_CXX_FLAGS=$odd_flags" \
    -DCMAKE_SHARED_LINKER_FLAGS=-Wl,--no-as-needed || fail "does not configure: $(cat "$work.log")"
"$cmake" --build "$build" --parallel 4 >"$work/build.log" 2>&1 ||
    fail "does not build: $(tail -20 "$work/build.log")"

if grep -vF "$build/" "$build/hewn/generated/shipped/objects.txt"; then
    fail "the files above are not in $build"
fi

# Two libraries need the kernels. Each generator must run only once all the same, or else two runs
# would write the same file at the same time.
runs=$(sed -n 's/^\[.*\] \(.*(shipped)\)$/\1/p' "$work/build.log" | sort)
[[ $(wc -l <<<"$runs") -ge 5 && $runs == "$(uniq <<<"$runs")" ]] || fail "generator runs: $runs"

for app in app_hewn app_hewn_static app_few; do
    [[ $(HEWN_VARIANT=x86_64_sse41 "$build/$app") == \
        $'0 100 113 132\n164 228 255 255\nquantize_linear_f32_u8__x86_64_sse41' ]] ||
        fail "$app prints something else"
done
if "$nm" "$build/app_few" | grep -E 'hewnk_(add|quantized_linear_add)'; then
    fail "hewn_link_kernels links the kernels above too"
fi
"$nm" "$build/app_hewn_static" | grep hewnk_add >/dev/null ||
    fail "app_hewn_static has no hewnk_add"
renamed=$("$nm" --defined-only --extern-only "$build/hewn/libhewn.a" 2>/dev/null |
    grep -c ' hewnrt_halide_') || fail "no symbol is renamed"
if "$nm" --defined-only --extern-only "$build/hewn/libhewn.a" | grep ' halide_'; then
    fail "these of Halide's are not renamed"
fi
[[ $("$nm" -D --defined-only "$build/libplugin.so" | awk '{ print $3 }') == main ]] ||
    fail "a plugin exports more than its own"
"$build/nan_scale" || fail "mathematics that the parent asks for are the library's"
for file in hewn/libhewn.so app_hewn_static; do
    if "$readelf" -d "$build/$file" | grep 'NEEDED.*libstdc++'; then
        fail "$file needs the C++ runtime library"
    fi
done
grep -q -- '-O2' "$build/hewn/CMakeFiles/hewn_shipped_runtime.dir/flags.make" ||
    fail "the runtime is not optimised"
echo "passed: a parent of C, $renamed symbols renamed"

"$cmake" --install "$build" --prefix "$work/prefix" >/dev/null
[[ $(cd "$work/prefix" && find . -type f) == ./bin/app_hewn_static ]] ||
    fail "installs more than the parent's: $(find "$work/prefix" -type f)"
configure -DHEWN_INSTALL=ON -DCMAKE_INSTALL_LIBDIR="$work/absolute/lib" ||
    fail "does not configure: $(cat "$work.log")"
grep -qx "libdir=$work/absolute/lib" "$build/hewn/hewn.pc" ||
    fail "hewn.pc: $(cat "$build/hewn/hewn.pc")"
grep -qx "includedir=/usr/local/include" "$build/hewn/hewn.pc" ||
    fail "hewn.pc: $(cat "$build/hewn/hewn.pc")"
echo "passed: what is installed"

# ---- What else a parent may ask for: row WHAT builds|MESSAGE ARGUMENT...
#
# Each row either builds, with generators of its own, and gives the right results, or is refused
# with the message.
row() {
    local what=$1 wanted=$2 log=$work/row.log
    build=$work/row
    rm -rf "$build"
    shift 2
    set -- -S "$work/parent" -B "$build" -G Ninja -DHEWN_SOURCE="$source" \
        -DHEWN_HALIDE_DIR="$(dirname "$halide")" \
        -DPARENT_SIGNATURES=quantize_linear_f32_u8 -DPARENT_TARGETS=x86_64_sse41 "$@"
    if [[ $wanted == builds ]]; then
        { "$cmake" "$@" && "$cmake" --build "$build" --target app_hewn_static app_few; } \
            >"$log" 2>&1 ||
            fail "$what: $(tail -30 "$log")"
        for app in app_hewn_static app_few; do
            [[ $("$build/$app") == $'0 100 113 132\n164 228 255 255\n'* ]] ||
                fail "$what: $app prints something else"
        done
        [[ $(grep -c '^HEWN_VARIANT' "$build/hewn/generated/include/variants.inc") == 1 ]] ||
            fail "$what: HEWN_SIGNATURES and HEWN_TARGETS of the parent's do not choose the kernels"
    else
        if "$cmake" "$@" >"$log" 2>&1; then fail "$what: is not refused"; fi
        grep -qF "$wanted" "$log" || fail "$what: $(cat "$log")"
    fi
    echo "passed: $what"
}
options=(-march=native -Ofast -ffast-math -fshort-enums -funsigned-char -flto -Wall -Wextra
    -Wundef -Werror)
for option in -fno-exceptions -fno-rtti -D_GLIBCXX_DEBUG -D_GLIBCXX_USE_CXX11_ABI=0 \
    -Wold-style-cast -Wuseless-cast; do
    options+=("\$<\$<COMPILE_LANGUAGE:CXX>:$option>")
done
variables=(
    -DCMAKE_CXX_STANDARD=14 -DCMAKE_CXX_EXTENSIONS=ON -DCMAKE_UNITY_BUILD=ON \
    -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON
    -DCMAKE_C_VISIBILITY_PRESET=hidden -DCMAKE_CXX_VISIBILITY_PRESET=internal \
    -DCMAKE_VISIBILITY_INLINES_HIDDEN=ON
    -DCMAKE_COMPILE_WARNING_AS_ERROR=ON -DCMAKE_POSITION_INDEPENDENT_CODE=OFF -DBUILD_SHARED_LIBS=ON
)
row "flags and variables for 64 bits" builds "-DPARENT_OPTIONS=$(IFS=';' && echo "${options[*]}")" \
    "${variables[@]}"
row "programs of 32 bits" "no kernels for 32-bit programs" -DCMAKE_C_FLAGS=-m32 \
    -DCMAKE_CXX_FLAGS=-m32 \
    -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY  # where the system has no libraries for them
