# Tests of the source itself: its folders and lists, what compilers and linters say, its scripts.

if(NOT native_linux)
    return()
endif()

hewn_add_test(rooms posix COMMAND ${HEWN_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/rooms_test.py
    ${PROJECT_SOURCE_DIR})
hewn_add_test(lists posix COMMAND ${HEWN_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/lists_test.py)
hewn_add_test(test_sh posix COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_sh_test.sh
    ${CMAKE_CTEST_COMMAND} ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/test_sh
    ${PROJECT_BINARY_DIR})
if(NOT HEWN_SANITIZED)  # Halide never frees what it makes
    hewn_add_test(signatures posix COMMAND ${CMAKE_CURRENT_LIST_DIR}/signatures_test.sh
        $<TARGET_FILE:hewn_generators> ${PROJECT_SOURCE_DIR}
        ${CMAKE_CURRENT_BINARY_DIR}/signatures)
    if(TARGET hewn_halide)  # the generators are built here
        add_executable(hewn_helper_types_tests source/helper_types_test.cpp)
        target_link_libraries(hewn_helper_types_tests PRIVATE hewn_halide)
        hewn_add_test(helper_types posix COMMAND hewn_helper_types_tests)
    endif()
endif()

hewn_add_test(version posix COMMAND ${HEWN_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/version_test.py
    ${PROJECT_SOURCE_DIR} ${PROJECT_VERSION})

hewn_add_test(warnings posix COMMAND ${HEWN_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/warnings_test.py
    ${PROJECT_BINARY_DIR}/compile_commands.json g++ clang++
    PROPERTIES PROCESSORS 2 COST 20)

# The linters of scripts/lint.sh. The first one to run installs them all.
foreach(tool clang-format cmake-lint shell ruff markdown github lines comments)
    hewn_add_test(lint.${tool} posix COMMAND ${PROJECT_SOURCE_DIR}/scripts/lint.sh ${tool})
endforeach()
hewn_add_test(lint.clang-tidy long COMMAND ${PROJECT_SOURCE_DIR}/scripts/lint.sh clang-tidy)

# The reference of the API. An item of the public headers without a comment is an error.
hewn_find_tool(HEWN_DOXYGEN doxygen)
hewn_add_test(doxygen posix COMMAND ${HEWN_DOXYGEN} ${PROJECT_BINARY_DIR}/Doxyfile
    PROPERTIES WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
