#!/usr/bin/env bash
# Installs BUILD below WORK, moves the installation, and uses it as a stranger would: find_package
# in C++ and C, shared and static, pkg-config, and versions that must be refused.
#
#     package_test.sh SOURCE BUILD WORK CMAKE LIBDIR
#
# CC, CXX and their flags are as in BUILD. LIBDIR is the libraries' folder in the installation.
set -euo pipefail
source=$1 build=$2 work=$3 cmake=$4 lib=$5
prefix=$work/moved/prefix
version=$(sed -nE 's/#define HEWN_VERSION_[A-Z]+ ([0-9]+)$/\1/p' "$source/include/hewn/hewn.h" |
    paste -sd .)
minor=${version%.*} so=$lib/libhewn.so

fail() {
    echo "package_test: $*" >&2
    exit 1
}

# expect NAME LINES PROGRAM: checks that the program's output begins with these lines and ends with
# the name of a variant.
expect() {
    local output
    output=$("$3") || fail "$1: exit status $?"
    [[ $output == "$2"* && $output =~ [a-z_0-9]+__[a-z_0-9]+\)?$ ]] || fail "$1 printed: $output"
    echo "passed: $1"
}

# configure EXAMPLE FOLDER ARGUMENT...
configure() {
    "$cmake" -S "$source/examples/$1" -B "$work/$2" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
        "${@:3}" >"$work/$2.log" 2>&1
}

rm -rf "$work"
mkdir -p "$work/moved"
# The components are installed one by one, so that nothing is installed that was not built.
for component in hewn_Runtime hewn_Development hewn_Tool; do
    "$cmake" --install "$build" --prefix "$work/prefix" --component $component \
        >>"$work/install.log" ||
        fail "install failed: $(tail -5 "$work/install.log")"
    [[ $component == hewn_Runtime ]] || continue
    [[ -e $work/prefix/$so.$version && -L $work/prefix/$so.$minor &&
        -e $work/prefix/share/doc/hewn/LICENSE ]] ||
        fail "hewn_Runtime lacks the library or its licence"
    if find "$work/prefix" -name 'libhewn.so' -o -name '*.a' -o -name '*.h' -o -name '*.cmake' \
        -o -name '*.pc' -o -name hewn -type f -o -name '*onnxruntime*' | grep .; then
        fail "hewn_Runtime has the files above"
    fi
done
mv "$work/prefix" "$prefix"

# ---- The README shows the example as it is.
awk '/^```cpp$/ { inside = 1; next } inside && /^```$/ { exit } inside' "$source/README.md" |
    cmp - "$source/examples/quantize/main.cpp" ||
    fail "README.md and examples/quantize/main.cpp differ"

# ---- What is installed.
for file in include/hewn/hewn.h include/hewn/hewn.hpp "$lib/libhewn.a" \
    "$so"{,".$minor",".$version"} \
    "$lib"/cmake/hewn/hewnConfig{,Version}.cmake "$lib/pkgconfig/hewn.pc" \
    share/doc/hewn/{LICENSE,THIRD_PARTY.md,numerics.md,operators.md}; do
    [[ -e $prefix/$file ]] || fail "$file is not installed"
done
if [[ -e $prefix/bin/hewn ]]; then
    for file in man/man1/hewn.1 bash-completion/completions/hewn zsh/site-functions/_hewn \
        fish/vendor_completions.d/hewn.fish; do
        [[ -s $prefix/share/$file ]] || fail "share/$file is not installed"
    done
fi
[[ -L $prefix/$so && -L $prefix/$so.$minor ]] ||
    fail "libhewn.so and libhewn.so.$minor are to be links"
cmp "$source/LICENSE" "$prefix/share/doc/hewn/LICENSE"
cmp "$source/THIRD_PARTY.md" "$prefix/share/doc/hewn/THIRD_PARTY.md"
grep -q 'Copyright (c) .* MIT CSAIL, Google' "$prefix/share/doc/hewn/THIRD_PARTY.md" ||
    fail "Halide's copyright notice is missing"
