# Runs of the generators: hewn_add_kernels() makes the objects of a flavour of the kernels.
#
# It reads generated/runs.txt (runs_txt in lists/files.py) and writes
# generated/<flavour>/objects.txt, the list of the object files. The build puts the objects into the
# same folder, those of GPUs into generated/gpu/.

# hewn_add_halide_runtime(<out> <dir> <flavour>): sets <out> to an object in <dir>, Halide's runtime
# for the architecture without further features. Its exit hooks are removed: in a forked child they
# would wait for threads that do not exist there. runtime/cpu/pool.cpp ends the pool instead.
function(hewn_add_halide_runtime out dir flavour)
    set(runtime ${dir}/halide_runtime${HEWN_OBJECT_EXTENSION})
    set(runtime_target ${HEWN_ARCH}-${HEWN_OS})
    set(exit_hooks_ELF .fini_array* .init_array*)
    set(exit_hooks_MACHO __DATA,__mod_init_func)
    set(exit_hooks_COFF .CRT$XTX)
    list(TRANSFORM exit_hooks_${HEWN_OBJECT_FORMAT} PREPEND --remove-section=
        OUTPUT_VARIABLE runtime_edits)
    if(flavour STREQUAL "tsan" OR CMAKE_CXX_FLAGS MATCHES "-fsanitize=thread")
        # Without Halide's feature tsan the sanitizer does not see how the pool synchronises. GCC's
        # library of the sanitizer lacks two functions that LLVM's has.
        string(APPEND runtime_target -tsan)
        list(APPEND runtime_edits --redefine-sym __tsan_memcpy=memcpy
            --redefine-sym __tsan_memset=memset)
    endif()
    if(HEWN_OS STREQUAL "linux" AND NOT HEWN_ARCH STREQUAL "x86-32")
        # fopen64 is the same function on 64 bits; musl's static library does not have it.
        list(APPEND runtime_edits --redefine-sym fopen64=fopen)
    endif()
    # The pool starts and joins threads by hewn's own functions (runtime/cpu/pool.cpp).
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

# hewn_add_d3d12_object(<object> <name> <flavour> <run>...): makes the object of a generator run
# that leaves <name>.s, which is the host code, and <name>.device_code, which is HLSL. In the object
# the kernel's name replaces the HLSL. The global property HEWN_HLSL lists the HLSL files for
# tools/dxbc.
function(hewn_add_d3d12_object object name flavour)
    cmake_path(REPLACE_EXTENSION object LAST_ONLY .s OUTPUT_VARIABLE assembly)
    cmake_path(REPLACE_EXTENSION object LAST_ONLY .device_code OUTPUT_VARIABLE hlsl)
    set(name_shader ${PROJECT_SOURCE_DIR}/cmake/NameShader.cmake)
    # GNU's assembler does not understand all that LLVM writes.
    find_program(HEWN_CLANG clang REQUIRED
        DOC "clang, the assembler of Direct3D 12 kernels' host code")
    add_custom_command(OUTPUT ${object}
        COMMAND ${ARGN}
        COMMAND ${CMAKE_COMMAND} -DASSEMBLY=${assembly} -DNAME=${name} -P ${name_shader}
        COMMAND ${HEWN_CLANG} --target=x86_64-w64-mingw32 -c ${assembly} -o ${object}
        BYPRODUCTS ${hlsl} DEPENDS hewn_generators ${name_shader} VERBATIM
        COMMENT "${name} (${flavour})")
    set_property(GLOBAL APPEND PROPERTY HEWN_HLSL ${hlsl})
endfunction()

