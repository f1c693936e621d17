# macOS 11 and newer on CMAKE_SYSTEM_PROCESSOR. The toolchain files of the architectures include
# this file. clang compiles C and lld links the libraries, because zig's own linker cannot hide
# symbols.
set(CMAKE_SYSTEM_NAME Darwin)
set(HEWN_APPLE_PLATFORM macos 11.0)
set(zig_arch ${CMAKE_SYSTEM_PROCESSOR})
if(zig_arch STREQUAL "arm64")
    set(zig_arch aarch64)
endif()
set(HEWN_ZIG_TARGET ${zig_arch}-macos.11.0)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
cmake_path(GET zig PARENT_PATH zig_folder)
set(CMAKE_C_COMPILER clang --target=${CMAKE_SYSTEM_PROCESSOR}-apple-macos11.0)
string(APPEND CMAKE_C_FLAGS_INIT " -isystem \"${zig_folder}/lib/libc/include/any-macos-any\"")
set(CMAKE_SHARED_LINKER_FLAGS_INIT
    "-fuse-ld=lld -nostdlib -L\"${zig_folder}/lib/libc/darwin\" -lSystem")
