# Tests of which kernels a build has and a machine can run, and of the instructions that kernels are
# made of. forcing_test.cpp, which tests how a variant is chosen, is a part of hewn_tests.

# ---- Instructions that a target may not have ----

# GNU's assembler can be told which instructions exist, and then refuses all others.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set(marches)
    foreach(target IN LISTS HEWN_BUILT_TARGETS)
        if(HEWN_TARGET_${target}_DEVICE)
            continue()
        elseif(HEWN_ARCH STREQUAL "x86-64")
            list(JOIN HEWN_TARGET_${target}_PROBE "+" probes)
            # The assembler spells these features differently.
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

if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    return()
endif()

if(HEWN_ARCH STREQUAL "x86-64")
    hewn_add_test(hot_loops posix COMMAND ${CMAKE_CURRENT_LIST_DIR}/hot_loops_test.sh
        ${CMAKE_NM} ${CMAKE_OBJDUMP} ${HEWN_GENERATED_DIR}/shipped/objects.txt
        $<FILTER:$<TARGET_OBJECTS:hewn_shipped_runtime>,INCLUDE,/boxes[.]>)
endif()

# ---- What only ARM has ----

if(HEWN_ARCH STREQUAL "arm-64")
    # The kernels of a target must have less than 500,000 bytes in all.
    foreach(target IN LISTS HEWN_BUILT_TARGETS)
        hewn_add_test(code_size.${target} main COMMAND awk
            "/__${target}$/ { sum += $1 } \
END { print sum \" bytes of kernels\"; exit !(sum > 0 && sum < 500000) }"
            ${PROJECT_BINARY_DIR}/code-size.txt)
    endforeach()
endif()

# ---- Valgrind, a CPU that raises no floating-point flags ----

if(native_linux AND NOT HEWN_SANITIZED AND HEWN_ARCH STREQUAL "x86-64")
    # Such a flag tells QUANTIZE_LINEAR where to divide. Here it must do without. Valgrind knows
    # AVX2, but not AVX-512.
    hewn_find_tool(HEWN_VALGRIND valgrind)
    hewn_add_test(valgrind posix COMMAND ${HEWN_VALGRIND} --quiet $<TARGET_FILE:hewn_tests>
        --gtest_brief=1 --gtest_filter=FpMode.InvalidOperations)
endif()

# ---- Emulated CPUs ----

if(NOT HEWN_SANITIZED)
    add_executable(hewn_probe dispatch/probe.cpp)
    hewn_test_options(hewn_probe)
    target_link_libraries(hewn_probe PRIVATE hewn_variants hewn::hewn_static)
    set(features)
    if(HEWN_ARCH STREQUAL "x86-64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        add_executable(hewn_x86_features_test dispatch/x86_features_test.cpp)
        hewn_test_options(hewn_x86_features_test)
        target_link_libraries(hewn_x86_features_test PRIVATE hewn::hewn_static)
        hewn_add_test(x86_features posix COMMAND hewn_x86_features_test)
        set(features $<TARGET_FILE:hewn_x86_features_test>)
    endif()
    # PoCL is hidden, because it compiles for this machine's CPU and not for the emulated one.
    hewn_add_test(qemu posix COMMAND ${CMAKE_CURRENT_LIST_DIR}/qemu_test.sh
        $<TARGET_FILE:hewn_probe> $<TARGET_FILE:hewn_tests> $<TARGET_FILE:hewn_plan_tests>
        ${HEWN_ARCH} ${features}
        PROPERTIES SKIP_RETURN_CODE 77 COST 50 ENVIRONMENT "OCL_ICD_VENDORS=/nowhere")
endif()

# ---- What a build has ----

if(native_linux)
    # Tests what HEWN_OPERATORS, HEWN_SIGNATURES and HEWN_TARGETS choose. It only configures builds.
    hewn_add_test(options posix COMMAND ${CMAKE_CURRENT_LIST_DIR}/options_test.sh
        ${CMAKE_COMMAND} ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/options
        ${CMAKE_CXX_COMPILER} ${HEWN_HALIDE_INCLUDE_DIR} ${CMAKE_GENERATOR} ${CMAKE_MAKE_PROGRAM}
        PROPERTIES COST 40)
endif()
