# packages: clang lld llvm
# wheels: ziglang==0.15.2
# package: cpu
# macOS on Intel's chips.
set(CMAKE_SYSTEM_PROCESSOR x86_64)
include(${CMAKE_CURRENT_LIST_DIR}/macos.cmake)
