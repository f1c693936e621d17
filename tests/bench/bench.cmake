# Tests of the benchmarks: what they refuse and report. No test measures time.

if(NOT native_linux)
    return()
endif()

hewn_add_test(bench.peers posix COMMAND ${CMAKE_CURRENT_LIST_DIR}/peers_test.sh
    ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/peers)
if(TARGET compare)  # bench/run.sh builds it, with the peers
    hewn_add_test(bench.rows posix COMMAND ${HEWN_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/rows_test.py
        $<TARGET_FILE:compare> ${CMAKE_CURRENT_BINARY_DIR}/rows.json)
endif()
hewn_add_test(bench.without_peers posix
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/without_peers_test.sh ${CMAKE_COMMAND} ${PROJECT_SOURCE_DIR}
    ${CMAKE_CURRENT_BINARY_DIR}/without_peers ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER}
    ${HEWN_HALIDE_INCLUDE_DIR} ${CMAKE_GENERATOR} ${CMAKE_MAKE_PROGRAM}
    $<TARGET_FILE:hewn_generators>
    PROPERTIES PROCESSORS 2 COST 60 SKIP_RETURN_CODE 77)
hewn_test_program(hewn_busy_tests hewn::hewn_static bench/busy_test.cpp ../bench/core/busy.cpp)
hewn_add_test(bench.busy posix COMMAND hewn_busy_tests)
hewn_add_test(speed_gate posix COMMAND ${HEWN_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/gate_test.py
    ${PROJECT_SOURCE_DIR})
