# hewn_tests: the tests that use only the public API, in one program for each build of the library.
# Their sources are in several folders. The suites that test variants have an entry in ctest for
# each target; all other suites together are the entry "api".

set(main_sources
    api/allocator_test.cpp
    api/binding_test.cpp
    api/bound_test.cpp
    api/constants_test.cpp
    api/cpp_api_test.cpp
    operators/dynamic_quantize_linear_test.cpp
    operators/block_scales_test.cpp
    dispatch/forcing_test.cpp
    operators/fpmode_test.cpp
    operators/reference_test.cpp
    threads/threads_test.cpp
    api/validation_test.cpp
    operators/variants_test.cpp)
if(HEWN_ARCH STREQUAL "x86-32")  # tests for which the width of addresses matters
    set(main_sources api/binding_test.cpp api/validation_test.cpp)
elseif(HEWN_OBJECT_FORMAT STREQUAL "WASM")  # without tests of threads, modes and exceptions
    set(main_sources api/binding_test.cpp api/constants_test.cpp
        operators/dynamic_quantize_linear_test.cpp operators/block_scales_test.cpp
        api/validation_test.cpp operators/variants_test.cpp)
endif()
if(TARGET hewn_checked)
    hewn_test_objects(hewn_main_tests ${main_sources})
    set(main_sources $<TARGET_OBJECTS:hewn_main_tests>)
endif()
hewn_test_program(hewn_tests ${hewn_product} ${main_sources})
if(TARGET hewn_checked)
    hewn_test_program(hewn_checked_tests hewn::hewn_checked ${main_sources})
endif()

set(not_emulated)
if(HEWN_TEST_CPUS)  # eight emulated threads would contend for minutes
    set(not_emulated ":Threads.Eight*:Threads.ParallelForOfOneCall:Threads.ExitWhileOthersExecute")
endif()
set(variant_suites VariantTest DynamicTest BlocksTest InPlaceTest FpModeTest)
list(TRANSFORM variant_suites APPEND ".*" OUTPUT_VARIABLE filter)
list(JOIN filter ":" filter)
hewn_add_test(api main quick COMMAND hewn_tests --gtest_brief=1
    --gtest_filter=-${filter}${not_emulated})
if(HEWN_TEST_CPUS)
    hewn_add_test(forcing main EACH_CPU COMMAND hewn_tests --gtest_filter=Forcing.*)
endif()
if(HEWN_ARCH STREQUAL "x86-32")
    return()
endif()
if(TARGET hewn_checked)
    hewn_add_test(api.checked main checked COMMAND hewn_checked_tests --gtest_brief=1
        --gtest_filter=-${filter}:Reference.*)
endif()
# CUDA's and OpenCL's kernels are the same text on every system. They are tested on Linux, where the
# drivers are.
set(tested_on_linux cuda opencl)
foreach(target IN LISTS HEWN_BUILT_TARGETS)
    set(device ${HEWN_TARGET_${target}_DEVICE})
    if(WIN32 AND device IN_LIST tested_on_linux)
        continue()
    endif()
    list(TRANSFORM variant_suites APPEND ".*__${target}" OUTPUT_VARIABLE filter)
    list(JOIN filter ":" filter)
    set(skipped PROPERTIES SKIP_REGULAR_EXPRESSION ": this machine lacks |${old_pocl}" COST 100
        TARGET ${target})
    if(device STREQUAL "d3d12")
        set(skipped PROPERTIES COST 300 SKIP_REGULAR_EXPRESSION ": this machine lacks "
            TARGET ${target})
    endif()
    list(TRANSFORM few_kernels REPLACE "(.+)" "*Test.*/\\1__${target}" OUTPUT_VARIABLE few)
    list(JOIN few ":" few)
    # All kernels take more than a minute in Node.js, where the package's tests run each kernel as
    # well. On Windows a CPU's kernels differ from Linux's only in the calling convention. So there
    # only a few kernels are tested here, and all of them with the label long.
    if(HEWN_OBJECT_FORMAT STREQUAL "WASM" OR (WIN32 AND NOT device))
        hewn_add_test(variants.${target}.long long COMMAND hewn_tests --gtest_brief=1
            --gtest_filter=${filter})
        set(filter ${few})
    endif()
    # An emulated CPU and a device in software are as slow.
    set(add_variants_test hewn_add_test)
    if(HEWN_TEST_CPUS OR target MATCHES "^(opencl|d3d12)$")
        set(add_variants_test hewn_add_third_of_test)
    endif()
    set(quick quick)
    if(device)
        set(quick)
    endif()
    if(target STREQUAL "opencl")  # PoCL takes seconds to compile a kernel
        hewn_add_test(variants.opencl.few main quick COMMAND hewn_tests --gtest_brief=1
            --gtest_filter=${few} ${skipped})
    endif()
    cmake_language(CALL ${add_variants_test} variants.${target} main ${quick}
        COMMAND hewn_tests --gtest_brief=1 --gtest_filter=${filter} ${skipped})
    # A GPU's kernels are the same in both builds.
    if(TARGET hewn_checked AND NOT device)
        hewn_add_test(variants.${target}.checked main checked
            COMMAND hewn_checked_tests --gtest_brief=1 --gtest_filter=${few} ${skipped})
    endif()
endforeach()
