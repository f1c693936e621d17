# Tests of tensors of any size and stride, and of the memory that kernels touch. plan_test.cpp and
# convert_test.cpp, which test the CPU's plans and conversions, are in operators/operators.cmake.

if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    return()
endif()

# The tests jump out of a fault handler, which a sanitizer does not survive.
if(NOT HEWN_SANITIZED)
    hewn_test_program(hewn_guard_pages_tests hewn::hewn_static layouts/guard_pages_test.cpp)
    hewn_add_test(guard_pages posix quick COMMAND hewn_guard_pages_tests --gtest_brief=1
        --gtest_filter=GuardPages.*:${tested_variants} PROPERTIES COST 50)
endif()

hewn_test_objects(hewn_memory_objects layouts/memory_test.cpp)
hewn_test_program(hewn_memory_tests hewn::hewn_static $<TARGET_OBJECTS:hewn_memory_objects>)
if(NOT HEWN_TEST_CPUS)  # emulation is too slow for gigabytes
    # Runs while no other test does, because it takes up to 3.5 GiB.
    hewn_add_test(memory posix COMMAND hewn_memory_tests --gtest_filter=Memory.*:Sparse.*
        PROPERTIES RUN_SERIAL ON)
    # Runs while no other test does, because one of its tests takes 8.5 GiB, or is skipped.
    hewn_add_test(memory.elements posix long COMMAND hewn_memory_tests --gtest_filter=Elements.*
        PROPERTIES RUN_SERIAL ON)
endif()

# Strides beyond 2^31 and 2^32, with the bounds that Halide itself computes.
if(TARGET hewn_checked)
    hewn_test_program(hewn_checked_sparse_tests hewn::hewn_checked
        $<TARGET_OBJECTS:hewn_memory_objects>)
    hewn_add_test(sparse.checked posix checked COMMAND hewn_checked_sparse_tests
        --gtest_filter=Sparse.*)
endif()
