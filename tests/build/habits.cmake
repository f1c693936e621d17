# What keeps the project in order: its version, lint, the reference, the scripts for a release.

if(NOT native_linux)
    return()
endif()

hewn_add_test(version posix COMMAND ${HEWN_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/version_test.py
    ${PROJECT_SOURCE_DIR} ${PROJECT_VERSION})

hewn_add_test(warnings posix COMMAND ${HEWN_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/warnings_test.py
    ${PROJECT_BINARY_DIR}/compile_commands.json g++ clang++
    PROPERTIES PROCESSORS 2 COST 20)

# scripts/lint.sh's tools. The first to run installs them all.
foreach(tool clang-format cmake-lint shell ruff markdown github lines)
    hewn_add_test(lint.${tool} posix COMMAND ${PROJECT_SOURCE_DIR}/scripts/lint.sh ${tool})
endforeach()
hewn_add_test(lint.clang-tidy long COMMAND ${PROJECT_SOURCE_DIR}/scripts/lint.sh clang-tidy)
hewn_add_test(bench.peers posix COMMAND ${CMAKE_CURRENT_LIST_DIR}/peers_test.sh
    ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/peers)
hewn_add_test(bench.without_peers posix
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/without_peers_test.sh ${CMAKE_COMMAND} ${PROJECT_SOURCE_DIR}
    ${CMAKE_CURRENT_BINARY_DIR}/without_peers ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER}
    ${HEWN_HALIDE_INCLUDE_DIR} ${CMAKE_GENERATOR} ${CMAKE_MAKE_PROGRAM}
    $<TARGET_FILE:hewn_generators>
    PROPERTIES PROCESSORS 2 COST 60 SKIP_RETURN_CODE 77)
hewn_test_program(hewn_busy_tests hewn::hewn_static build/busy_test.cpp ../bench/busy.cpp)
hewn_add_test(bench.busy posix COMMAND hewn_busy_tests)
hewn_add_test(speed_gate posix COMMAND ${HEWN_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/gate_test.py
    ${PROJECT_SOURCE_DIR})

# The reference; an item of the public headers without a comment is an error.
hewn_find_tool(HEWN_DOXYGEN doxygen)
hewn_add_test(doxygen posix COMMAND ${HEWN_DOXYGEN} ${PROJECT_BINARY_DIR}/Doxyfile
    PROPERTIES WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