# hewn_add_object(<out> <flavour> <Halide flags> <signatures> <line>): makes the object of a line of
# generated/runs.txt with these flags of Halide, and sets <out> to it. If there are signatures and
# the kernel has none of them, <out> is the object of the flavour `shipped`. A GPU's objects are the
# same in every flavour and are made once, because assertions would only look at the host's side.
# Their device code lies next to them, for tests.
function(hewn_add_object out flavour flags signatures line)
    separate_arguments(arguments UNIX_COMMAND "${line}")
    foreach(column name device llvm_args generator function target)
        list(POP_FRONT arguments ${column})
    endforeach()
    set(dir ${HEWN_GENERATED_DIR}/${flavour})
    string(REGEX REPLACE "__.*" "" signature ${name})
    if(signatures AND NOT signature IN_LIST signatures)
        set(dir ${HEWN_GENERATED_DIR}/shipped)
    endif()
    set(outputs object)
    if(NOT device STREQUAL "cpu")
        set(dir ${HEWN_GENERATED_DIR}/gpu)
        set(flags ${HEWN_SHIPPED_FLAGS})
        set(outputs object,device_code)
    endif()
    if(device STREQUAL "d3d12")
        set(outputs assembly,device_code)
    endif()
    set(object ${dir}/${name}${HEWN_OBJECT_EXTENSION})
    set(${out} ${object} PARENT_SCOPE)
    if(NOT flavour STREQUAL "shipped" AND NOT dir STREQUAL "${HEWN_GENERATED_DIR}/${flavour}")
        return()
    endif()

    file(MAKE_DIRECTORY ${dir})
    list(PREPEND flags ${target})
    list(JOIN flags "-" target)
    set(run hewn_generators -g ${generator} -n ${name} -f ${function} -o ${dir} -e ${outputs}
        ${target} ${arguments})
    if(llvm_args)
        list(TRANSFORM run REPLACE "^hewn_generators$" "$<TARGET_FILE:hewn_generators>")
        list(PREPEND run ${CMAKE_COMMAND} -E env "HL_LLVM_ARGS=${llvm_args}")
    endif()
    if(device STREQUAL "d3d12")
        hewn_add_d3d12_object(${object} ${name} ${flavour} ${run})
    else()
        add_custom_command(OUTPUT ${object} COMMAND ${run} DEPENDS hewn_generators VERBATIM
            COMMENT "${name} (${flavour})")
    endif()
endfunction()

# hewn_add_kernels(<flavour> [FLAGS <flag>...] [ONLY <signature>...]): makes all objects with these
# flags of Halide; with ONLY, the kernels of these signatures have the flags, and all others are
# those of the flavour `shipped`. The global property HEWN_<flavour>_OBJECTS has their files. The
# first one is the Halide runtime that they share, which a build for WebAssembly does not need. The
# target hewn_<flavour>_kernels makes them once for all libraries: without it a Makefile would run
# the generators for each library at the same time.
function(hewn_add_kernels flavour)
    cmake_parse_arguments(PARSE_ARGV 1 kernels "" "" "FLAGS;ONLY")
    set(dir ${HEWN_GENERATED_DIR}/${flavour})
    file(MAKE_DIRECTORY ${dir})
    set(objects)
    # For WebAssembly runtime/wasm has what one thread needs of Halide's runtime.
    if(NOT HEWN_OBJECT_FORMAT STREQUAL "WASM")
        hewn_add_halide_runtime(objects ${dir} ${flavour})
    endif()
    file(STRINGS ${HEWN_GENERATED_DIR}/runs.txt lines)
    foreach(line IN LISTS lines)
        hewn_add_object(object ${flavour} "${kernels_FLAGS}" "${kernels_ONLY}" "${line}")
        list(APPEND objects ${object})
    endforeach()

    list(JOIN objects "\n" lines)
    file(GENERATE OUTPUT ${dir}/objects.txt CONTENT "${lines}\n")
    set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    set_property(GLOBAL PROPERTY HEWN_${flavour}_OBJECTS ${objects})
    add_custom_target(hewn_${flavour}_kernels DEPENDS ${objects})
    if(NOT flavour STREQUAL "shipped")  # other flavours use the GPU kernels of `shipped`
        add_dependencies(hewn_${flavour}_kernels hewn_shipped_kernels)
    endif()
endfunction()
