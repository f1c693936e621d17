# The target hewn_module: hewn.wasm for bindings/web, which is the functions that it calls and what
# they need. Linked as C, so that it cannot need a C++ runtime library.
set(HEWN_MODULE_EXPORTS malloc free hewn_version hewn_tensor_size hewn_compile
    hewn_destroy_operator hewn_operator_variant hewn_execute hewn_operator_count hewn_get_operator
    hewn_get_operator_tensor hewn_variant_count hewn_get_variant)
add_executable(hewn_module bindings/web/module.c)
set_target_properties(hewn_module PROPERTIES OUTPUT_NAME hewn C_STANDARD 11 LINKER_LANGUAGE C
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/module)
target_link_libraries(hewn_module PRIVATE hewn_static)
list(TRANSFORM HEWN_MODULE_EXPORTS PREPEND -Wl,--export=)
# Executing takes up to 125 KiB of stack, of which the linker gives 64 (include/hewn/hewn.h).
target_link_options(hewn_module PRIVATE -mexec-model=reactor -Wl,-z,stack-size=262144
    -Wl,--strip-all -Wl,--gc-sections ${HEWN_MODULE_EXPORTS})
find_program(HEWN_WASM_OPT wasm-opt REQUIRED DOC "Binaryen's optimizer, for the module's size")
add_custom_command(TARGET hewn_module POST_BUILD
    COMMAND ${HEWN_WASM_OPT} -Os --enable-simd --enable-bulk-memory
        --enable-nontrapping-float-to-int --enable-sign-ext --enable-mutable-globals
        $<TARGET_FILE:hewn_module> -o $<TARGET_FILE:hewn_module>
    VERBATIM)
if(HEWN_INSTALL)
    install(FILES $<TARGET_FILE:hewn_module> DESTINATION share/hewn COMPONENT hewn_Runtime)
endif()
