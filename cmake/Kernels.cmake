# Generator runs: hewn_add_kernels() makes the objects of a flavour of the kernels.
#
# Reads what Variants.cmake has resolved. Writes generated/<flavour>/objects.txt, the list of the
# objects. The build puts the objects beside it, and those of GPUs in generated/gpu/.

set(HEWN_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)
# The runtime proves what Halide's assertions and bounds queries would check.
set(HEWN_SHIPPED_FLAGS no_asserts no_bounds_query)

# The target of a generator run, from a form's or a transposition's Halide target and a flavour's
# flags.
function(hewn_run_target out halide_target)
    set(words ${halide_target} no_runtime user_context ${ARGN})
    list(JOIN words "-" words)
    set(${out} ${words} PARENT_SCOPE)
endfunction()

# Sets <out> to an object in <dir>, Halide's runtime for the bare architecture. Its exit hooks are
# removed: in a forked child they would wait for threads that do not exist there.
# runtime/cpu/pool.cpp ends the pool instead.
function(hewn_add_halide_runtime out dir flavour)
    set(runtime ${dir}/halide_runtime${HEWN_OBJECT_EXTENSION})
    set(runtime_target ${HEWN_ARCH}-${HEWN_OS})
    set(exit_hooks_ELF .fini_array* .init_array*)
    set(exit_hooks_MACHO __DATA,__mod_init_func)
    set(exit_hooks_COFF .CRT$XTX)
    list(TRANSFORM exit_hooks_${HEWN_OBJECT_FORMAT} PREPEND --remove-section=
        OUTPUT_VARIABLE runtime_edits)
    if(flavour STREQUAL "tsan" OR CMAKE_CXX_FLAGS MATCHES "-fsanitize=thread")
        # Without this the sanitizer does not see the pool's synchronisation. GCC's library lacks
        # two of LLVM's functions.
        string(APPEND runtime_target -tsan)
        list(APPEND runtime_edits --redefine-sym __tsan_memcpy=memcpy
            --redefine-sym __tsan_memset=memset)
    endif()
    if(HEWN_OS STREQUAL "linux" AND NOT HEWN_ARCH STREQUAL "x86-32")
        # The same function with 64 bits; musl's static library has not got it.
        list(APPEND runtime_edits --redefine-sym fopen64=fopen)
    endif()
    # What the pool starts and joins threads by is hewn's: see runtime/cpu/pool.cpp.
    if(HEWN_OBJECT_FORMAT STREQUAL "COFF")
        list(APPEND runtime_edits --redefine-sym malloc=hewn_halide_malloc
            --redefine-sym free=hewn_halide_free
            --redefine-sym CreateThread=hewn_halide_create_thread
            --redefine-sym WaitForSingleObject=hewn_halide_join)
    endif()
    add_custom_command(OUTPUT ${runtime}
        COMMAND hewn_generators -r halide_runtime -o ${dir} -e object target=${runtime_target}
        COMMAND ${CMAKE_OBJCOPY} ${runtime_edits} ${runtime}
        DEPENDS hewn_generators VERBATIM COMMENT "Halide runtime (${flavour})")
    set(${out} ${runtime} PARENT_SCOPE)
endfunction()

# hewn_add_d3d12_object(<object> <name> <flavour> <run>...): the object of a generator run that
# leaves <name>.s, host code, and <name>.device_code, HLSL. In the object the kernel's name replaces
# the HLSL. The property HEWN_HLSL lists the HLSL files for tools/dxbc.
function(hewn_add_d3d12_object object name flavour)
    cmake_path(REPLACE_EXTENSION object LAST_ONLY .s OUTPUT_VARIABLE assembly)
    cmake_path(REPLACE_EXTENSION object LAST_ONLY .device_code OUTPUT_VARIABLE hlsl)
    set(name_shader ${PROJECT_SOURCE_DIR}/cmake/NameShader.cmake)
    find_program(HEWN_CLANG clang REQUIRED  # GNU's assembler does not read all that LLVM writes
        DOC "clang, the assembler of Direct3D 12 kernels' host code")
    add_custom_command(OUTPUT ${object}
        COMMAND ${ARGN}
        COMMAND ${CMAKE_COMMAND} -DASSEMBLY=${assembly} -DNAME=${name} -P ${name_shader}
        COMMAND ${HEWN_CLANG} --target=x86_64-w64-mingw32 -c ${assembly} -o ${object}
        BYPRODUCTS ${hlsl} DEPENDS hewn_generators ${name_shader} VERBATIM
        COMMENT "${name} (${flavour})")
    set_property(GLOBAL APPEND PROPERTY HEWN_HLSL ${hlsl})
endfunction()

