# The bindings, whose tests lie beside them: ../bindings/<binding>/tests.

# ---- JavaScript ----

if(HEWN_OBJECT_FORMAT STREQUAL "WASM")
    hewn_add_test(web.node main COMMAND ${PROJECT_SOURCE_DIR}/bindings/web/test.sh ${PROJECT_BINARY_DIR}
        ${PROJECT_BINARY_DIR}/web-node node)
    hewn_add_test(web.chromium main COMMAND ${PROJECT_SOURCE_DIR}/bindings/web/test.sh
        ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/web-chromium chromium
        PROPERTIES SKIP_RETURN_CODE 77 COST 20)
    hewn_add_test(web.types main COMMAND ${PROJECT_SOURCE_DIR}/bindings/web/test.sh
        ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/web-types types PROPERTIES SKIP_RETURN_CODE 77)
    hewn_add_test(web.bundle main COMMAND ${PROJECT_SOURCE_DIR}/bindings/web/test.sh
        ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/web-bundle bundle PROPERTIES SKIP_RETURN_CODE 77)
    return()
endif()
if(native_linux)
    hewn_add_test(web_format posix COMMAND ${HEWN_PYTHON}
        ${PROJECT_SOURCE_DIR}/bindings/web/tests/format_test.py ${PROJECT_SOURCE_DIR}
        ${CMAKE_C_COMPILER} ${CMAKE_CURRENT_BINARY_DIR}/web_format)
endif()

# ---- Python ----

if(native_linux)
    # Its wheel, built from this build's static library, by NumPy, ONNX and more.
    hewn_add_test(python posix quick COMMAND ${PROJECT_SOURCE_DIR}/bindings/python/test.sh
        ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/python PROPERTIES SKIP_RETURN_CODE 77 COST 90)
    if(HEWN_SANITIZED)  # the sanitizer is in no Python
        set_tests_properties(python PROPERTIES DISABLED ON)
    endif()
endif()

# ---- ONNX Runtime ----

include(${PROJECT_SOURCE_DIR}/bindings/onnxruntime/tests/onnxruntime.cmake)
