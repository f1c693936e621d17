# The fuzzers. With HEWN_FUZZING_ENGINE, which build.sh sets, each of them is a program. Without it,
# all of them are one program, which replays the kept inputs of corpus/ as a test.

set(HEWN_FUZZING_ENGINE "" CACHE STRING
    "What links libFuzzer, as -fsanitize=fuzzer; empty: replays")

set(tool_objects $<FILTER:$<TARGET_OBJECTS:hewn_cli>,EXCLUDE,/main[.]cpp>)
function(hewn_fuzz_program name)
    add_executable(${name} fuzz/fuzz.cpp ${ARGN} ${tool_objects})
    target_link_libraries(${name} PRIVATE hewn_files hewn_reference nlohmann_json::nlohmann_json)
    target_compile_options(${name} PRIVATE -Wall -Wextra $<$<CONFIG:Release>:-O1>)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # fuzz.cpp replaces new and delete
        target_compile_options(${name} PRIVATE -Wno-mismatched-new-delete)
    endif()
endfunction()

set(fuzzers cases descriptions executions images npy)
if(HEWN_FUZZING_ENGINE)
    foreach(fuzzer IN LISTS fuzzers)
        hewn_fuzz_program(hewn_fuzz_${fuzzer} fuzz/${fuzzer}.cpp)
        target_compile_definitions(hewn_fuzz_${fuzzer} PRIVATE HEWN_FUZZ_ALONE)
        target_link_options(hewn_fuzz_${fuzzer} PRIVATE ${HEWN_FUZZING_ENGINE})
    endforeach()
else()
    list(TRANSFORM fuzzers PREPEND fuzz/)
    list(TRANSFORM fuzzers APPEND .cpp)
    hewn_fuzz_program(hewn_fuzz_replays ${fuzzers})
    hewn_add_test(fuzz.replays posix
        COMMAND hewn_fuzz_replays ${CMAKE_CURRENT_LIST_DIR}/corpus)
endif()
