# Generator runs: hewn_add_kernels() makes the objects of a flavour of the kernels, generated/<flavour>/*.o, those of GPUs
# generated/gpu/*.o, and lists them in generated/<flavour>/objects.txt.

set(HEWN_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)
# The runtime proves what Halide's assertions and bounds queries would check.
set(HEWN_SHIPPED_FLAGS no_asserts no_bounds_query)

# Sets <out> to an object in <dir>, Halide's runtime for the bare architecture. Its exit hooks are taken out: in a forked child they
# would wait for threads that do not exist there. runtime/device_cpu.cpp ends the pool instead.
function(hewn_add_halide_runtime out dir flavour)
    set(runtime ${dir}/halide_runtime${HEWN_OBJECT_EXTENSION})
    set(runtime_target ${HEWN_ARCH}-${HEWN_OS})
    set(exit_hooks_ELF .fini_array* .init_array*)
    set(exit_hooks_MACHO __DATA,__mod_init_func)
    set(exit_hooks_COFF .CRT$XTX)
    list(TRANSFORM exit_hooks_${HEWN_OBJECT_FORMAT} PREPEND --remove-section= OUTPUT_VARIABLE runtime_edits)
    if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=thread")
        # Else the sanitizer does not see the pool's synchronisation. GCC's library lacks two of LLVM's functions.
        string(APPEND runtime_target -tsan)
        list(APPEND runtime_edits --redefine-sym __tsan_memcpy=memcpy --redefine-sym __tsan_memset=memset)
    endif()
    add_custom_command(OUTPUT ${runtime}
        COMMAND hewn_generators -r halide_runtime -o ${dir} -e object target=${runtime_target}
        COMMAND ${CMAKE_OBJCOPY} ${runtime_edits} ${runtime}
        DEPENDS hewn_generators VERBATIM COMMENT "Halide runtime (${flavour})")
    set(${out} ${runtime} PARENT_SCOPE)
endfunction()

# hewn_add_kernels(<flavour> <flag>...): runs the generators for every chosen variant with the given Halide flags. The property
# HEWN_<flavour>_OBJECTS are the object files: one a form, one a transposition, and the Halide runtime they share. The target
# hewn_<flavour>_kernels makes them, for all libraries: a Makefile would run the generators for each of them, at the same time.
function(hewn_add_kernels flavour)
    list(JOIN ARGN "-" flags)
    if(flags)
        string(PREPEND flags "-")
    endif()
    set(dir ${HEWN_GENERATED_DIR}/${flavour})
    file(MAKE_DIRECTORY ${dir})

    hewn_add_halide_runtime(objects ${dir} ${flavour})

    # One generator run: the function hewnk_<name> in <name>.o. A GPU's, whose assertions would look at the host's side alone, are
    # the same in every flavour; their device code is beside them, for tests to look at.
    macro(add_object name generator halide_target device signature)
        set(object_dir ${dir})
        set(object_flags "${flags}")
        set(outputs object)
        if(NOT "${device}" STREQUAL "")  # a macro's argument is text, not a variable
            set(object_dir ${HEWN_GENERATED_DIR}/gpu)
            set(object_flags -no_asserts-no_bounds_query)
            set(outputs object,device_code)
        endif()
        set(object ${object_dir}/${name}${HEWN_OBJECT_EXTENSION})
        set(hlsl)
        set(name_shader)
        set(inputs hewn_generators)
        if("${device}" STREQUAL "d3d12")
            list(APPEND inputs ${PROJECT_SOURCE_DIR}/cmake/NameShader.cmake)
            set(outputs assembly,device_code)
            set(assembly ${object_dir}/${name}.s)
            set(hlsl ${object_dir}/${name}.device_code)
            set(name_shader
                COMMAND ${CMAKE_COMMAND} -DASSEMBLY=${assembly} -DNAME=${name} -P ${PROJECT_SOURCE_DIR}/cmake/NameShader.cmake
                COMMAND ${HEWN_CLANG} --target=x86_64-w64-mingw32 -c ${assembly} -o ${object})
        endif()
        get_property(known GLOBAL PROPERTY HEWN_OBJECT_${object} SET)
        if(NOT known)
            set_property(GLOBAL PROPERTY HEWN_OBJECT_${object} TRUE)
            file(MAKE_DIRECTORY ${object_dir})
            add_custom_command(OUTPUT ${object}
                COMMAND hewn_generators -g ${generator} -n ${name} -f hewnk_${name} -o ${object_dir} -e ${outputs}
                        "target=${halide_target}-no_runtime-user_context${object_flags}" signature=${signature} ${ARGN}
                ${name_shader}
                BYPRODUCTS ${hlsl} DEPENDS ${inputs} VERBATIM COMMENT "${name} (${flavour})")
            if(hlsl)
                set_property(GLOBAL APPEND PROPERTY HEWN_HLSL ${hlsl})
            endif()
        endif()
        list(APPEND objects ${object})
    endmacro()

    hewn_lowest_target(lowest)
    foreach(name IN LISTS transpositions)
        foreach(key TYPE BYTES TARGET)
            get_property(transposition_${key} GLOBAL PROPERTY HEWN_${name}_${key})
        endforeach()
        set(halide_target ${lowest})
        if(transposition_TARGET)
            hewn_halide_target(halide_target ${transposition_TARGET})
        endif()
        add_object(${name} transpose ${halide_target} "" ${transposition_TYPE} bytes=${transposition_BYTES})
    endforeach()
    foreach(target IN LISTS chosen_targets)
        get_property(device GLOBAL PROPERTY HEWN_${target}_DEVICE)
        foreach(operator IN LISTS chosen_operators)
            hewn_signatures(signatures ${operator} ${target})
            foreach(signature IN LISTS signatures)
                hewn_forms(forms ${operator} ${target})
                foreach(form IN LISTS forms)
                    hewn_form_owner(owner ${target} ${operator} ${signature} ${form})
                    if(NOT owner STREQUAL target)
                        continue()
                    endif()
                    hewn_halide_target(halide_target ${target} OPERATOR ${operator} SIGNATURE ${signature} FORM ${form})
                    get_property(layouts GLOBAL PROPERTY HEWN_${operator}_${form}_LAYOUTS)
                    if(layouts)
                        list(JOIN layouts " " layouts)
                        set(layouts "layouts=${layouts}")
                    endif()
                    hewn_knobs(knobs ${target} ${operator} ${signature} ${form})
                    add_object(${operator}_${signature}__${target}__${form} ${operator}_${form} ${halide_target} "${device}" ${signature}
                        ${layouts} ${knobs})
                endforeach()
            endforeach()
        endforeach()
    endforeach()
    list(JOIN objects "\n" lines)
    file(CONFIGURE OUTPUT ${dir}/objects.txt CONTENT "${lines}\n" @ONLY)
    set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    set_property(GLOBAL PROPERTY HEWN_${flavour}_OBJECTS ${objects})
    add_custom_target(hewn_${flavour}_kernels DEPENDS ${objects})
    if(NOT flavour STREQUAL "shipped")  # whose GPU kernels it has
        add_dependencies(hewn_${flavour}_kernels hewn_shipped_kernels)
    endif()
endfunction()
