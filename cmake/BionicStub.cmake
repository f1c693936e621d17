# Builds hewn_bionic_stub, a stand-in for an NDK's libraries for Android: it exports the names in
# cmake/bionic.txt and does nothing. A library that links against it is proved to need no other
# names of the system, but cannot run.
message(NOTICE "No NDK (ANDROID_NDK_HOME): libhewn.so is linked against a stand-in for Android's "
    "libraries. It is for checks, not for devices.")
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/bionic.txt names REGEX "^[^#]")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/bionic.txt)
set(source "")
foreach(name IN LISTS names)
    string(APPEND source "void ${name}(void) {}\n")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/bionic/c.c CONTENT "${source}" @ONLY)
add_library(hewn_bionic_stub SHARED ${PROJECT_BINARY_DIR}/bionic/c.c)
target_compile_options(hewn_bionic_stub PRIVATE -fno-builtin -w)
target_link_options(hewn_bionic_stub PRIVATE -nostdlib)
set_target_properties(hewn_bionic_stub PROPERTIES OUTPUT_NAME c NO_SONAME OFF
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bionic)
