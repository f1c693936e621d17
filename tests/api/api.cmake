# Tests of the public headers and of calls of the API, apart from hewn_tests (../hewn_tests.cmake).

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

# Lines with hewn.hpp that compile, and lines that do not, with the compiler's messages.
hewn_add_test(lines headers quick COMMAND ${CMAKE_CURRENT_LIST_DIR}/lines_test.sh
    ${CMAKE_CURRENT_BINARY_DIR}/lines ${CMAKE_CXX_COMPILER} ${include})

hewn_add_test(quotes headers quick COMMAND ${CMAKE_CURRENT_LIST_DIR}/quotes_test.sh ${PROJECT_SOURCE_DIR})

# The programs at the top of hewn.h and hewn.hpp.
if(native_linux AND NOT HEWN_SANITIZED)
    hewn_add_test(header_examples headers quick COMMAND
        ${CMAKE_CURRENT_LIST_DIR}/header_examples_test.sh ${CMAKE_CURRENT_BINARY_DIR}/header_examples
        $<TARGET_FILE:hewn_static> ${PROJECT_SOURCE_DIR}/include ${CMAKE_C_COMPILER}
        ${CMAKE_CXX_COMPILER})
endif()

# hewn.hpp in a file where nothing can be thrown. Another file of the same program throws.
add_executable(hewn_no_exceptions_test api/no_exceptions_test.cpp api/throwing.cpp)
hewn_test_options(hewn_no_exceptions_test)
set_source_files_properties(api/no_exceptions_test.cpp
    PROPERTIES COMPILE_OPTIONS "-fno-exceptions;-fno-rtti")
target_link_libraries(hewn_no_exceptions_test PRIVATE ${hewn_product})
hewn_add_test(no_exceptions.replaced headers quick COMMAND hewn_no_exceptions_test replaced)
hewn_add_test(no_exceptions.abort headers quick COMMAND hewn_no_exceptions_test abort
    PROPERTIES PASS_REGULAR_EXPRESSION
        "hewn: ADD BTensor: the binding has 12 bytes, 16 are needed.*passed: aborted")

# ---- Instructions ----

if(native_linux AND NOT HEWN_SANITIZED AND HEWN_ARCH STREQUAL "x86-64")
    hewn_find_tool(HEWN_VALGRIND valgrind)
    add_executable(hewn_small_calls api/small_calls.c)
    hewn_test_options(hewn_small_calls)
    set_target_properties(hewn_small_calls PROPERTIES LINKER_LANGUAGE C)
    target_link_libraries(hewn_small_calls PRIVATE hewn::hewn_static)
    hewn_add_test(instructions posix COMMAND ${HEWN_PYTHON}
        ${CMAKE_CURRENT_LIST_DIR}/instructions_test.py ${HEWN_VALGRIND}
        $<TARGET_FILE:hewn_small_calls>)
endif()
