# Tests with all inputs of a type. Builds for WebAssembly include this file without the rest of
# operators.cmake.

hewn_test_program(hewn_exhaustive_tests hewn::hewn_static operators/exhaustive_test.cpp)
# The program computes all expected results itself, so it is compiled with -O3 where it runs all of
# them. The precompiled headers are for other options.
if(native_linux)
    target_compile_options(hewn_exhaustive_tests PRIVATE -O3)
    set_target_properties(hewn_exhaustive_tests PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
endif()
if(HEWN_OBJECT_FORMAT STREQUAL "WASM")  # on one thread
    hewn_add_test(exhaustive.long long COMMAND hewn_exhaustive_tests)
else()
    hewn_add_test(exhaustive main COMMAND hewn_exhaustive_tests
        PROPERTIES PROCESSORS 2 COST 20)
    hewn_add_test(exhaustive.long long COMMAND hewn_exhaustive_tests --gtest_also_run_disabled_tests
        --gtest_filter=*DISABLED_* PROPERTIES PROCESSORS 2 TIMEOUT 43200)
endif()
