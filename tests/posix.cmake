# What only Linux has.

# ---- Faults, forks, memory ----

hewn_test_program(hewn_posix_tests hewn::hewn_static fork_test.cpp guard_pages_test.cpp memory_test.cpp)
if(NOT HEWN_SANITIZED)  # a sanitizer survives neither a jump out of its fault handler nor a fork with threads
    hewn_add_test(fork posix COMMAND hewn_posix_tests --gtest_brief=1 --gtest_filter=ForkTest.*)
    hewn_add_test(guard_pages posix COMMAND hewn_posix_tests --gtest_brief=1 --gtest_filter=GuardPages*)
endif()
if(NOT CMAKE_CROSSCOMPILING AND NOT HEWN_SANITIZED AND HEWN_ARCH STREQUAL "x86-64")
    # Valgrind does not emulate the flag that tells QUANTIZE_LINEAR where to divide. It knows AVX2, not AVX-512.
    find_program(HEWN_VALGRIND valgrind REQUIRED)
    hewn_add_test(valgrind posix slow COMMAND ${HEWN_VALGRIND} --quiet $<TARGET_FILE:hewn_tests> --gtest_brief=1
        --gtest_filter=FpMode.InvalidOperations)
endif()
if(NOT HEWN_TEST_CPUS)  # emulation is too slow for gigabytes
    # Alone: it takes up to 3.5 GiB.
    hewn_add_test(memory posix slow COMMAND hewn_posix_tests --gtest_filter=Memory.*:Sparse.* PROPERTIES RUN_SERIAL ON)
endif()

if(TARGET hewn_checked)  # strides beyond 2^31 and 2^32, within the bounds that Halide itself computes
    hewn_test_program(hewn_checked_sparse_tests hewn::hewn_checked memory_test.cpp)
    hewn_add_test(sparse.checked posix checked COMMAND hewn_checked_sparse_tests --gtest_filter=Sparse.*)
endif()

# ---- The build ----

