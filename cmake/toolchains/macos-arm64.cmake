# packages: clang lld llvm
# wheels: ziglang==0.15.2
# macOS 11 and newer on Apple's own chips. What is C, and the link of the libraries, is clang's and
# lld's: zig's own linker cannot hide symbols.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR arm64)
set(HEWN_ZIG_TARGET aarch64-macos.11.0)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
cmake_path(GET zig PARENT_PATH zig_folder)
set(CMAKE_C_COMPILER clang --target=arm64-apple-macos11.0 -isystem ${zig_folder}/lib/libc/include/any-macos-any)
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-fuse-ld=lld -nostdlib -L${zig_folder}/lib/libc/darwin -lSystem")
