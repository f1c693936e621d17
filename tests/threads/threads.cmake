# Tests of executions on several threads, and of what executions must not do: allocate, lock, or
# fail after a fork. threads_test.cpp, which tests the executors, is a part of hewn_tests.

if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    return()
endif()

# A sanitizer replaces the allocator and the locks itself.
if(NOT HEWN_SANITIZED)
    hewn_test_program(hewn_allocation_tests hewn::hewn_static threads/allocation_test.cpp)
    target_link_libraries(hewn_allocation_tests PRIVATE ${CMAKE_DL_LIBS})
    target_link_options(hewn_allocation_tests PRIVATE -Wl,--wrap=hewnrt_halide_malloc
        -Wl,--wrap=hewnrt_halide_do_par_for)
    hewn_add_test(allocation posix quick COMMAND hewn_allocation_tests --gtest_brief=1
        --gtest_filter=Counters.*:Allocation.*:Cpus.*:${tested_variants} PROPERTIES COST 60)

    # A sanitizer does not survive a fork of a program with threads.
    hewn_test_program(hewn_fork_tests hewn::hewn_static threads/fork_test.cpp)
    hewn_add_test(fork posix COMMAND hewn_fork_tests --gtest_brief=1)
endif()

hewn_test_program(hewn_scale_tests hewn::hewn_static threads/scale_test.cpp threads/soak_test.cpp)
hewn_add_test(scale posix COMMAND hewn_scale_tests PROPERTIES COST 15)
hewn_add_test(soak posix long COMMAND hewn_scale_tests --gtest_filter=Soak.*
    PROPERTIES ENVIRONMENT HEWN_SOAK_MINUTES=10)

# ---- Memory and threads that the pool cannot have ----

# The test is also built with musl, the C library of other systems, which copes in another way with
# a thread that could not be created.
set(wrapped malloc posix_memalign free pthread_atfork pthread_create pthread_join sysconf)
list(TRANSFORM wrapped PREPEND -Wl,--wrap=)
add_executable(hewn_failing_threads_test threads/failing_threads_test.c)
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
                ${CMAKE_CURRENT_LIST_DIR}/failing_threads_test.c $<TARGET_FILE:hewn_static>
                ${wrapped} -o ${program}
        DEPENDS threads/failing_threads_test.c hewn_static VERBATIM
        COMMENT "failing_threads with musl")
    if(EXISTS ${HEWN_MUSL_GCC})  # without it only the test fails
        add_custom_target(hewn_failing_threads_musl ALL DEPENDS ${program})
    endif()
    hewn_add_test(failing_threads.musl posix COMMAND ${program})
endif()

# ---- A program with ThreadSanitizer, which is a part of GCC, with each of the libraries ----

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CROSSCOMPILING AND NOT HEWN_SANITIZED)
    foreach(library hewn_static hewn)
        set(name hewn_thread_sanitizer_test_${library})
        add_executable(${name} threads/thread_sanitizer_test.cpp)
        hewn_test_options(${name})
        target_compile_options(${name} PRIVATE -fsanitize=thread)
        target_link_options(${name} PRIVATE -fsanitize=thread)
        target_link_libraries(${name} PRIVATE hewn::${library} Threads::Threads)
        hewn_add_test(thread_sanitizer.${library} posix COMMAND ${name} clean
            PROPERTIES ${old_sanitizer})
        if(HEWN_BUILT_TARGETS MATCHES "cuda")
            hewn_add_test(thread_sanitizer.${library}.cuda posix COMMAND ${name} cuda
                PROPERTIES ${old_sanitizer} ENVIRONMENT LD_LIBRARY_PATH=${fakes})
        endif()
        hewn_add_test(thread_sanitizer.${library}.race posix COMMAND ${name} race
            PROPERTIES ${old_sanitizer}
            PASS_REGULAR_EXPRESSION
            "SUMMARY: ThreadSanitizer: data race .* in [^\n]*count_without_lock")
    endforeach()
endif()
