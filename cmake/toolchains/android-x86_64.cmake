# packages: llvm
# wheels: ziglang==0.15.2
# package: cpu
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_ANDROID_ARCH_ABI x86_64)
set(HEWN_ZIG_TARGET x86_64-linux-musl)
include(${CMAKE_CURRENT_LIST_DIR}/android.cmake)
