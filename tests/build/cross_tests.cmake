# Read by ctest: adds the tests of the builds for other systems that test.sh makes, so that one run
# has them all. Of Windows, where there is no build, one that says why; of systems whose programs do
# not run here, one that looks at the package.
get_filename_component(source ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
if(EXISTS ${source}/build-linux-arm64/CTestTestfile.cmake)
    subdirs(${source}/build-linux-arm64)
endif()
if(EXISTS ${source}/build-linux-x86/CTestTestfile.cmake)
    execute_process(COMMAND /usr/i686-linux-gnu/lib/ld-linux.so.2 --help
        RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(status EQUAL 0)
        subdirs(${source}/build-linux-x86)
    else()
        add_test(x86-32 sh -c "echo 'skipped: programs of 32 bits do not run here'; exit 77")
        set_tests_properties(x86-32 PROPERTIES SKIP_RETURN_CODE 77)
    endif()
endif()
if(EXISTS ${source}/build-windows-x86_64/CTestTestfile.cmake)
    subdirs(${source}/build-windows-x86_64)
else()
    add_test(wine ${source}/tests/build/no_wine_test.sh)
    set_tests_properties(wine PROPERTIES SKIP_RETURN_CODE 77)
endif()
file(GLOB toolchains ${source}/cmake/toolchains/*-*.cmake)
foreach(toolchain IN LISTS toolchains)
    file(READ ${toolchain} text)
    get_filename_component(system ${toolchain} NAME_WE)
    if(NOT text MATCHES "CMAKE_CROSSCOMPILING_EMULATOR")
        add_test(libraries.${system} ${source}/tests/build/libraries_test.sh
            ${source}/build-libraries/${system})
        set_tests_properties(libraries.${system} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1800
            COST 80)
    endif()
endforeach()
