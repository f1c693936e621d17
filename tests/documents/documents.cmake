# Tests of the documents: their links, tables and commands.

if(NOT native_linux)
    return()
endif()

hewn_add_test(operators_doc posix COMMAND ${HEWN_PYTHON}
    ${CMAKE_CURRENT_LIST_DIR}/operators_doc_test.py ${HEWN_GENERATED_DIR}/operators.json)
hewn_add_test(docs posix COMMAND ${HEWN_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/docs_test.py
    ${PROJECT_BINARY_DIR})

# ---- The site ----

# The site (docs/lab/site.md): its links and references, and how it looks in a browser.
if(NOT HEWN_SANITIZED)
    hewn_add_test(site posix COMMAND ${HEWN_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/site_test.py
        ${PROJECT_BINARY_DIR}/site
        PROPERTIES SKIP_RETURN_CODE 77 FIXTURES_SETUP site COST 60)
    set(work ${CMAKE_CURRENT_BINARY_DIR}/site)
    hewn_add_test(site.chromium posix COMMAND ${PROJECT_SOURCE_DIR}/tests/support/chromium.sh
        ${work}/tools ${CMAKE_CURRENT_LIST_DIR}/site_browser_test.py ${PROJECT_BINARY_DIR}/site ${work}
        PROPERTIES SKIP_RETURN_CODE 77 FIXTURES_REQUIRED site COST 30)
endif()

# ---- Blocks ----

# The blocks of commands and code in the documents are run as a reader would run them.

if(HEWN_SANITIZED OR NOT HEWN_ARCH STREQUAL "x86-64")
    return()
endif()
set(blocks ${HEWN_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/blocks_test.py)
hewn_add_test(blocks.rules posix COMMAND ${HEWN_PYTHON}
    ${CMAKE_CURRENT_LIST_DIR}/blocks_rules_test.py)
file(GLOB pages CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
    ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CONTRIBUTING.md
    ${PROJECT_SOURCE_DIR}/bench/README.md ${PROJECT_SOURCE_DIR}/examples/README.md
    ${PROJECT_SOURCE_DIR}/docs/*.md ${PROJECT_SOURCE_DIR}/docs/lab/*.md)

# Each block is run, or excused with a reason. This test lists the excuses.
hewn_add_test(blocks posix COMMAND ${blocks} --check ${pages})
foreach(page IN LISTS pages)
    file(STRINGS ${PROJECT_SOURCE_DIR}/${page} fences REGEX "^ *```[a-z]")
    if(NOT fences)
        continue()
    endif()
    string(REGEX REPLACE "[.]md$" "" name ${page})
    string(REPLACE "/" "." name ${name})
    file(STRINGS ${PROJECT_SOURCE_DIR}/${page} builds REGEX "cmake --build")
    if(builds)
        set(cost COST 100)
    else()
        set(cost COST 20)
    endif()
    hewn_add_test(blocks.${name} posix COMMAND ${blocks} ${page} --build ${PROJECT_BINARY_DIR}
        --generators $<TARGET_FILE:hewn_generators>
        --work ${CMAKE_CURRENT_BINARY_DIR}/blocks/${name}
        PROPERTIES SKIP_RETURN_CODE 77 ${cost}
        # These tests leave the environments that blocks need.
        DEPENDS "python;onnxruntime.nodes.newest")
endforeach()
