# packages: llvm
# wheels: ziglang==0.15.2
# package: cpu
# Windows on ARM64, with MinGW's libraries.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR ARM64)
set(HEWN_ZIG_TARGET aarch64-windows-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
find_program(CMAKE_RC_COMPILER REQUIRED
    NAMES llvm-windres llvm-windres-19 llvm-windres-18 llvm-windres-15 llvm-windres-14)
set(CMAKE_RC_FLAGS_INIT --target=aarch64-w64-mingw32)
# Symbols are stripped, so that no PDB is written: its number would make two links of the same
# objects differ.
set(CMAKE_SHARED_LINKER_FLAGS_INIT -s)
set(CMAKE_MODULE_LINKER_FLAGS_INIT -s)
