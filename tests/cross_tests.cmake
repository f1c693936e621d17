# Read by ctest: adds the tests of the builds for other systems that test.sh makes, so that one run has them all. Of Windows,
# where there is no build, one that says why.
get_filename_component(source ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
if(EXISTS ${source}/build-linux-arm64/CTestTestfile.cmake)
    subdirs(${source}/build-linux-arm64)
endif()
if(EXISTS ${source}/build-windows-x86_64/CTestTestfile.cmake)
    subdirs(${source}/build-windows-x86_64)
else()
    add_test(wine ${source}/tests/no_wine_test.sh)
    set_tests_properties(wine PROPERTIES SKIP_RETURN_CODE 77)
endif()
