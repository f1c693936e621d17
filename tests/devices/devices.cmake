# Tests of GPUs. In a native build on Linux, OpenCL's tests run on the machine's own device. CUDA's
# tests, and the tests of devices that lack something, run on drivers that compute nothing
# (fake_*.c). In a build for Windows, Direct3D 12's tests run under Wine.

if(WIN32 AND CMAKE_CROSSCOMPILING)
    if(TARGET hewn_cli AND HEWN_HAS_GPUS)
        hewn_add_test(cuda.absent windows COMMAND hewn_cli info
            PROPERTIES PASS_REGULAR_EXPRESSION
                "cuda: none. CUDA: no CUDA driver: nvcuda.dll is not there")
    endif()
    if("d3d12" IN_LIST HEWN_BUILT_TARGETS)
        hewn_test_program(hewn_d3d12_tests hewn::hewn devices/d3d12_test.cpp)
        target_link_libraries(hewn_d3d12_tests PRIVATE d3d12 dxgi dxguid psapi)
        hewn_add_test(d3d12 windows COMMAND hewn_d3d12_tests)
        hewn_add_test(d3d12.app windows COMMAND d3d12_app)
        hewn_add_test(d3d12.absent windows COMMAND ${CMAKE_CURRENT_LIST_DIR}/no_d3d12_test.sh
            $<TARGET_FILE:hewn_cli>)
    endif()
endif()
if(NOT native_linux OR NOT HEWN_HAS_GPUS)
    return()
endif()

hewn_test_objects(hewn_gpu_objects devices/gpu_test.cpp devices/opencl_test.cpp
    devices/fake_opencl_test.cpp devices/cuda_test.cpp)
hewn_test_program(hewn_gpu_tests hewn::hewn_static $<TARGET_OBJECTS:hewn_gpu_objects>)
target_link_libraries(hewn_gpu_tests PRIVATE ${CMAKE_DL_LIBS})

hewn_add_test(gpu.common posix COMMAND hewn_gpu_tests --gtest_filter=Gpu.*)

# These are skipped if there is no driver or no device. They are ctest entries of their own, because
# ctest reports an entry as skipped when its skip pattern matches, even if another test in it
# failed.
set(no_opencl SKIP_REGULAR_EXPRESSION
    "Skipped\nOpenCL: (no OpenCL driver|the driver has no device)|${old_pocl}")
hewn_add_test(gpu.opencl posix COMMAND hewn_gpu_tests --gtest_filter=OpenCl.*
    PROPERTIES ${no_opencl})
hewn_add_test(gpu.no_platform posix COMMAND hewn_gpu_tests --gtest_filter=NoPlatform.*
    PROPERTIES ENVIRONMENT "OCL_ICD_VENDORS=/nowhere" ${no_opencl})

set(absent ${CMAKE_CURRENT_BINARY_DIR}/absent)
foreach(driver libOpenCL.so.1 libOpenCL.so libcuda.so.1)  # the loader finds these empty files first
    file(WRITE ${absent}/${driver} "")
endforeach()
hewn_add_test(gpu.no_driver posix COMMAND hewn_gpu_tests --gtest_filter=NoDriver.*
    PROPERTIES ENVIRONMENT LD_LIBRARY_PATH=${absent})

set(fakes ${CMAKE_CURRENT_BINARY_DIR}/fake)
foreach(driver cuda OpenCL)
    string(TOLOWER fake_${driver} fake)
    add_library(${fake} SHARED devices/${fake}.c)
    set_target_properties(${fake} PROPERTIES OUTPUT_NAME ${driver} SUFFIX .so.1
        LIBRARY_OUTPUT_DIRECTORY ${fakes})
    target_compile_options(${fake} PRIVATE -Wall -Wextra)
endforeach()
hewn_add_test(gpu.opencl.devices posix COMMAND hewn_gpu_tests --gtest_filter=FakeOpenCl.*
    PROPERTIES ENVIRONMENT LD_LIBRARY_PATH=${fakes})
set(never_skipped gpu.common gpu.no_driver gpu.opencl.devices)
if(HEWN_BUILT_TARGETS MATCHES "cuda")
    hewn_add_test(gpu.cuda posix COMMAND hewn_gpu_tests --gtest_filter=FakeCuda.*:Cuda.*
        PROPERTIES ENVIRONMENT LD_LIBRARY_PATH=${fakes})
    hewn_add_test(gpu.cuda.no_device posix
        COMMAND hewn_gpu_tests --gtest_filter=FakeCudaWithoutDevice.*
        PROPERTIES ENVIRONMENT "LD_LIBRARY_PATH=${fakes};FAKE_CUDA=no device")
    hewn_add_test(gpu.cuda.old_device posix
        COMMAND hewn_gpu_tests --gtest_filter=FakeCudaOfOldDevices.*
        PROPERTIES ENVIRONMENT "LD_LIBRARY_PATH=${fakes};FAKE_CUDA=old device")
    list(APPEND never_skipped gpu.cuda gpu.cuda.no_device gpu.cuda.old_device)

    if(TARGET hewn_gpu_bench AND NOT HEWN_SANITIZED)
        hewn_add_test(gpu.script posix COMMAND ${CMAKE_CURRENT_LIST_DIR}/gpu_sh_test.sh
            ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR}/gpu_sh)
    endif()

    set(cuda_targets ${HEWN_BUILT_TARGETS})
    list(FILTER cuda_targets INCLUDE REGEX "^cuda")
    hewn_add_test(ptxas posix COMMAND ${CMAKE_CURRENT_LIST_DIR}/ptxas_test.sh
        ${HEWN_GENERATED_DIR}/gpu ${cuda_targets}
        PROPERTIES SKIP_RETURN_CODE 77)
endif()
# These need only what is built, so a skipped test in one of them is a failure.
set_property(TEST ${never_skipped} APPEND PROPERTY FAIL_REGULAR_EXPRESSION " SKIPPED ")
