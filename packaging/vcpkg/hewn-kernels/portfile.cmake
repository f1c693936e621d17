# Installs the release archive for the triplet's system. The port does not build from source,
# because vcpkg does not have the version of Halide that compiles the kernels.
include(${CMAKE_CURRENT_LIST_DIR}/archives.cmake)
set(system_of_Windows windows)
set(system_of_Darwin macos)
set(system_of_Android android)
set(system_of_Linux linux-gnu)
set(arch_of_x64 x86_64)
set(arch_of_arm64 arm64)
set(name ${VCPKG_CMAKE_SYSTEM_NAME})
if(NOT name)
    set(name Windows)  # vcpkg's triplets for Windows name no system
endif()
set(system ${system_of_${name}}-${arch_of_${VCPKG_TARGET_ARCHITECTURE}})
if(NOT archive_${system})
    message(FATAL_ERROR "hewn has no archive for ${system}")
endif()
vcpkg_download_distfile(archive URLS @DOWNLOADS@/${archive_${system}}
    FILENAME ${archive_${system}} SHA512 ${sha512_${system}})
vcpkg_extract_source_archive(source ARCHIVE ${archive})

file(COPY ${source}/include ${source}/lib DESTINATION ${CURRENT_PACKAGES_DIR})
if(VCPKG_TARGET_IS_WINDOWS)
    file(COPY ${source}/bin DESTINATION ${CURRENT_PACKAGES_DIR})
    file(GLOB unwanted ${CURRENT_PACKAGES_DIR}/bin/*.exe)
elseif(VCPKG_LIBRARY_LINKAGE STREQUAL "static")
    file(GLOB unwanted ${CURRENT_PACKAGES_DIR}/lib/*.so* ${CURRENT_PACKAGES_DIR}/lib/*.dylib
        ${CURRENT_PACKAGES_DIR}/lib/cmake/hewn/hewn-shared-targets*)
else()
    file(GLOB unwanted ${CURRENT_PACKAGES_DIR}/lib/*.a
        ${CURRENT_PACKAGES_DIR}/lib/cmake/hewn/hewn-static-targets*)
endif()
if(unwanted)
    file(REMOVE ${unwanted})
endif()
# The release build also serves Debug, because the library's interface is C.
set(VCPKG_BUILD_TYPE release)
set(VCPKG_POLICY_MISMATCHED_NUMBER_OF_BINARIES enabled)
vcpkg_cmake_config_fixup(PACKAGE_NAME hewn CONFIG_PATH lib/cmake/hewn)
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST ${source}/share/doc/hewn/LICENSE
    ${source}/share/doc/hewn/THIRD_PARTY.md)
file(INSTALL ${CMAKE_CURRENT_LIST_DIR}/usage DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT})
