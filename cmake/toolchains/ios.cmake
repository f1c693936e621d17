# The static library for iOS's HEWN_IOS_SDK, compiled by zig's clang. zig's headers of macOS are
# used instead of Apple's SDK, which no registry has. The toolchain files of the device and the
# simulator include this file.
set(CMAKE_SYSTEM_NAME iOS)
set(CMAKE_SYSTEM_PROCESSOR arm64)
include(${CMAKE_CURRENT_LIST_DIR}/zig.cmake)
cmake_path(GET zig PARENT_PATH zig_folder)
# CMake expects a folder with an SDK's name.
set(sdk ${CMAKE_CURRENT_BINARY_DIR}/${HEWN_IOS_SDK}.sdk)
file(MAKE_DIRECTORY ${sdk}/usr)
file(CREATE_LINK ${zig_folder}/lib/libc/include/any-macos-any ${sdk}/usr/include SYMBOLIC)
set(CMAKE_OSX_SYSROOT ${sdk})
foreach(language C CXX)
    string(APPEND CMAKE_${language}_FLAGS_INIT
        " -idirafter \"${zig_folder}/lib/libc/include/any-macos-any\"")
endforeach()
set(CMAKE_MACOSX_RPATH OFF)
