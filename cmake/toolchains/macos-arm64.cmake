# packages: clang lld llvm
# wheels: ziglang==0.15.2
# package: cpu
# wheel: macosx_11_0_arm64
# macOS on Apple's own chips.
set(CMAKE_SYSTEM_PROCESSOR arm64)
include(${CMAKE_CURRENT_LIST_DIR}/macos.cmake)