if grep -rlF -e "$source" -e "$build" -e "$work/prefix" "$prefix/$lib/cmake" \
    "$prefix/$lib/pkgconfig" "$prefix/include"; then
    fail "the files above name folders of the build"
fi
echo "passed: installed files"

# ---- CMake: both languages, both libraries.
add='11 22 33 44 (add_f32__' quantize=$'0 100 113 132\n164 228 255 255\nquantize_linear_f32_u8__'
for library in hewn::hewn hewn::hewn_static; do
    for example in add quantize c_quantize; do
        folder=$example-${library#hewn::}
        { configure "$example" "$folder" -DHEWN_LIBRARY=$library &&
            "$cmake" --build "$work/$folder" >>"$work/$folder.log"; } ||
            fail "$example with $library does not build: $(tail -20 "$work/$folder.log")"
    done
    expect "examples/add with $library" "$add" "$work/add-${library#hewn::}/add"
    both=$work/quantize-${library#hewn::}/quantize
    expect "examples/quantize with $library" "$add" "$both"
    [[ $("$both") == *$'\n54 98 142 186 (quantize_linear_f32_u8__'* ]] ||
        fail "examples/quantize with $library printed: $("$both")"
    expect "examples/c_quantize with $library" "$quantize" \
        "$work/c_quantize-${library#hewn::}/c_quantize"
done
# ---- One program for every device. Here it uses the CPU, or a GPU where there is one.
{ configure best_device best_device && "$cmake" --build "$work/best_device" \
    >>"$work/best_device.log"; } ||
    fail "best_device does not build: $(tail -20 "$work/best_device.log")"
device_output=$("$work/best_device/best_device") ||
    fail "best_device: exit status $?, $device_output"
[[ $device_output == *"0.75 by dequantize_linear_u8_f32__"* ]] ||
    fail "best_device printed: $device_output"
echo "passed: examples/best_device"
{ configure camera_frame camera_frame && "$cmake" --build "$work/camera_frame" \
    >>"$work/camera_frame.log"; } ||
    fail "camera_frame does not build: $(tail -20 "$work/camera_frame.log")"
"$work/camera_frame/camera_frame" || fail "camera_frame: exit status $?"
echo "passed: examples/camera_frame"
if [[ -x $(command -v nvcc || echo /usr/local/cuda/bin/nvcc) ]]; then
    { configure cuda_stream cuda_stream && "$cmake" --build "$work/cuda_stream" \
        >>"$work/cuda_stream.log"; } ||
        fail "cuda_stream does not build: $(tail -20 "$work/cuda_stream.log")"
    if ldconfig -p | grep -q 'libcuda\.so\.1'; then
        "$work/cuda_stream/cuda_stream" | grep -qx '3 (dequantize_linear_u8_f32__cuda_.*' ||
            fail "cuda_stream does not run"
        echo "passed: examples/cuda_stream"
    else
        echo "passed: examples/cuda_stream builds; skipped: no NVIDIA driver to run it"
    fi
else
    echo "skipped: examples/cuda_stream, no CUDA toolkit"
fi

readelf -d "$work/add-hewn/add" | grep -qF "[libhewn.so.$minor]" ||
    fail "the shared library is not used by its SONAME"
for program in "$work/add-hewn_static/add" "$work/c_quantize-hewn_static/c_quantize"; do
    if readelf -d "$program" | grep 'NEEDED.*libhewn'; then
        fail "$program is not linked statically"
    fi
done
if readelf -d "$work/c_quantize-hewn_static/c_quantize" | grep 'NEEDED.*libstdc++'; then
    fail "a C program needs libstdc++"
fi

# ---- A shared library that links hewn_static exports only its own functions.
mkdir "$work/plugin"
cat >"$work/plugin/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(plugin LANGUAGES C)
find_package(hewn CONFIG REQUIRED)
add_library(plugin SHARED plugin.c)
target_link_libraries(plugin PRIVATE hewn::hewn_static)
END
cat >"$work/plugin/plugin.c" <<'END'
#include <hewn/hewn.h>
hewn_status plugin(const hewn_operator_desc *desc, hewn_operator **op) {
    return hewn_compile(NULL, desc, NULL, op, NULL);
}
END
{ "$cmake" -S "$work/plugin" -B "$work/plugin/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" &&
    "$cmake" --build "$work/plugin/build"; } \
    >"$work/plugin.log" 2>&1 || fail "a plugin does not build: $(tail -20 "$work/plugin.log")"
exported=$(nm -D --defined-only "$work/plugin/build/libplugin.so" | awk '{ print $3 }')
[[ $exported == plugin ]] ||
    fail "a plugin exports also: $(grep -v -x plugin <<<"$exported" | head -5)"
echo "passed: what a shared library with hewn_static exports"

# ---- hewn_link_kernels: a program links the kernels that it names, and gets a message for others.
mkdir "$work/few"
cat >"$work/few/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(few LANGUAGES ${LANGUAGE})
find_package(hewn CONFIG REQUIRED)
set(tests ${HEWN_SOURCE}/tests/packages)
# Whatever the project asks for, the program's table compiles.
set(CMAKE_CXX_STANDARD 11)
set(CMAKE_C_STANDARD 90)
set(CMAKE_UNITY_BUILD ON)
add_compile_options(-Wall -Wextra -Wpedantic -Werror)
set_source_files_properties(${tests}/package/linked.c ${tests}/one_kernel.c
    PROPERTIES LANGUAGE ${LANGUAGE} COMPILE_OPTIONS "-w;${STANDARD}")
add_library(part STATIC ${tests}/package/linked.c)
target_link_libraries(part PRIVATE hewn::hewn_static)
add_executable(linked ${tests}/package/linked.c)
hewn_link_kernels(linked quantize_linear_f32_u8)
add_executable(one_kernel ${tests}/one_kernel.c)
hewn_link_kernels(one_kernel quantize_linear_f32_u8 TARGETS cpu)
add_library(plugin SHARED ${tests}/package/linked.c)
hewn_link_kernels(plugin quantize_linear_f32_u8)
add_executable(several ${tests}/package/linked.c)
hewn_link_kernels(several add quantize_linear_f32_u8 TARGETS ${SEVERAL})
add_executable(more EXCLUDE_FROM_ALL ${tests}/package/linked.c)
add_subdirectory(below EXCLUDE_FROM_ALL)
file(WRITE ${CMAKE_BINARY_DIR}/call.cmake "${CALL}")
include(${CMAKE_BINARY_DIR}/call.cmake)
END
mkdir "$work/few/below"
cat >"$work/few/below/CMakeLists.txt" <<'END'
set_source_files_properties(${tests}/package/linked.c PROPERTIES LANGUAGE ${LANGUAGE})
add_executable(below ${tests}/package/linked.c)
END
# few LANGUAGE CALL: configures the project, with one more call.
few() {
    "$cmake" -S "$work/few" -B "$work/few/$1" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
        -DHEWN_SOURCE="$source" -DLANGUAGE="$1" -DSEVERAL="$several" -DCALL="$2" \
        -DSTANDARD="$([[ $1 == C ]] && echo -std=gnu11 || echo -std=gnu++17)" \
        -DCMAKE_BUILD_TYPE=Release >"$work/few.log" 2>&1
}
targets_of() {
    sed -nE "s/^$1\(([a-z0-9_]+),.*/\1/p" "$prefix/$lib/cmake/hewn/table/lists/targets.inc"
}
cpu=$(targets_of HEWN_TARGET) lowest=$(targets_of HEWN_TARGET | head -1)
several=$lowest
if [[ $(targets_of HEWN_GPU_TARGET) ]]; then several="$lowest;gpu"; fi
for language in C CXX; do
    { few $language "" && "$cmake" --build "$work/few/$language" >>"$work/few.log"; } ||
        fail "hewn_link_kernels in $language: $(tail -20 "$work/few.log")"
    for program in linked several; do
        "$work/few/$language/$program" >"$work/$program.txt" || fail "$program: exit status $?"
    done
    if grep '^variant' "$work/linked.txt" | grep -v '^variant quantize_linear_f32_u8__'; then
        fail "linked has the variants above too"
    fi
    [[ $(sed -n 's/^variant .*__//p' "$work/linked.txt") == \
        "$(sed -n 's/^target //p' "$work/linked.txt")" ]] ||
        fail "the targets are not those of the variants: $(<"$work/linked.txt")"
    grep -qx "target $lowest" "$work/linked.txt" || fail "linked lacks $lowest"
    left_out='this program links no kernel add_f32 for the CPU: see hewn_link_kernels(linked)'
    grep -q "^add [1-9][0-9]* $left_out" "$work/linked.txt" ||
        fail "the kernel that was left out is not named: $(<"$work/linked.txt")"
    grep -q '^opencl .*no kernels for GPUs.*hewn_link_kernels(linked)' "$work/linked.txt" ||
        fail "GPUs are not told to be left out: $(<"$work/linked.txt")"
    grep -q '^add 0' "$work/several.txt" || fail "several: $(<"$work/several.txt")"
    if grep '^target' "$work/several.txt" | grep -vx "target $lowest" | grep -xFf <(
        sed 's/^/target /' <<<"$cpu"); then
        fail "several has the target above of the CPU too"
    fi
    if [[ $several == *gpu ]] && ! grep -q '^variant add_.*__opencl$' "$work/several.txt"; then
        fail "several has no kernel for OpenCL: $(<"$work/several.txt")"
    fi
    "$work/few/$language/one_kernel" >"$work/one_kernel.txt" ||
        fail "one_kernel: $(<"$work/one_kernel.txt")"
done
exported=$(nm -D --defined-only "$work/few/C/libplugin.so" | awk '{ print $3 }')
[[ $exported == main ]] || fail "a plugin exports also: $(grep -v -x main <<<"$exported" | head -5)"
# The kernels of three CPU targets, and all else that a program needs.
if [[ $CFLAGS != *-fsanitize* ]]; then
    strip -o "$work/stripped" "$work/few/C/linked"
    bytes=$(stat -c %s "$work/stripped")
    ((bytes < 350000)) || fail "a program of one kernel has $bytes bytes"
    if nm "$work/few/C/linked" | grep -E 'hewnk_(add|stage)|cuDeviceGet|clCreate'; then
        fail "a program of one kernel has the above too"
    fi
    echo "passed: hewn_link_kernels; a program of one kernel has $bytes bytes"
fi

few_refused() {  # MESSAGE CALL
    if few C "$2"; then fail "$2: is not refused"; fi
    tr -s '[:space:]' ' ' <"$work/few.log" | grep -qF "$1" || fail "$2: $(<"$work/few.log")"
}
few_refused "hewn_link_kernels(part): part is a STATIC_LIBRARY, which is not linked" \
    "hewn_link_kernels(part add_f32)"
few_refused "hewn_link_kernels(linked): called twice" "hewn_link_kernels(linked add_f32)"
few_refused "hewn_link_kernels(nothing): there is no target nothing" \
    "hewn_link_kernels(nothing add)"
few_refused "hewn_link_kernels(below): below was made in $work/few/below: call this there" \
    "hewn_link_kernels(below add)"
few_refused "'add_f64' is not an operator or kernel of this hewn; kernels: add_" \
    "hewn_link_kernels(more add_f64)"
few_refused "hewn_link_kernels(more): names no kernel" "hewn_link_kernels(more)"
few_refused "TARGETS: 'x87' is not cpu, gpu or one of the targets of this hewn: $lowest" \
    "hewn_link_kernels(more add TARGETS x87)"
echo "passed: what hewn_link_kernels refuses"

# ---- A distribution may leave one library out. The other one is found, and a message says so if
# the missing one is asked for.
components() {  # WANTED EXPECTED
    "$cmake" -S "$work/components" -B "$work/components/build" -G Ninja --fresh \
        -DCMAKE_PREFIX_PATH="$work/one" -DWANTED="$1" -DEXPECTED="$2" \
        -DLINKED="hewn::hewn$([[ $without == static ]] || echo _static)" \
        >"$work/components.log" 2>&1 ||
        fail "with $without left out: $(tail -3 "$work/components.log")"
}
mkdir "$work/components"
cat >"$work/components/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(components LANGUAGES CXX)
find_package(hewn CONFIG QUIET COMPONENTS ${WANTED})
if(NOT "${hewn_FOUND}" STREQUAL EXPECTED)
    message(FATAL_ERROR "hewn ${WANTED}: found is ${hewn_FOUND}, not ${EXPECTED}")
endif()
if(hewn_FOUND)  # whichever library there is
    file(WRITE ${CMAKE_BINARY_DIR}/main.cpp "int main() {}")
    add_executable(app ${CMAKE_BINARY_DIR}/main.cpp)
    hewn_link_kernels(app add)
    get_target_property(linked app LINK_LIBRARIES)
    if(NOT linked STREQUAL LINKED)
        message(FATAL_ERROR "hewn_link_kernels links ${linked}, not ${LINKED}")
    endif()
endif()
END
for without in static shared; do
    cp -a "$prefix" "$work/one"
    rm "$work/one/$lib/cmake/hewn/hewn-$without-targets"*
    rm "$work/one/$lib/"$([[ $without == static ]] && echo "*.a" || echo "*.so*")
    components "" 1
    components $without 0
    rm -r "$work/one"
done
echo "passed: one library without the other"

# ---- Versions: only those of the same minor version are compatible, and none that is newer.
mkdir "$work/version"
cat >"$work/version/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(version LANGUAGES C)
find_package(hewn ${WANTED} CONFIG QUIET)
if(NOT "${hewn_FOUND}" STREQUAL EXPECTED)
    message(FATAL_ERROR "hewn ${WANTED}: found is ${hewn_FOUND}, not ${EXPECTED}")
endif()
END
major=${minor%.*} next=$((${minor#*.} + 1))
for wanted in "$minor:1" "$version:1" "$minor.99:0" "$major.$next:0" "$((major + 1)).0:0"; do
    "$cmake" -S "$work/version" -B "$work/version/$wanted" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
        -DWANTED="${wanted%:*}" \
        -DEXPECTED="${wanted#*:}" >"$work/version.log" 2>&1 || fail "$(tail -3 "$work/version.log")"
done
echo "passed: versions"

# ---- pkg-config.
export PKG_CONFIG_PATH=$prefix/$lib/pkgconfig
[[ $(pkg-config --modversion hewn) == "$version" ]] ||
    fail "pkg-config --modversion: $(pkg-config --modversion hewn)"
# shellcheck disable=SC2046,SC2086  # flags are words
$CC $CFLAGS "$source/examples/c_quantize/main.c" $(pkg-config --cflags --libs hewn) \
    -o "$work/with_pkg_config" ||
    fail "does not build with pkg-config's $(pkg-config --cflags --libs hewn)"
LD_LIBRARY_PATH=$prefix/$lib expect "pkg-config, shared" "$quantize" "$work/with_pkg_config"
if [[ $CFLAGS != *-fsanitize* ]]; then
    # shellcheck disable=SC2046,SC2086
    $CC $CFLAGS -static "$source/examples/c_quantize/main.c" $(pkg-config --static --cflags \
        --libs hewn) -o "$work/all_static" ||
        fail "does not build with pkg-config's $(pkg-config --static --cflags --libs hewn)"
    expect "pkg-config, everything static" "$quantize" "$work/all_static"
fi
