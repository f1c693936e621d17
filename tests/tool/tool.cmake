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
endif()