# hewn_add_object(<out> <name> FLAVOUR <flavour> FUNCTION <function> GENERATOR <generator>
#                 HALIDE_TARGET <Halide target> [DEVICE <device>]
#                 [LLVM_ARGS <string>] [FLAGS <Halide flag>...] ARGUMENTS <parameter>=<value>...)
#   One generator run: the function in the object <out>, <name>.o. A GPU's objects are the same in
#   every flavour, because assertions would only look at the host's side. They are made once; their
#   device code is put beside them, for tests to look at.
function(hewn_add_object out name)
    cmake_parse_arguments(PARSE_ARGV 2 run ""
        "FLAVOUR;FUNCTION;GENERATOR;HALIDE_TARGET;DEVICE;LLVM_ARGS" "FLAGS;ARGUMENTS")
    set(dir ${HEWN_GENERATED_DIR}/${run_FLAVOUR})
    set(flags ${run_FLAGS})
    set(outputs object)
    if(run_DEVICE)
        set(dir ${HEWN_GENERATED_DIR}/gpu)
        set(flags ${HEWN_SHIPPED_FLAGS})
        set(outputs object,device_code)
    endif()
    if("${run_DEVICE}" STREQUAL "d3d12")
        set(outputs assembly,device_code)
    endif()
    set(object ${dir}/${name}${HEWN_OBJECT_EXTENSION})
    set(${out} ${object} PARENT_SCOPE)
    get_property(known GLOBAL PROPERTY HEWN_OBJECT_${object} SET)
    if(known)
        return()
    endif()
    set_property(GLOBAL PROPERTY HEWN_OBJECT_${object} TRUE)

    file(MAKE_DIRECTORY ${dir})
    hewn_run_target(target ${run_HALIDE_TARGET} ${flags})
    set(run hewn_generators -g ${run_GENERATOR} -n ${name} -f ${run_FUNCTION} -o ${dir}
        -e ${outputs} target=${target} ${run_ARGUMENTS})
    if(run_LLVM_ARGS)
        list(TRANSFORM run REPLACE "^hewn_generators$" "$<TARGET_FILE:hewn_generators>")
        list(PREPEND run ${CMAKE_COMMAND} -E env "HL_LLVM_ARGS=${run_LLVM_ARGS}")
    endif()
    if("${run_DEVICE}" STREQUAL "d3d12")
        hewn_add_d3d12_object(${object} ${name} ${run_FLAVOUR} ${run})
    else()
        add_custom_command(OUTPUT ${object} COMMAND ${run} DEPENDS hewn_generators VERBATIM
            COMMENT "${name} (${run_FLAVOUR})")
    endif()
endfunction()

# hewn_add_kernels(<flavour> <flag>...): runs the generators for every chosen variant with these
# Halide flags. The property HEWN_<flavour>_OBJECTS has the object files: the Halide runtime that
# they share, one for each transposition and each stage, and one for each form that is not another
# variant's function. The target hewn_<flavour>_kernels makes them once for all libraries; without
# it a Makefile would run the generators for each library at the same time.
function(hewn_add_kernels flavour)
    set(dir ${HEWN_GENERATED_DIR}/${flavour})
    file(MAKE_DIRECTORY ${dir})
    set(objects)
    if(NOT HEWN_OBJECT_FORMAT STREQUAL "WASM")  # runtime/wasm has what one thread needs of it
        hewn_add_halide_runtime(objects ${dir} ${flavour})
    endif()
    foreach(name IN LISTS transpositions)
        hewn_get(transposition ${name} TYPE BYTES HALIDE_TARGET FUNCTION)
        hewn_add_object(object ${name} FLAVOUR ${flavour} FUNCTION ${transposition_FUNCTION}
            GENERATOR transpose HALIDE_TARGET ${transposition_HALIDE_TARGET} FLAGS ${ARGN}
            ARGUMENTS signature=${transposition_TYPE} bytes=${transposition_BYTES})
        list(APPEND objects ${object})
    endforeach()
    foreach(stage IN LISTS stages)
        hewn_get(stage stage_${stage} NAME TARGET LAYOUTS)
        hewn_get(target ${stage_TARGET} DEVICE)
        hewn_halide_target(halide_target ${stage_TARGET})
        set(layouts ${stage_LAYOUTS})
        list(TRANSFORM layouts PREPEND "layouts=")
        hewn_add_object(object stage_${stage} FLAVOUR ${flavour} FUNCTION hewnk_stage_${stage}
            GENERATOR stage_${stage_NAME} HALIDE_TARGET ${halide_target} DEVICE ${target_DEVICE}
            FLAGS ${ARGN} ARGUMENTS ${layouts})
        list(APPEND objects ${object})
    endforeach()
    get_property(variants GLOBAL PROPERTY HEWN_VARIANTS)
    foreach(variant IN LISTS variants)
        hewn_get(variant ${variant} OPERATOR SIGNATURE TARGET FORMS)
        hewn_get(target ${variant_TARGET} DEVICE)
        foreach(form IN LISTS variant_FORMS)
            hewn_get(form ${variant}__${form} OWNER FUNCTION HALIDE_TARGET LAYOUTS KNOBS LLVM_ARGS)
            if(NOT form_OWNER STREQUAL variant)
                continue()
            endif()
            list(JOIN form_LAYOUTS " " layouts)
            if(layouts)
                string(PREPEND layouts "layouts=")
            endif()
            hewn_get(form ${variant_OPERATOR}_${form} OF)
            hewn_add_object(object ${variant}__${form} FLAVOUR ${flavour} FUNCTION ${form_FUNCTION}
                GENERATOR ${form_OF}_${form}
                HALIDE_TARGET ${form_HALIDE_TARGET} DEVICE ${target_DEVICE}
                LLVM_ARGS "${form_LLVM_ARGS}" FLAGS ${ARGN}
                ARGUMENTS signature=${variant_SIGNATURE} ${layouts} ${form_KNOBS})
            list(APPEND objects ${object})
        endforeach()
    endforeach()

    list(JOIN objects "\n" lines)
    file(GENERATE OUTPUT ${dir}/objects.txt CONTENT "${lines}\n")
    set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    set_property(GLOBAL PROPERTY HEWN_${flavour}_OBJECTS ${objects})
    add_custom_target(hewn_${flavour}_kernels DEPENDS ${objects})
    if(NOT flavour STREQUAL "shipped")  # it uses the GPU kernels of `shipped`
        add_dependencies(hewn_${flavour}_kernels hewn_shipped_kernels)
    endif()
endfunction()
