# The command line (cli_test.py is ../tools/CMakeLists.txt's): conformance, which is cases of other
# projects.

if(TARGET hewn_cli)
    file(GLOB cases CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/../data/*.jsonl)
    hewn_add_test(conformance main EACH_CPU COMMAND hewn_cli conformance ${cases})
    foreach(target IN LISTS chosen_targets)
        hewn_get(target ${target} DEVICE)
        set(on)
        if(target_DEVICE)
            set(on --device ${target_DEVICE})
        endif()
        # Wine has no driver for it; of OpenCL it passes on the system's.
        if(WIN32 AND target_DEVICE STREQUAL "cuda")
            continue()
        endif()
        hewn_add_test(conformance.${target} main COMMAND hewn_cli conformance ${cases}
            --variant ${target} ${on}
            TARGET ${target} PROPERTIES SKIP_REGULAR_EXPRESSION "cannot run here|${old_pocl}|\
error: (CUDA|OpenCL): (no (CUDA|OpenCL) driver|the driver has no device)")
    endforeach()

    # `hewn verify` everywhere, though it does not take long enough to be worth much on emulated
    # CPUs; natively all of it, and that it finds a kernel with a wrong constant.
    if(CMAKE_CROSSCOMPILING)
        hewn_add_test(verify main
            COMMAND hewn_cli verify --device cpu --operator add --cases 20)
    else()
        set(wrong hewnk_quantize_linear_f32_u8__x86_64_sse41__divide)
        set(planted)
        if("quantize_linear_f32_u8" IN_LIST chosen_signatures
            AND "x86_64_sse41" IN_LIST chosen_targets)
            add_executable(hewn_planted $<TARGET_OBJECTS:hewn_cli> tool/planted_kernel.cpp)
            target_include_directories(hewn_planted SYSTEM PRIVATE ${HEWN_HALIDE_INCLUDE_DIR})
            target_compile_definitions(hewn_planted PRIVATE HEWN_REAL_KERNEL=__real_${wrong}
                HEWN_PLANTED_KERNEL=__wrap_${wrong})
            target_link_libraries(hewn_planted PRIVATE hewn_files hewn_reference hewn::hewn_static)
            target_link_options(hewn_planted PRIVATE -Wl,--wrap=${wrong})
            set(planted $<TARGET_FILE:hewn_planted>)
        endif()
        hewn_add_test(verify main COMMAND ${HEWN_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/verify_test.py
            $<TARGET_FILE:hewn_cli> ${planted})
    endif()
endif()
