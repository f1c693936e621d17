# packages: llvm
# wheels: ziglang==0.15.2
# package: cpu
# wheel: musllinux_1_1_x86_64
# x86-64 Linux with musl 1.1.24 and newer.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(HEWN_ZIG_TARGET x86_64-linux-musl)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