if(NOT CMAKE_CROSSCOMPILING)
    find_program(HEWN_PYTHON python3 HINTS ${PROJECT_SOURCE_DIR}/.venv/bin REQUIRED DOC "Python with NumPy, for tests")
    hewn_add_test(rooms posix COMMAND ${HEWN_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/build/rooms_test.py ${PROJECT_SOURCE_DIR})
    hewn_add_test(wine_skipped posix COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/wine_skipped_test.sh ${CMAKE_CTEST_COMMAND} ${PROJECT_SOURCE_DIR}
        ${CMAKE_CURRENT_BINARY_DIR}/wine_skipped)
    hewn_add_test(test_sh posix COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/test_sh_test.sh ${CMAKE_CTEST_COMMAND} ${PROJECT_SOURCE_DIR}
        ${CMAKE_CURRENT_BINARY_DIR}/test_sh ${PROJECT_BINARY_DIR})
    if(NOT HEWN_SANITIZED)  # Halide never frees what it makes
        hewn_add_test(signatures posix COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/signatures_test.sh $<TARGET_FILE:hewn_generators>
            ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/signatures)
        if(TARGET hewn_halide)  # the generators are built here
            add_executable(hewn_helper_types_tests helper_types_test.cpp)
            target_link_libraries(hewn_helper_types_tests PRIVATE hewn_halide)
            hewn_add_test(helper_types posix COMMAND hewn_helper_types_tests)
        endif()
    endif()
    # What HEWN_OPERATORS, HEWN_SIGNATURES and HEWN_TARGETS choose; configures only.
    hewn_add_test(options posix slow COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/options_test.sh ${CMAKE_COMMAND} ${PROJECT_SOURCE_DIR}
        ${CMAKE_CURRENT_BINARY_DIR}/options ${CMAKE_CXX_COMPILER} ${HEWN_HALIDE_INCLUDE_DIR} ${CMAKE_GENERATOR} ${CMAKE_MAKE_PROGRAM})
    if(HEWN_ARCH STREQUAL "x86-64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT HEWN_SANITIZED)
        hewn_add_test(one_kernel posix slow COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/one_kernel_test.sh ${CMAKE_COMMAND} ${PROJECT_SOURCE_DIR}
            ${CMAKE_CURRENT_BINARY_DIR}/one_kernel ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER} ${HEWN_HALIDE_INCLUDE_DIR} ${CMAKE_GENERATOR}
            ${CMAKE_MAKE_PROGRAM} $<TARGET_FILE:hewn_generators> ${HEWN_SIZE_TOOL} ${CMAKE_NM} PROPERTIES PROCESSORS 2)
    endif()
endif()

# ---- The library in a program ----

if(NOT HEWN_SANITIZED)  # a sanitizer has the allocator and the locks to itself
    hewn_test_program(hewn_allocation_tests hewn::hewn_static allocation_test.cpp)
    target_link_libraries(hewn_allocation_tests PRIVATE ${CMAKE_DL_LIBS})
    target_link_options(hewn_allocation_tests PRIVATE -Wl,--wrap=hewnrt_halide_malloc -Wl,--wrap=hewnrt_halide_do_par_for)
    hewn_add_test(allocation posix COMMAND hewn_allocation_tests --gtest_brief=1)
endif()

hewn_test_program(hewn_failing_kernel_tests hewn::hewn_static failing_kernel_test.cpp)
hewn_add_test(failing_kernel posix COMMAND hewn_failing_kernel_tests --gtest_brief=1)

# Memory and threads that the pool cannot have. With musl as well, the C library of other systems, where a thread that was not had is met
# differently.
set(wrapped malloc posix_memalign free pthread_atfork pthread_create pthread_join sysconf)
list(TRANSFORM wrapped PREPEND -Wl,--wrap=)
add_executable(hewn_failing_threads_test failing_threads_test.c)
hewn_test_options(hewn_failing_threads_test)
set_target_properties(hewn_failing_threads_test PROPERTIES LINKER_LANGUAGE C)
target_link_libraries(hewn_failing_threads_test PRIVATE hewn::hewn_static)
target_link_options(hewn_failing_threads_test PRIVATE ${wrapped})
hewn_add_test(failing_threads posix COMMAND hewn_failing_threads_test)
if(NOT CMAKE_CROSSCOMPILING AND NOT HEWN_SANITIZED)
    find_program(HEWN_MUSL_GCC musl-gcc REQUIRED DOC "GCC with musl (musl-tools), for a test")
    set(program ${CMAKE_CURRENT_BINARY_DIR}/failing_threads_musl)
    add_custom_command(OUTPUT ${program}
        COMMAND ${HEWN_MUSL_GCC} -static -Wl,--gc-sections -DHEWN_STATIC -I${PROJECT_SOURCE_DIR}/include
                ${CMAKE_CURRENT_SOURCE_DIR}/failing_threads_test.c $<TARGET_FILE:hewn_static> ${wrapped} -o ${program}
        DEPENDS failing_threads_test.c hewn_static VERBATIM COMMENT "failing_threads with musl")
    add_custom_target(hewn_failing_threads_musl ALL DEPENDS ${program})
    hewn_add_test(failing_threads.musl posix COMMAND ${program})
endif()

# A program with ThreadSanitizer, which GCC brings along, beside each of the libraries.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CROSSCOMPILING AND NOT HEWN_SANITIZED)
    # Older ones end at once on a Linux that lays programs out at random over more of the addresses (vm.mmap_rnd_bits).
    set(old_sanitizer SKIP_REGULAR_EXPRESSION "FATAL: ThreadSanitizer: unexpected memory mapping")
    foreach(library hewn_static hewn)
        set(name hewn_thread_sanitizer_test_${library})
        add_executable(${name} thread_sanitizer_test.cpp)
        hewn_test_options(${name})
        target_compile_options(${name} PRIVATE -fsanitize=thread)
        target_link_options(${name} PRIVATE -fsanitize=thread)
        target_link_libraries(${name} PRIVATE hewn::${library} Threads::Threads)
        hewn_add_test(thread_sanitizer.${library} posix COMMAND ${name} clean PROPERTIES ${old_sanitizer})
        if(chosen_targets MATCHES "cuda")
            hewn_add_test(thread_sanitizer.${library}.cuda posix COMMAND ${name} cuda
                PROPERTIES ${old_sanitizer} ENVIRONMENT LD_LIBRARY_PATH=${fakes})
        endif()
        hewn_add_test(thread_sanitizer.${library}.race posix COMMAND ${name} race PROPERTIES ${old_sanitizer}
            PASS_REGULAR_EXPRESSION "SUMMARY: ThreadSanitizer: data race .* in [^\n]*count_without_lock")
    endforeach()
endif()

add_executable(hewn_dlopen_tests dlopen_test.cpp)
hewn_test_options(hewn_dlopen_tests)
target_include_directories(hewn_dlopen_tests PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(hewn_dlopen_tests PRIVATE HEWN_LIBRARY="$<TARGET_FILE:hewn>")
target_link_libraries(hewn_dlopen_tests PRIVATE GTest::gtest_main ${CMAKE_DL_LIBS})
add_dependencies(hewn_dlopen_tests hewn)
hewn_add_test(dlopen posix COMMAND hewn_dlopen_tests)

hewn_add_test(symbols posix COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/symbols_test.sh
    ${CMAKE_NM} ${CMAKE_READELF} $<TARGET_FILE:hewn_static> $<TARGET_FILE:hewn>)
if(HEWN_SANITIZED)  # a sanitizer adds symbols of its own
    set_tests_properties(symbols PROPERTIES DISABLED ON)
endif()

if(HEWN_ARCH STREQUAL "x86-64")
    hewn_add_test(hot_loops posix COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/hot_loops_test.sh
        ${CMAKE_NM} ${CMAKE_OBJDUMP} ${HEWN_GENERATED_DIR}/shipped/objects.txt
        $<FILTER:$<TARGET_OBJECTS:hewn_static>,INCLUDE,/boxes[.]>)
endif()

# A program with a Halide of its own: a kernel with a complete runtime, beside each of the libraries.
set(app_dir ${CMAKE_CURRENT_BINARY_DIR}/own_halide)
file(MAKE_DIRECTORY ${app_dir})
add_custom_command(OUTPUT ${app_dir}/app_add.o ${app_dir}/app_add.h
    COMMAND hewn_generators -g add_general -f app_add -o ${app_dir} -e object,c_header
            target=${HEWN_ARCH}-${HEWN_OS} signature=f32 layouts=11
    DEPENDS hewn_generators VERBATIM COMMENT "A kernel with a Halide runtime of its own")
add_custom_target(hewn_own_halide_kernel DEPENDS ${app_dir}/app_add.o)  # made once, also by make
foreach(library hewn_static hewn)
    set(name hewn_own_halide_tests_${library})
    add_executable(${name} own_halide_test.cpp ${app_dir}/app_add.o ${app_dir}/app_add.h)
    add_dependencies(${name} hewn_own_halide_kernel)
    hewn_test_options(${name})
    target_include_directories(${name} SYSTEM PRIVATE ${app_dir} ${HEWN_HALIDE_INCLUDE_DIR})
    target_link_libraries(${name} PRIVATE hewn::${library} GTest::gtest_main Threads::Threads ${CMAKE_DL_LIBS})
    hewn_add_test(own_halide.${library} posix COMMAND ${name})
endforeach()

# ---- Emulated CPUs ----

if(NOT HEWN_SANITIZED)
    add_executable(hewn_probe probe.cpp)
    hewn_test_options(hewn_probe)
    target_link_libraries(hewn_probe PRIVATE hewn::hewn_static)
    # Without PoCL, which compiles for this machine's CPU, not for the emulated one.
    hewn_add_test(qemu posix COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/qemu_test.sh $<TARGET_FILE:hewn_probe> $<TARGET_FILE:hewn_tests>
        $<TARGET_FILE:hewn_plan_tests> ${HEWN_ARCH} PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT "OCL_ICD_VENDORS=/nowhere")
endif()
