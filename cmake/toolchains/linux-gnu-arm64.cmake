# packages: llvm
# wheels: ziglang==0.15.2
# package: cpu;gpu cpu=cpu
# wheel: manylinux_2_17_aarch64
# ARM64 Linux with glibc 2.17 and newer, which is what manylinux_2_17 asks of a wheel.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(HEWN_ZIG_TARGET aarch64-linux-gnu.2.17)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
