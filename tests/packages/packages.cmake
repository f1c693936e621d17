# Tests of the libraries in other people's programs, and of the packages that they come in.

if(native_linux)
    hewn_add_test(packaging posix COMMAND ${PROJECT_SOURCE_DIR}/packaging/python.sh
        ${CMAKE_CURRENT_LIST_DIR}/packaging_test.py PROPERTIES SKIP_RETURN_CODE 77)
    # Checks what is typed to install a package, in every document and script.
    hewn_add_test(install_commands posix COMMAND ${HEWN_PYTHON}
        ${CMAKE_CURRENT_LIST_DIR}/install_commands_test.py)
endif()

# ---- Windows' programs ----

if(WIN32 AND CMAKE_CROSSCOMPILING)
    set(test ${CMAKE_CURRENT_LIST_DIR}/windows_test.sh)
    set(programs $<TARGET_FILE:hewn> $<TARGET_FILE:hewn_tests>)
    if(TARGET hewn_cli)
        list(APPEND programs $<TARGET_FILE:hewn_cli>)
    endif()
    hewn_add_test(imports windows COMMAND ${test} imports ${CMAKE_OBJDUMP} ${programs})
    hewn_add_test(msvc windows COMMAND ${test} msvc ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}
        ${CMAKE_CURRENT_BINARY_DIR}/msvc
        PROPERTIES SKIP_RETURN_CODE 77)
endif()

# ---- Other builds ----

if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND PROJECT_BINARY_DIR STREQUAL "${PROJECT_SOURCE_DIR}/build")
    # The tests of builds for other systems that scripts/cross.sh has made: qemu.*, wine.*
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES
        ${CMAKE_CURRENT_LIST_DIR}/cross_tests.cmake)
endif()
if(NOT CMAKE_CROSSCOMPILING)
    add_subdirectory(packages/package package)
endif()

if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    return()
endif()

if(native_linux)
    hewn_add_test(wine_skipped posix COMMAND ${CMAKE_CURRENT_LIST_DIR}/wine_skipped_test.sh
        ${CMAKE_CTEST_COMMAND} ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/wine_skipped)
endif()

# ---- The library in a program ----

if(native_linux AND HEWN_ARCH STREQUAL "x86-64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT HEWN_SANITIZED)
    hewn_add_test(one_kernel posix COMMAND ${CMAKE_CURRENT_LIST_DIR}/one_kernel_test.sh
        ${CMAKE_COMMAND} ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/one_kernel
        ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER} ${HEWN_HALIDE_INCLUDE_DIR} ${CMAKE_GENERATOR}
        ${CMAKE_MAKE_PROGRAM} $<TARGET_FILE:hewn_generators> ${HEWN_SIZE_TOOL} ${CMAKE_NM}
        PROPERTIES PROCESSORS 2 COST 30)
endif()

hewn_add_test(symbols posix quick COMMAND ${CMAKE_CURRENT_LIST_DIR}/symbols_test.sh
    ${CMAKE_NM} ${CMAKE_READELF} $<TARGET_FILE:hewn_static> $<TARGET_FILE:hewn>)
if(HEWN_SANITIZED)  # a sanitizer adds its own symbols
    set_tests_properties(symbols PROPERTIES DISABLED ON)
endif()
if(native_linux)
    hewn_add_test(abi posix COMMAND ${CMAKE_CURRENT_LIST_DIR}/abi_test.sh ${PROJECT_SOURCE_DIR}
        $<TARGET_FILE:hewn> ${CMAKE_NM} ${CMAKE_CXX_COMPILER} ${CMAKE_CURRENT_BINARY_DIR}/abi
        PROPERTIES SKIP_RETURN_CODE 77)
endif()

add_executable(hewn_dlopen_tests packages/dlopen_test.cpp)
hewn_test_options(hewn_dlopen_tests)
target_precompile_headers(hewn_dlopen_tests REUSE_FROM hewn_test_headers)
target_include_directories(hewn_dlopen_tests PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(hewn_dlopen_tests PRIVATE HEWN_LIBRARY="$<TARGET_FILE:hewn>")
target_link_libraries(hewn_dlopen_tests PRIVATE GTest::gtest_main ${CMAKE_DL_LIBS})
add_dependencies(hewn_dlopen_tests hewn)
hewn_add_test(dlopen posix COMMAND hewn_dlopen_tests)

# A program with a Halide of its own: a kernel with a complete runtime, next to each of hewn's
# libraries.
set(app_dir ${CMAKE_CURRENT_BINARY_DIR}/own_halide)
file(MAKE_DIRECTORY ${app_dir})
add_custom_command(OUTPUT ${app_dir}/app_add.o ${app_dir}/app_add.h
    COMMAND hewn_generators -g add_general -f app_add -o ${app_dir} -e object,c_header
            target=${HEWN_ARCH}-${HEWN_OS} signature=f32 layouts=11
    DEPENDS hewn_generators VERBATIM COMMENT "A kernel with a Halide runtime of its own")
add_custom_target(hewn_own_halide_kernel DEPENDS ${app_dir}/app_add.o)  # made once, also by make
foreach(library hewn_static hewn)
    set(name hewn_own_halide_tests_${library})
    add_executable(${name} packages/own_halide_test.cpp ${app_dir}/app_add.o ${app_dir}/app_add.h)
    add_dependencies(${name} hewn_own_halide_kernel)
    hewn_test_options(${name})
    target_precompile_headers(${name} REUSE_FROM hewn_test_headers)
    target_include_directories(${name} SYSTEM PRIVATE ${app_dir} ${HEWN_HALIDE_INCLUDE_DIR})
    target_link_libraries(${name} PRIVATE hewn::${library} GTest::gtest_main Threads::Threads
        ${CMAKE_DL_LIBS})
    hewn_add_test(own_halide.${library} posix COMMAND ${name})
endforeach()
