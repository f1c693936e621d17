#!/usr/bin/env bash
# subproject_test.sh SOURCE WORK CMAKE HALIDE-INCLUDE-DIR HEWN_GENERATORS NM READELF: hewn by add_subdirectory in a project of C, built by
# make with what a distribution or the parent may ask for: no build type, unity builds, link-time optimisation, libstdc++'s assertions. CC
# and CXX are the compilers.
set -euo pipefail
source=$1 work=$2 cmake=$3 halide=$4 generators=$5 nm=$6 readelf=$7
unset HEWN_VARIANT

fail() {
    echo "subproject_test: $*" >&2
    exit 1
}

rm -rf "$work"
mkdir -p "$work/parent"
cat >"$work/parent/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.28)
project(parent LANGUAGES C)
add_subdirectory(${HEWN_SOURCE} hewn)
foreach(library hewn hewn_static)
    add_executable(app_${library} ${HEWN_SOURCE}/examples/c_quantize/main.c)
    target_link_libraries(app_${library} PRIVATE hewn::${library})
endforeach()
install(TARGETS app_hewn_static)
END

configure() {
    "$cmake" -S "$work/parent" -B "$work/build" -G "Unix Makefiles" -DHEWN_SOURCE="$source" -DHEWN_HALIDE_INCLUDE_DIR="$halide" \
        -DHEWN_GENERATORS="$generators" "-DHEWN_SIGNATURES=quantize_linear_f32_u8;add_i8" -DHEWN_TARGETS=x86_64_sse41 "$@" >"$work.log" 2>&1
}
configure -DCMAKE_BUILD_TYPE= -DCMAKE_UNITY_BUILD=ON -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON \
    "-DCMAKE_CXX_FLAGS=-D_GLIBCXX_ASSERTIONS -flto=auto -ffat-lto-objects" || fail "does not configure: $(cat "$work.log")"
"$cmake" --build "$work/build" --parallel 4 >"$work/build.log" 2>&1 || fail "does not build: $(tail -20 "$work/build.log")"

# Two libraries need the kernels: each generator runs once all the same, else they write the same file at the same time.
runs=$(sed -n 's/^\[.*\] \(.*(shipped)\)$/\1/p' "$work/build.log" | sort)
[[ $(wc -l <<<"$runs") -ge 5 && $runs == "$(uniq <<<"$runs")" ]] || fail "generator runs: $runs"

for app in app_hewn app_hewn_static; do
    [[ $("$work/build/$app") == $'0 100 113 132\n164 228 255 255\nquantize_linear_f32_u8__x86_64_sse41' ]] || fail "$app prints something else"
done
renamed=$("$nm" --defined-only --extern-only "$work/build/hewn/libhewn.a" 2>/dev/null | grep -c ' hewnrt_halide_') || fail "no symbol is renamed"
if "$nm" --defined-only --extern-only "$work/build/hewn/libhewn.a" | grep ' halide_'; then fail "these of Halide's are not renamed"; fi
for file in hewn/libhewn.so app_hewn_static; do
    if "$readelf" -d "$work/build/$file" | grep 'NEEDED.*libstdc++'; then fail "$file needs the C++ runtime library"; fi
done
grep -q -- '-O2' "$work/build/hewn/CMakeFiles/hewn.dir/flags.make" || fail "the runtime is not optimised"
echo "passed: a parent of C, $renamed symbols renamed"

"$cmake" --install "$work/build" --prefix "$work/prefix" >/dev/null
[[ $(cd "$work/prefix" && find . -type f) == ./bin/app_hewn_static ]] || fail "installs more than the parent's: $(find "$work/prefix" -type f)"
configure -DHEWN_INSTALL=ON -DCMAKE_INSTALL_LIBDIR="$work/absolute/lib" || fail "does not configure: $(cat "$work.log")"
grep -qx "libdir=$work/absolute/lib" "$work/build/hewn/hewn.pc" || fail "hewn.pc: $(cat "$work/build/hewn/hewn.pc")"
grep -qx "includedir=/usr/local/include" "$work/build/hewn/hewn.pc" || fail "hewn.pc: $(cat "$work/build/hewn/hewn.pc")"
echo "passed: what is installed"
