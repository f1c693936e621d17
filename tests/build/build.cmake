# What is built, and how.

# ---- Instructions that a target may not have ----

# GNU's assembler can be told which instructions exist.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set(marches)
    foreach(target IN LISTS HEWN_BUILT_TARGETS)
        if(HEWN_TARGET_${target}_DEVICE)
            continue()
        elseif(HEWN_ARCH STREQUAL "x86-64")
            list(JOIN HEWN_TARGET_${target}_PROBE "+" probes)
            # As the assembler spells it.
            string(REGEX REPLACE "avx512(vnni|fp16)" "avx512_\\1" probes ${probes})
            set(march -Wa,-march=generic64+${probes})
        elseif(HEWN_TARGET_${target}_MARCH)
            set(march -march=${HEWN_TARGET_${target}_MARCH})
        else()
            message(FATAL_ERROR "lists/targets.py: ${target} has no march")
        endif()
        list(APPEND marches ${target}=${march})
    endforeach()
    if(marches)
        hewn_add_test(leak.${HEWN_ARCH} main COMMAND ${CMAKE_CURRENT_LIST_DIR}/leak_test.sh
            ${CMAKE_C_COMPILER} ${CMAKE_OBJDUMP} ${HEWN_GENERATED_DIR}/shipped/objects.txt
            ${marches})
    endif()
endif()

# ---- The sources ----

