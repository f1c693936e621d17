# Tests of what operators compute, and of how the CPU's runtime chooses forms. The test of every
# target's kernels, variants_test.cpp, is a part of hewn_tests (../hewn_tests.cmake).

hewn_test_objects(hewn_folding_objects operators/folding_test.cpp)
target_include_directories(hewn_folding_objects SYSTEM PRIVATE ${HEWN_HALIDE_INCLUDE_DIR})
# Tests of the inside of the CPU's runtime.
hewn_test_program(hewn_plan_tests hewn::hewn_static layouts/plan_test.cpp layouts/convert_test.cpp
    operators/kernel_test.cpp operators/forms_test.cpp api/quick_path_test.cpp
    $<TARGET_OBJECTS:hewn_folding_objects>)
target_include_directories(hewn_plan_tests SYSTEM PRIVATE ${HEWN_HALIDE_INCLUDE_DIR})
hewn_add_test(plan main quick COMMAND hewn_plan_tests --gtest_brief=1 PROPERTIES COST 60)
# The search for factors calls kernels too. Here Halide's assertions check what it passes to them.
if(TARGET hewn_checked)
    hewn_test_program(hewn_checked_folding_tests hewn::hewn_checked
        $<TARGET_OBJECTS:hewn_folding_objects>)
    hewn_add_test(folding.checked main checked COMMAND hewn_checked_folding_tests --gtest_brief=1)
endif()
# Windows' kernels are those of Linux, where they are tested: once is enough.
if(WIN32 OR HEWN_ARCH STREQUAL "x86-32")
    return()
endif()

include(${CMAKE_CURRENT_LIST_DIR}/exhaustive.cmake)

# References of operators that have no kernels yet. The program uses nothing of the library.
hewn_test_program(hewn_block_reference_tests hewn_reference operators/block_reference_test.cpp)
hewn_add_test(block_reference main quick COMMAND hewn_block_reference_tests --gtest_brief=1)

if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    hewn_test_program(hewn_failing_kernel_tests hewn::hewn_static
        operators/failing_kernel_test.cpp)
    hewn_add_test(failing_kernel posix COMMAND hewn_failing_kernel_tests --gtest_brief=1)
endif()
