# Builds the npm package of bindings/web in web/ of the build tree. The target hewn_module makes
# hewn.wasm, which has the functions that hewn.mjs calls and what they need. It is linked as C, so
# that it cannot need a C++ runtime library.
set(HEWN_MODULE_EXPORTS malloc free hewn_version hewn_tensor_size hewn_compile
    hewn_destroy_operator hewn_operator_variant hewn_execute hewn_operator_count hewn_get_operator
    hewn_get_operator_tensor hewn_get_operator_attribute hewn_variant_count hewn_get_variant)
set(web ${PROJECT_BINARY_DIR}/web)
add_executable(hewn_module bindings/web/module.c bindings/web/format.c)
set_target_properties(hewn_module PROPERTIES OUTPUT_NAME hewn C_STANDARD 11 LINKER_LANGUAGE C
    RUNTIME_OUTPUT_DIRECTORY ${web})
target_link_libraries(hewn_module PRIVATE hewn_static)
list(TRANSFORM HEWN_MODULE_EXPORTS PREPEND -Wl,--export=)
# An execution takes up to 125 KiB of stack (include/hewn/hewn.h); the linker's default is 64 KiB.
target_link_options(hewn_module PRIVATE -mexec-model=reactor -Wl,-z,stack-size=262144
    -Wl,--strip-all -Wl,--gc-sections ${HEWN_MODULE_EXPORTS})
find_program(HEWN_WASM_OPT wasm-opt REQUIRED DOC "Binaryen's optimizer, for the module's size")
add_custom_command(TARGET hewn_module POST_BUILD
    COMMAND ${HEWN_WASM_OPT} -Os --enable-simd --enable-bulk-memory
        --enable-nontrapping-float-to-int --enable-sign-ext --enable-mutable-globals
        $<TARGET_FILE:hewn_module> -o $<TARGET_FILE:hewn_module> VERBATIM)

# The other files of the package: sources, and files that are made from the operator table.
file(GLOB sources CONFIGURE_DEPENDS bindings/web/*.mjs bindings/web/*.d.ts)
foreach(source IN LISTS sources ITEMS bindings/web/README.md LICENSE THIRD_PARTY.md)
    cmake_path(GET source FILENAME name)
    configure_file(${source} ${web}/${name} COPYONLY)
endforeach()
set(generate ${PROJECT_SOURCE_DIR}/bindings/web/generate.py)
add_custom_command(OUTPUT ${web}/operators.d.ts ${web}/small_floats.mjs ${web}/package.json
    COMMAND ${HEWN_PYTHON} ${generate} ${HEWN_GENERATED_DIR}/operators.json
        ${PROJECT_VERSION} ${web}
    DEPENDS ${generate} bindings/web/package.json bindings/python/generate.py
        ${PROJECT_SOURCE_DIR}/lists/data_types.py
        ${HEWN_GENERATED_DIR}/operators.json VERBATIM)
add_custom_target(hewn_web ALL DEPENDS hewn_module ${web}/operators.d.ts)
if(HEWN_INSTALL)
    install(DIRECTORY ${web} DESTINATION share/hewn COMPONENT hewn_Runtime)
endif()
