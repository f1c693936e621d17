# Runs a port as vcpkg would, with stand-ins for the functions of vcpkg that the port calls:
#     cmake -DPORT=<folder> -DDIST=<folder> -DWORK=<folder> -DLINKAGE=static|dynamic -P vcpkg.cmake
# The triplet is x64-linux.
set(VCPKG_CMAKE_SYSTEM_NAME Linux)
set(VCPKG_TARGET_ARCHITECTURE x64)
set(VCPKG_TARGET_IS_LINUX ON)
set(VCPKG_LIBRARY_LINKAGE ${LINKAGE})
set(CURRENT_PACKAGES_DIR ${WORK}/package)
file(READ ${PORT}/vcpkg.json manifest)
string(JSON PORT_NAME GET ${manifest} name)
string(JSON VERSION GET ${manifest} version)

function(vcpkg_download_distfile variable)
    cmake_parse_arguments(PARSE_ARGV 1 file "" "URLS;FILENAME;SHA512" "")
    file(SHA512 ${DIST}/${file_FILENAME} hash)
    if(NOT hash STREQUAL file_SHA512 OR NOT file_URLS MATCHES "/v${VERSION}/${file_FILENAME}$")
        message(FATAL_ERROR "${file_URLS} has another hash or name than ${DIST}/${file_FILENAME}")
    endif()
    set(${variable} ${DIST}/${file_FILENAME} PARENT_SCOPE)
endfunction()

function(vcpkg_extract_source_archive variable)
    cmake_parse_arguments(PARSE_ARGV 1 source "" "ARCHIVE" "")
    file(ARCHIVE_EXTRACT INPUT ${source_ARCHIVE} DESTINATION ${WORK}/source)
    file(GLOB top ${WORK}/source/*)
    set(${variable} ${top} PARENT_SCOPE)
endfunction()

# vcpkg moves the package's CMake files and rewrites their paths. Here they stay where they are.
function(vcpkg_cmake_config_fixup)
    cmake_parse_arguments(PARSE_ARGV 0 config "" "CONFIG_PATH;PACKAGE_NAME" "")
    set(name ${config_PACKAGE_NAME}Config.cmake)  # the port's name is not CMake's
    if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/${config_CONFIG_PATH}/${name})
        message(FATAL_ERROR "there is no ${name} in ${config_CONFIG_PATH}")
    endif()
endfunction()

function(vcpkg_fixup_pkgconfig)
endfunction()

function(vcpkg_install_copyright)
    cmake_parse_arguments(PARSE_ARGV 0 notice "" "" "FILE_LIST")
    file(COPY ${notice_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT})
endfunction()

set(portfile ${PORT}/portfile.cmake)
set(PORT ${PORT_NAME})
include(${portfile})
