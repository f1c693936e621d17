# The npm package, bindings/web.

hewn_add_test(web.node main COMMAND ${PROJECT_SOURCE_DIR}/bindings/web/test.sh ${PROJECT_BINARY_DIR}
    ${PROJECT_BINARY_DIR}/web-node node)
hewn_add_test(web.chromium main COMMAND ${PROJECT_SOURCE_DIR}/bindings/web/test.sh
    ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/web-chromium chromium
    PROPERTIES SKIP_RETURN_CODE 77 COST 20)
hewn_add_test(web.types main COMMAND ${PROJECT_SOURCE_DIR}/bindings/web/test.sh
    ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/web-types types PROPERTIES SKIP_RETURN_CODE 77)
