# The public API beside hewn_tests (main.cmake).

# ---- Headers: each by itself, compiled as strictly as any caller's code may be ----

file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/hewn/*.h
    ${PROJECT_SOURCE_DIR}/include/hewn/*.hpp)
list(FILTER headers EXCLUDE REGEX "/operators.hpp$")  # a part of hewn.hpp
set(include -I${PROJECT_SOURCE_DIR}/include)
set(strict -fsyntax-only -Wall -Wextra -Wshadow -pedantic -Werror ${include})
foreach(header IN LISTS headers)
    cmake_path(GET header FILENAME name)
    if(name MATCHES "\\.h$")
        foreach(standard c99 c11)
            hewn_add_test(header.${name}.${standard} headers quick
                COMMAND ${CMAKE_C_COMPILER} -std=${standard} ${strict} -x c ${header})
        endforeach()
    endif()
    foreach(standard c++17 c++20)
        set(command COMMAND ${CMAKE_CXX_COMPILER} -std=${standard} ${strict} -x c++ ${header})
        hewn_add_test(header.${name}.${standard} headers quick ${command})
        hewn_add_test(header.${name}.${standard}.no_exceptions headers quick ${command} -fno-exceptions
            -fno-rtti)
    endforeach()
endforeach()

add_executable(hewn_c_api_test api/c_api_test.c)
set_target_properties(hewn_c_api_test PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF LINKER_LANGUAGE C)
target_compile_options(hewn_c_api_test PRIVATE -Wall -Wextra -pedantic -Werror)
target_link_libraries(hewn_c_api_test PRIVATE ${hewn_product})
hewn_add_test(c_api headers quick COMMAND hewn_c_api_test)

# hewn.hpp as users write it: what compiles, and what the compiler says where it does not.
hewn_add_test(lines headers quick COMMAND ${CMAKE_CURRENT_LIST_DIR}/lines_test.sh
    ${CMAKE_CURRENT_BINARY_DIR}/lines ${CMAKE_CXX_COMPILER} ${include})

hewn_add_test(quotes headers quick COMMAND ${CMAKE_CURRENT_LIST_DIR}/quotes_test.sh ${PROJECT_SOURCE_DIR})

# hewn.hpp where nothing can be thrown, beside a file of the same program that throws.
add_executable(hewn_no_exceptions_test api/no_exceptions_test.cpp api/throwing.cpp)
hewn_test_options(hewn_no_exceptions_test)
set_source_files_properties(api/no_exceptions_test.cpp
    PROPERTIES COMPILE_OPTIONS "-fno-exceptions;-fno-rtti")
target_link_libraries(hewn_no_exceptions_test PRIVATE ${hewn_product})
hewn_add_test(no_exceptions.replaced headers quick COMMAND hewn_no_exceptions_test replaced)
hewn_add_test(no_exceptions.abort headers quick COMMAND hewn_no_exceptions_test abort
    PROPERTIES PASS_REGULAR_EXPRESSION
        "hewn: ADD BTensor: the binding has 12 bytes, 16 are needed.*passed: aborted")

if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    return()
endif()

# ---- Forks, memory ----

hewn_test_objects(hewn_memory_objects api/memory_test.cpp)
hewn_test_program(hewn_posix_tests hewn::hewn_static api/fork_test.cpp
    $<TARGET_OBJECTS:hewn_memory_objects>)
if(NOT HEWN_SANITIZED)  # a sanitizer does not survive a fork with threads
    hewn_add_test(fork posix COMMAND hewn_posix_tests --gtest_brief=1 --gtest_filter=ForkTest.*)
endif()
if(NOT CMAKE_CROSSCOMPILING AND NOT HEWN_SANITIZED AND HEWN_ARCH STREQUAL "x86-64")
    # Valgrind does not emulate the flag that tells QUANTIZE_LINEAR where to divide. It knows AVX2,
    # not AVX-512.
    hewn_find_tool(HEWN_VALGRIND valgrind)
    hewn_add_test(valgrind posix COMMAND ${HEWN_VALGRIND} --quiet $<TARGET_FILE:hewn_tests>
        --gtest_brief=1 --gtest_filter=FpMode.InvalidOperations)
endif()
if(NOT HEWN_TEST_CPUS)  # emulation is too slow for gigabytes
    # Alone: it takes up to 3.5 GiB.
    hewn_add_test(memory posix COMMAND hewn_posix_tests --gtest_filter=Memory.*:Sparse.*
        PROPERTIES RUN_SERIAL ON)
    # Alone as well: one takes 8.5 GiB, or is skipped.
    hewn_add_test(memory.elements posix long COMMAND hewn_posix_tests --gtest_filter=Elements.*
        PROPERTIES RUN_SERIAL ON)
endif()

# Strides beyond 2^31 and 2^32, within the bounds that Halide itself computes.
if(TARGET hewn_checked)
    hewn_test_program(hewn_checked_sparse_tests hewn::hewn_checked
        $<TARGET_OBJECTS:hewn_memory_objects>)
    hewn_add_test(sparse.checked posix checked COMMAND hewn_checked_sparse_tests
        --gtest_filter=Sparse.*)
endif()

# ---- The library in a program ----

# A program with ThreadSanitizer, which GCC brings along, beside each of the libraries.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CROSSCOMPILING AND NOT HEWN_SANITIZED)
    # Older ones end at once on a Linux that lays programs out at random over more of the addresses
    # (vm.mmap_rnd_bits).
    set(old_sanitizer SKIP_REGULAR_EXPRESSION "FATAL: ThreadSanitizer: unexpected memory mapping")
    foreach(library hewn_static hewn)
        set(name hewn_thread_sanitizer_test_${library})
        add_executable(${name} api/thread_sanitizer_test.cpp)
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

add_executable(hewn_dlopen_tests api/dlopen_test.cpp)
hewn_test_options(hewn_dlopen_tests)
target_precompile_headers(hewn_dlopen_tests REUSE_FROM hewn_test_headers)
target_include_directories(hewn_dlopen_tests PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(hewn_dlopen_tests PRIVATE HEWN_LIBRARY="$<TARGET_FILE:hewn>")
target_link_libraries(hewn_dlopen_tests PRIVATE GTest::gtest_main ${CMAKE_DL_LIBS})
add_dependencies(hewn_dlopen_tests hewn)
hewn_add_test(dlopen posix COMMAND hewn_dlopen_tests)

hewn_test_program(hewn_scale_tests hewn::hewn_static api/scale_test.cpp api/soak_test.cpp)
hewn_add_test(scale posix COMMAND hewn_scale_tests PROPERTIES COST 15)
hewn_add_test(soak posix long COMMAND hewn_scale_tests --gtest_filter=Soak.*
    PROPERTIES ENVIRONMENT HEWN_SOAK_MINUTES=10)
