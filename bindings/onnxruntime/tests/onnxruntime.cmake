# Tests of the execution provider for ONNX Runtime, in the newest ONNX Runtime and in the oldest
# that accepts it. python.sh installs both.

if(NOT HEWN_BUILD_ORT)
    return()
endif()
set(here ${CMAKE_CURRENT_LIST_DIR})

set(HEWN_ONNXRUNTIME_INCLUDE "" CACHE PATH
    "The folder of ONNX Runtime's headers, for the test that ours agree with them; may be empty")
hewn_add_test(onnxruntime.abi posix
    COMMAND ${here}/abi_test.sh ${CMAKE_CXX_COMPILER} "${HEWN_ONNXRUNTIME_INCLUDE}"
    PROPERTIES SKIP_RETURN_CODE 77)
# The tests below need all kernels, and a Python without the sanitizers' libraries.
if(NOT native_linux OR HEWN_SIGNATURES OR HEWN_SANITIZED)
    return()
endif()
hewn_add_test(onnxruntime.exports posix
    COMMAND ${here}/exports_test.sh ${CMAKE_NM} $<TARGET_FILE:hewn_onnxruntime>)

# The provider, changed so that ONNX Runtime refuses its threads.
add_library(hewn_refused_threads MODULE ${here}/refused_threads.cpp)
target_compile_definitions(hewn_refused_threads PRIVATE
    HEWN_PROVIDER="$<TARGET_FILE:hewn_onnxruntime>")
target_link_libraries(hewn_refused_threads PRIVATE ${CMAKE_DL_LIBS})

# hewn_onnxruntime_test(<name> <version> <label> <cost> <argument>...): a test that is a Python
# program.
function(hewn_onnxruntime_test name version label cost)
    hewn_add_test(onnxruntime.${name}.${version} ${label}
        COMMAND ${here}/python.sh ${PROJECT_BINARY_DIR}/onnxruntime ${version} ${here}/${ARGN}
        PROPERTIES SKIP_RETURN_CODE 77 COST ${cost} ENVIRONMENT
            "PYTHONPATH=${PROJECT_BINARY_DIR}/bindings/onnxruntime/python;OMP_NUM_THREADS=1")
endfunction()

foreach(version 1.24.1 newest)
    hewn_onnxruntime_test(nodes ${version} posix 15 nodes_test.py)
    hewn_onnxruntime_test(random ${version} posix 10 random_test.py 1000)
    hewn_onnxruntime_test(reference ${version} posix 20 reference_test.py 800)
    hewn_onnxruntime_test(behaviour ${version} posix 5 behaviour_test.py
        $<TARGET_FILE:hewn_refused_threads> @onnxruntime==1.23.2@)
    hewn_onnxruntime_test(random_long ${version} long 0 random_test.py 20000)
    hewn_onnxruntime_test(reference_long ${version} long 0 reference_test.py 20000 --seed 2)
endforeach()
# These need downloads: 15 MB that the virtual environment already has, and 12 MB more.
hewn_onnxruntime_test(models newest posix 10 models_test.py "PP-OCR cls")
hewn_onnxruntime_test(models_long newest long 0 models_test.py "PP-OCRv4 det" "PP-OCRv4 rec"
    YOLOv8n --with @nudenet==3.4.2@)
