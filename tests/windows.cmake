# What only Windows has, in a cross build; it runs under Wine.

set(test ${CMAKE_CURRENT_SOURCE_DIR}/windows_test.sh)
set(programs $<TARGET_FILE:hewn> $<TARGET_FILE:hewn_tests>)
if(TARGET hewn_cli)
    list(APPEND programs $<TARGET_FILE:hewn_cli>)
endif()
hewn_add_test(imports windows COMMAND ${test} imports ${CMAKE_OBJDUMP} ${programs})
if(TARGET hewn_cli)
    hewn_add_test(cuda.absent windows COMMAND hewn_cli info
        PROPERTIES PASS_REGULAR_EXPRESSION "cuda: none. CUDA: no CUDA driver: nvcuda.dll is not there")
endif()
hewn_add_test(msvc windows COMMAND ${test} msvc ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR}/msvc
    PROPERTIES SKIP_RETURN_CODE 77)
if("d3d12" IN_LIST chosen_targets)
    hewn_test_program(hewn_d3d12_tests hewn::hewn d3d12_test.cpp)
    target_link_libraries(hewn_d3d12_tests PRIVATE d3d12 dxgi dxguid psapi)
    hewn_add_test(d3d12 windows COMMAND hewn_d3d12_tests)
    hewn_add_test(d3d12.app windows COMMAND d3d12_app)
    hewn_add_test(d3d12.absent windows COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/no_d3d12_test.sh $<TARGET_FILE:hewn_cli>)
endif()
