# ---- Packers ----

hewn_add_test(packaging posix COMMAND ${PROJECT_SOURCE_DIR}/packaging/python.sh
    ${CMAKE_CURRENT_LIST_DIR}/packaging_test.py PROPERTIES SKIP_RETURN_CODE 77)
