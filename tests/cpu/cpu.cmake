# The inside of the CPU's part.

hewn_test_objects(hewn_folding_objects cpu/folding_test.cpp)
target_include_directories(hewn_folding_objects SYSTEM PRIVATE ${HEWN_HALIDE_INCLUDE_DIR})
hewn_test_program(hewn_plan_tests hewn::hewn_static cpu/plan_test.cpp cpu/kernel_test.cpp
    cpu/forms_test.cpp cpu/device_test.cpp $<TARGET_OBJECTS:hewn_folding_objects>)
target_include_directories(hewn_plan_tests SYSTEM PRIVATE ${HEWN_HALIDE_INCLUDE_DIR})
hewn_add_test(plan main quick COMMAND hewn_plan_tests --gtest_brief=1 PROPERTIES COST 60)
if(TARGET hewn_checked)  # with what the search for factors gives them
    hewn_test_program(hewn_checked_folding_tests hewn::hewn_checked
        $<TARGET_OBJECTS:hewn_folding_objects>)
    hewn_add_test(folding.checked main checked COMMAND hewn_checked_folding_tests --gtest_brief=1)
endif()
if(WIN32 OR HEWN_ARCH STREQUAL "x86-32")  # Windows' kernels are those of Linux: once is enough
    return()
endif()

include(${CMAKE_CURRENT_LIST_DIR}/exhaustive.cmake)

if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    return()
endif()

# ---- Memory and threads ----

# A sanitizer does not survive a jump out of its fault handler, and has the allocator and the locks
# to itself.
if(NOT HEWN_SANITIZED)
    hewn_test_program(hewn_guard_pages_tests hewn::hewn_static cpu/guard_pages_test.cpp)
    hewn_add_test(guard_pages posix quick COMMAND hewn_guard_pages_tests --gtest_brief=1
        PROPERTIES COST 50)

    hewn_test_program(hewn_allocation_tests hewn::hewn_static cpu/allocation_test.cpp)
    target_link_libraries(hewn_allocation_tests PRIVATE ${CMAKE_DL_LIBS})
    target_link_options(hewn_allocation_tests PRIVATE -Wl,--wrap=hewnrt_halide_malloc
        -Wl,--wrap=hewnrt_halide_do_par_for)
    hewn_add_test(allocation posix quick COMMAND hewn_allocation_tests --gtest_brief=1 PROPERTIES COST 60)
endif()

# Valgrind counts what a small call takes.
if(NOT CMAKE_CROSSCOMPILING AND NOT HEWN_SANITIZED AND HEWN_ARCH STREQUAL "x86-64")
    add_executable(hewn_small_calls cpu/small_calls.c)
    hewn_test_options(hewn_small_calls)
    set_target_properties(hewn_small_calls PROPERTIES LINKER_LANGUAGE C)
    target_link_libraries(hewn_small_calls PRIVATE hewn::hewn_static)
    hewn_find_tool(HEWN_VALGRIND valgrind)
    hewn_add_test(instructions posix COMMAND ${HEWN_PYTHON}
        ${CMAKE_CURRENT_SOURCE_DIR}/cpu/instructions_test.py ${HEWN_VALGRIND}
        $<TARGET_FILE:hewn_small_calls>)
endif()

hewn_test_program(hewn_failing_kernel_tests hewn::hewn_static cpu/failing_kernel_test.cpp)
hewn_add_test(failing_kernel posix COMMAND hewn_failing_kernel_tests --gtest_brief=1)

# Memory and threads that the pool cannot have. With musl as well, the C library of other systems,
# where a thread that was not had is met differently.
set(wrapped malloc posix_memalign free pthread_atfork pthread_create pthread_join sysconf)
list(TRANSFORM wrapped PREPEND -Wl,--wrap=)
add_executable(hewn_failing_threads_test cpu/failing_threads_test.c)
hewn_test_options(hewn_failing_threads_test)
set_target_properties(hewn_failing_threads_test PROPERTIES LINKER_LANGUAGE C)
target_link_libraries(hewn_failing_threads_test PRIVATE hewn::hewn_static)
target_link_options(hewn_failing_threads_test PRIVATE ${wrapped})
hewn_add_test(failing_threads posix COMMAND hewn_failing_threads_test)
if(NOT CMAKE_CROSSCOMPILING AND NOT HEWN_SANITIZED)
    hewn_find_tool(HEWN_MUSL_GCC musl-gcc)
    set(program ${CMAKE_CURRENT_BINARY_DIR}/failing_threads_musl)
    add_custom_command(OUTPUT ${program}
        COMMAND ${HEWN_MUSL_GCC} -static -Wl,--gc-sections -DHEWN_STATIC
                -I${PROJECT_SOURCE_DIR}/include
                ${CMAKE_CURRENT_SOURCE_DIR}/cpu/failing_threads_test.c $<TARGET_FILE:hewn_static>
                ${wrapped} -o ${program}
        DEPENDS cpu/failing_threads_test.c hewn_static VERBATIM COMMENT "failing_threads with musl")
    if(EXISTS ${HEWN_MUSL_GCC})  # else only the test fails
        add_custom_target(hewn_failing_threads_musl ALL DEPENDS ${program})
    endif()
    hewn_add_test(failing_threads.musl posix COMMAND ${program})
endif()
