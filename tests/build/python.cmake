# ---- The Python package ----

# Its wheel, built from this build's static library, by NumPy, ONNX and more.
hewn_add_test(python posix quick COMMAND ${PROJECT_SOURCE_DIR}/bindings/python/test.sh
    ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/python PROPERTIES SKIP_RETURN_CODE 77 COST 90)
if(HEWN_SANITIZED)  # the sanitizer is in no Python
    set_tests_properties(python PROPERTIES DISABLED ON)
endif()
