# ---- Packers ----

hewn_add_test(packaging posix COMMAND ${PROJECT_SOURCE_DIR}/packaging/python.sh
    ${CMAKE_CURRENT_LIST_DIR}/packaging_test.py PROPERTIES SKIP_RETURN_CODE 77)
# What is typed to install a package, in every document and script.
hewn_add_test(install_commands posix COMMAND ${HEWN_PYTHON}
    ${CMAKE_CURRENT_LIST_DIR}/install_commands_test.py)
