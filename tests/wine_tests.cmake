# Read by ctest: adds the tests of build-windows-x86_64/, or one that says why there are none.
get_filename_component(source ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
if(EXISTS ${source}/build-windows-x86_64/CTestTestfile.cmake)
    subdirs(${source}/build-windows-x86_64)
else()
    add_test(wine ${source}/tests/no_wine_test.sh)
    set_tests_properties(wine PROPERTIES SKIP_RETURN_CODE 77)
endif()
