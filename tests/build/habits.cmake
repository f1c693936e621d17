# What keeps the project in order: its version, lint, the reference, the scripts for a release.

if(NOT native_linux)
    return()
endif()

hewn_add_test(version posix COMMAND ${HEWN_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/version_test.py
    ${PROJECT_SOURCE_DIR} ${PROJECT_VERSION})
