# Tests of the command line: conformance, which runs cases of other projects, and verify. The
# entries of the other files in this folder are in tools/CMakeLists.txt.

if(TARGET hewn_cli)
    file(GLOB cases CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/../data/*.jsonl)
    hewn_add_test(conformance main quick EACH_CPU COMMAND hewn_cli conformance ${cases})
    set(no_gpu SKIP_REGULAR_EXPRESSION "cannot run here|${old_pocl}|\
error: (CUDA|OpenCL): (no (CUDA|OpenCL) driver|the driver has no device)")
    foreach(target IN LISTS HEWN_BUILT_TARGETS)
        set(device ${HEWN_TARGET_${target}_DEVICE})
        set(on)
        set(quick quick)
        if(device)
            set(quick)
            set(on --device ${device})
        endif()
        # Wine has no CUDA driver. It passes calls of OpenCL on to the system's driver.
        if(WIN32 AND device STREQUAL "cuda")
            continue()
        endif()
        hewn_add_test(conformance.${target} main ${quick} COMMAND hewn_cli conformance ${cases}
            --variant ${target} ${on} TARGET ${target} PROPERTIES ${no_gpu})
    endforeach()

    # A program with one wrong constant in one kernel, that of the first target that has it. In a
    # build for Windows the kernels are in the DLL: there, a wrong DLL with the tool next to it.
    # Emulated CPUs would take minutes to find the constant.
    set(planted)
    foreach(target IN LISTS HEWN_BUILT_TARGETS)
        set(device ${HEWN_TARGET_${target}_DEVICE})
        if(device OR HEWN_TEST_CPUS OR NOT "quantize_linear_f32_u8" IN_LIST HEWN_BUILT_SIGNATURES)
            continue()
        endif()
        set(wrong quantize_linear_f32_u8__${target})
        set(function hewnk_${wrong}__divide)
        if(WIN32)
            set(folder ${CMAKE_CURRENT_BINARY_DIR}/planted)
            hewn_add_library(hewn_planted SHARED shipped)
            set_target_properties(hewn_planted PROPERTIES PREFIX "" OUTPUT_NAME hewn
                RUNTIME_OUTPUT_DIRECTORY ${folder} ARCHIVE_OUTPUT_DIRECTORY ${folder})
            target_sources(hewn_planted PRIVATE tool/planted_kernel.cpp)
            add_custom_command(TARGET hewn_planted POST_BUILD VERBATIM
                COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:hewn_cli> ${folder}/hewn.exe)
            add_dependencies(hewn_planted hewn_cli)
            set(planted ${CMAKE_CROSSCOMPILING_EMULATOR} ${folder}/hewn.exe)
        else()
            foreach(program hewn_planted hewn_planted_rounded)
                add_executable(${program} $<TARGET_OBJECTS:hewn_cli> tool/planted_kernel.cpp)
                target_link_libraries(${program}
                    PRIVATE hewn_files hewn_reference hewn::hewn_static)
            endforeach()
            target_compile_definitions(hewn_planted_rounded PRIVATE HEWN_PLANTED_ROUNDED)
            set(planted hewn_planted)
        endif()
        foreach(program hewn_planted hewn_planted_rounded)
            if(TARGET ${program})
                target_include_directories(${program} SYSTEM PRIVATE ${HEWN_HALIDE_INCLUDE_DIR})
                target_compile_definitions(${program} PRIVATE HEWN_REAL_KERNEL=__real_${function}
                    HEWN_PLANTED_KERNEL=__wrap_${function})
                target_link_options(${program} PRIVATE -Wl,--wrap=${function})
            endif()
        endforeach()
        break()
    endforeach()

    # `hewn verify` runs everywhere. On emulated CPUs it has too few cases to prove much; a native
    # build runs all its tests.
    if(CMAKE_CROSSCOMPILING)
        hewn_add_test(verify main
            COMMAND hewn_cli verify --device cpu --operator add --cases 20)
        if(planted)
            hewn_add_test(verify.planted main COMMAND ${planted} verify --device cpu
                --operator quantize_linear --cases 20 PROPERTIES PASS_REGULAR_EXPRESSION
                "DIFFERS ${wrong}: 1 elements differ; element at offset 0 is 254 instead of 255, ")
        endif()
    else()
        if(planted)
            set(planted ${wrong} $<TARGET_FILE:hewn_planted>
                $<TARGET_FILE:hewn_planted_rounded>)
        endif()
        hewn_add_test(verify main quick COMMAND ${HEWN_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/verify_test.py
            $<TARGET_FILE:hewn_cli> ${planted})
        if("opencl" IN_LIST HEWN_BUILT_TARGETS)
            hewn_add_test(verify.opencl main
                COMMAND hewn_cli verify --device opencl --operator add --cases 20
                PROPERTIES ${no_gpu})
        endif()
    endif()
endif()