if(native_linux)
    hewn_add_test(rooms posix COMMAND ${HEWN_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/rooms_test.py
        ${PROJECT_SOURCE_DIR})
    hewn_add_test(web_format posix COMMAND ${HEWN_PYTHON}
        ${CMAKE_CURRENT_LIST_DIR}/web_format_test.py ${PROJECT_SOURCE_DIR} ${CMAKE_C_COMPILER}
        ${CMAKE_CURRENT_BINARY_DIR}/web_format)
    hewn_add_test(lists posix COMMAND ${HEWN_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/lists_test.py)
    hewn_add_test(operators_doc posix
        COMMAND ${HEWN_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/operators_doc_test.py
        ${HEWN_GENERATED_DIR}/operators.json)
    hewn_add_test(docs posix COMMAND ${HEWN_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/docs_test.py
        ${PROJECT_BINARY_DIR})
    include(${CMAKE_CURRENT_LIST_DIR}/blocks.cmake)
    include(${CMAKE_CURRENT_LIST_DIR}/packaging.cmake)
    include(${CMAKE_CURRENT_LIST_DIR}/python.cmake)
endif()

# ---- The project's habits: version, lint, reference, reports ----

include(build/habits.cmake)

# ---- What only ARM has ----

if(HEWN_ARCH STREQUAL "arm-64" AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    # The size of all kernels of a target.
    foreach(target IN LISTS HEWN_BUILT_TARGETS)
        hewn_add_test(code_size.${target} main COMMAND awk
            "/__${target}$/ { sum += $1 } \
END { print sum \" bytes of kernels\"; exit !(sum > 0 && sum < 400000) }"
            ${PROJECT_BINARY_DIR}/code-size.txt)
    endforeach()
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
    # The tests of the builds for other systems that scripts/cross.sh has made: qemu.*, wine.*
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES
        ${CMAKE_CURRENT_LIST_DIR}/cross_tests.cmake)
endif()
if(NOT CMAKE_CROSSCOMPILING)
    add_subdirectory(build/package package)
endif()

if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    return()
endif()

# ---- The build itself ----

if(NOT CMAKE_CROSSCOMPILING)
    hewn_add_test(wine_skipped posix COMMAND ${CMAKE_CURRENT_LIST_DIR}/wine_skipped_test.sh
        ${CMAKE_CTEST_COMMAND} ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/wine_skipped)
    hewn_add_test(test_sh posix COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_sh_test.sh
        ${CMAKE_CTEST_COMMAND} ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/test_sh
        ${PROJECT_BINARY_DIR})
    if(NOT HEWN_SANITIZED)  # Halide never frees what it makes
        hewn_add_test(signatures posix COMMAND ${CMAKE_CURRENT_LIST_DIR}/signatures_test.sh
            $<TARGET_FILE:hewn_generators> ${PROJECT_SOURCE_DIR}
            ${CMAKE_CURRENT_BINARY_DIR}/signatures)
        if(TARGET hewn_halide)  # the generators are built here
            add_executable(hewn_helper_types_tests build/helper_types_test.cpp)
            target_link_libraries(hewn_helper_types_tests PRIVATE hewn_halide)
            hewn_add_test(helper_types posix COMMAND hewn_helper_types_tests)
        endif()
    endif()
    # What HEWN_OPERATORS, HEWN_SIGNATURES and HEWN_TARGETS choose; configures only.
    hewn_add_test(options posix COMMAND ${CMAKE_CURRENT_LIST_DIR}/options_test.sh
        ${CMAKE_COMMAND} ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/options
        ${CMAKE_CXX_COMPILER} ${HEWN_HALIDE_INCLUDE_DIR} ${CMAKE_GENERATOR} ${CMAKE_MAKE_PROGRAM}
        PROPERTIES COST 40)
    if(HEWN_ARCH STREQUAL "x86-64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT HEWN_SANITIZED)
        hewn_add_test(one_kernel posix COMMAND ${CMAKE_CURRENT_LIST_DIR}/one_kernel_test.sh
            ${CMAKE_COMMAND} ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/one_kernel
            ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER} ${HEWN_HALIDE_INCLUDE_DIR} ${CMAKE_GENERATOR}
            ${CMAKE_MAKE_PROGRAM} $<TARGET_FILE:hewn_generators> ${HEWN_SIZE_TOOL} ${CMAKE_NM}
            PROPERTIES PROCESSORS 2 COST 30)
    endif()
endif()

# ---- The library in a program ----

hewn_add_test(symbols posix quick COMMAND ${CMAKE_CURRENT_LIST_DIR}/symbols_test.sh
    ${CMAKE_NM} ${CMAKE_READELF} $<TARGET_FILE:hewn_static> $<TARGET_FILE:hewn>)
if(HEWN_SANITIZED)  # a sanitizer adds symbols of its own
    set_tests_properties(symbols PROPERTIES DISABLED ON)
endif()
if(native_linux)
    hewn_add_test(abi posix COMMAND ${CMAKE_CURRENT_LIST_DIR}/abi_test.sh ${PROJECT_SOURCE_DIR}
        $<TARGET_FILE:hewn> ${CMAKE_NM} ${CMAKE_CXX_COMPILER} ${CMAKE_CURRENT_BINARY_DIR}/abi
        PROPERTIES SKIP_RETURN_CODE 77)
endif()

if(HEWN_ARCH STREQUAL "x86-64")
    hewn_add_test(hot_loops posix COMMAND ${CMAKE_CURRENT_LIST_DIR}/hot_loops_test.sh
        ${CMAKE_NM} ${CMAKE_OBJDUMP} ${HEWN_GENERATED_DIR}/shipped/objects.txt
        $<FILTER:$<TARGET_OBJECTS:hewn_shipped_runtime>,INCLUDE,/boxes[.]>)
endif()

# A program with a Halide of its own: a kernel with a complete runtime, beside each of the
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
    add_executable(${name} build/own_halide_test.cpp ${app_dir}/app_add.o ${app_dir}/app_add.h)
    add_dependencies(${name} hewn_own_halide_kernel)
    hewn_test_options(${name})
    target_precompile_headers(${name} REUSE_FROM hewn_test_headers)
    target_include_directories(${name} SYSTEM PRIVATE ${app_dir} ${HEWN_HALIDE_INCLUDE_DIR})
    target_link_libraries(${name} PRIVATE hewn::${library} GTest::gtest_main Threads::Threads
        ${CMAKE_DL_LIBS})
    hewn_add_test(own_halide.${library} posix COMMAND ${name})
endforeach()

# ---- Emulated CPUs ----

if(NOT HEWN_SANITIZED)
    add_executable(hewn_probe build/probe.cpp)
    hewn_test_options(hewn_probe)
    target_link_libraries(hewn_probe PRIVATE hewn::hewn_static)
    set(features)
    if(HEWN_ARCH STREQUAL "x86-64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        add_executable(hewn_x86_features_test build/x86_features_test.cpp)
        hewn_test_options(hewn_x86_features_test)
        target_link_libraries(hewn_x86_features_test PRIVATE hewn::hewn_static)
        hewn_add_test(x86_features posix COMMAND hewn_x86_features_test)
        set(features $<TARGET_FILE:hewn_x86_features_test>)
    endif()
    # Without PoCL, which compiles for this machine's CPU, not for the emulated one.
    hewn_add_test(qemu posix COMMAND ${CMAKE_CURRENT_LIST_DIR}/qemu_test.sh
        $<TARGET_FILE:hewn_probe> $<TARGET_FILE:hewn_tests> $<TARGET_FILE:hewn_plan_tests>
        ${HEWN_ARCH} ${features}
        PROPERTIES SKIP_RETURN_CODE 77 COST 50 ENVIRONMENT "OCL_ICD_VENDORS=/nowhere")
endif()
