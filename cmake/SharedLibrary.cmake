# The target hewn, the shared library.
hewn_add_library(hewn SHARED shipped)
if(CMAKE_SYSTEM_NAME STREQUAL "iOS")  # programs link the static library there
    set_target_properties(hewn PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
if(HEWN_OBJECT_FORMAT STREQUAL "ELF")
    # CMake names C++'s libraries to the linker, as the sources are C++. Not all compilers leave out
    # libraries that nothing needs by themselves.
    target_link_libraries(hewn PRIVATE -Wl,--as-needed)
    # Symbol servers and debuginfod find the debug symbols by the build id.
    target_link_options(hewn PRIVATE -Wl,--gc-sections -Wl,--build-id=sha1
        -Wl,--version-script=${PROJECT_SOURCE_DIR}/runtime/hewn.map)
    # Segments must fit pages of 16 KiB, which Android has. Linkers for Linux on ARM align to 64 KiB
    # by themselves, because servers there may have such pages.
    if(ANDROID OR HEWN_ARCH MATCHES "^x86-")
        target_link_options(hewn PRIVATE -Wl,-z,max-page-size=16384)
    endif()
    if(NOT HEWN_SANITIZED AND PROJECT_IS_TOP_LEVEL)  # a parent may ask for sanitizers in other ways
        target_link_options(hewn PRIVATE -Wl,-z,defs)
    endif()
    if(HEWN_BIONIC_STUB)
        include(cmake/BionicStub.cmake)
        add_dependencies(hewn hewn_bionic_stub)
        target_link_options(hewn PRIVATE -nostdlib $<TARGET_FILE:hewn_bionic_stub>)
    elseif(ANDROID)
        target_link_libraries(hewn PRIVATE log)
    endif()
    add_custom_command(TARGET hewn POST_BUILD
        COMMAND ${CMAKE_COMMAND} -DREADELF=${CMAKE_READELF} -DLIBRARY=$<TARGET_FILE:hewn>
            -P ${PROJECT_SOURCE_DIR}/cmake/CheckSegments.cmake
        VERBATIM)
elseif(HEWN_OBJECT_FORMAT STREQUAL "MACHO")
    target_link_options(hewn PRIVATE -Wl,-dead_strip -Wl,-exported_symbol,_hewn_*)
    # As CMake does by itself on a Mac. Elsewhere the name would have the folder of this build.
    set_target_properties(hewn PROPERTIES INSTALL_NAME_DIR @rpath BUILD_WITH_INSTALL_NAME_DIR ON)
endif()
# Before 1.0 a minor version may change the binary interface; from then on only a major one.
set(hewn_soversion ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION_MAJOR EQUAL 0)
    string(APPEND hewn_soversion .${PROJECT_VERSION_MINOR})
endif()
# It is linked as C, so that it cannot need a C++ runtime library.
set_target_properties(hewn PROPERTIES VERSION ${PROJECT_VERSION}
    SOVERSION ${hewn_soversion} LINKER_LANGUAGE C
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/runtime/hewn.map)
if(HEWN_OBJECT_FORMAT STREQUAL "COFF")
    include(${CMAKE_CURRENT_LIST_DIR}/WindowsLibrary.cmake)
endif()
add_library(hewn::hewn ALIAS hewn)
