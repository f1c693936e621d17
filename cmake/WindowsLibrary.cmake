# Builds the target hewn as hewn.dll. The import library hewn.lib, which Microsoft's, LLVM's and
# GNU's linkers take, is made from a .def file, and that from the header.
set(header ${PROJECT_SOURCE_DIR}/include/hewn/hewn.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
file(STRINGS ${header} exports REGEX "^HEWN_API .*HEWN_CALL hewn_")
list(TRANSFORM exports REPLACE "^.*HEWN_CALL (hewn_[a-z0-9_]+)\\(.*$" "    \\1")
list(JOIN exports "\n" exports)
set(definition ${PROJECT_BINARY_DIR}/hewn.def)
file(CONFIGURE OUTPUT ${definition} CONTENT "LIBRARY hewn.dll\nEXPORTS\n${exports}\n" @ONLY)

set_target_properties(hewn PROPERTIES PREFIX "" IMPORT_PREFIX "" IMPORT_SUFFIX .lib
    VERSION "" SOVERSION "")
enable_language(RC)
configure_file(${CMAKE_CURRENT_LIST_DIR}/hewn.rc.in ${PROJECT_BINARY_DIR}/hewn.rc @ONLY)
target_sources(hewn PRIVATE ${PROJECT_BINARY_DIR}/hewn.rc)
# GNU's linker makes an import library too, but in a form that Microsoft's linker does not always
# read.
find_program(HEWN_DLLTOOL
    NAMES llvm-dlltool llvm-dlltool-19 llvm-dlltool-18 llvm-dlltool-15 llvm-dlltool-14 REQUIRED
    DOC "LLVM's dlltool, for the import library")
set(machine_of_x86-64 i386:x86-64)
set(machine_of_arm-64 arm64)
add_custom_command(TARGET hewn POST_BUILD
    COMMAND ${HEWN_DLLTOOL} -m ${machine_of_${HEWN_ARCH}} -d ${definition}
        -l $<TARGET_LINKER_FILE:hewn> VERBATIM)
