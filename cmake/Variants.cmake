# kernels x targets x knobs -> generator runs, objects, variants.inc and targets.inc.
#
# generators/kernels.cmake and generators/targets.cmake are the lists; this file reads them into the properties below and
# gives hewn_add_kernels().

# ---- Reading the lists ----

function(hewn_operator operator)
    set_property(GLOBAL APPEND PROPERTY HEWN_ALL_OPERATORS ${operator})
    set_property(GLOBAL PROPERTY HEWN_${operator}_SIGNATURES ${ARGN})
endfunction()

function(hewn_form operator form)
    cmake_parse_arguments(PARSE_ARGV 2 form "" "NEEDS" "LAYOUTS")
    set_property(GLOBAL APPEND PROPERTY HEWN_${operator}_FORMS ${form})
    set_property(GLOBAL PROPERTY HEWN_${operator}_${form}_LAYOUTS ${form_LAYOUTS})
    set_property(GLOBAL PROPERTY HEWN_${operator}_${form}_NEEDS ${form_NEEDS})
endfunction()

function(hewn_helper generator)
    set_property(GLOBAL APPEND PROPERTY HEWN_ALL_HELPERS ${generator})
    set_property(GLOBAL PROPERTY HEWN_${generator}_SIGNATURES ${ARGN})
endfunction()

function(hewn_target name)
    cmake_parse_arguments(PARSE_ARGV 1 target "" "RANK;ARCH" "FEATURES;F16_FEATURES;ALWAYS;PROBE")
    set_property(GLOBAL APPEND PROPERTY HEWN_ALL_TARGETS ${name})
    foreach(key RANK ARCH FEATURES F16_FEATURES ALWAYS PROBE)
        set_property(GLOBAL PROPERTY HEWN_${name}_${key} ${target_${key}})
    endforeach()
endfunction()

include(${PROJECT_SOURCE_DIR}/generators/kernels.cmake)
include(${PROJECT_SOURCE_DIR}/generators/targets.cmake)

# ---- What this build is for ----

# Halide's names of the operating system and the architecture that is built for, its objects' extension there, and how they are
# linked (ELF, MACHO, COFF).
set(os_of_Linux linux .o ELF)
set(os_of_Android android .o ELF)
set(os_of_Darwin osx .o MACHO)
set(os_of_iOS ios .o MACHO)
set(os_of_Windows windows .obj COFF)
if(NOT DEFINED os_of_${CMAKE_SYSTEM_NAME})
    message(FATAL_ERROR "hewn: no kernels for ${CMAKE_SYSTEM_NAME} yet")
endif()
list(GET os_of_${CMAKE_SYSTEM_NAME} 0 HEWN_OS)
list(GET os_of_${CMAKE_SYSTEM_NAME} 1 HEWN_OBJECT_EXTENSION)
list(GET os_of_${CMAKE_SYSTEM_NAME} 2 HEWN_OBJECT_FORMAT)
set(processor ${CMAKE_SYSTEM_PROCESSOR})
if(APPLE AND CMAKE_OSX_ARCHITECTURES)  # what is built for, not on
    set(processor ${CMAKE_OSX_ARCHITECTURES})
endif()
if(processor MATCHES "^(x86_64|AMD64|amd64)$")
    set(HEWN_ARCH x86-64)
elseif(processor MATCHES "^(aarch64|arm64|ARM64)$")
    set(HEWN_ARCH arm-64)
else()
    message(FATAL_ERROR "hewn: no kernels for ${processor} yet")
endif()

# Reads a choice such as -DHEWN_OPERATORS=add;quantize_linear, checked against all there are, into `out`. Empty: all.
function(hewn_choose out option)
    set(known ${ARGN})
    set(chosen ${${option}})
    foreach(name IN LISTS chosen)
        if(NOT name IN_LIST known)
            list(JOIN known " " known_names)
            message(FATAL_ERROR "${option}: '${name}' is not one of: ${known_names}")
        endif()
    endforeach()
    if(chosen)  # in the list's order, not the option's: targets ascend in rank
        list(REMOVE_ITEM known ${chosen})
        set(others ${known})
        set(chosen ${ARGN})
        list(REMOVE_ITEM chosen ${others} "")
    else()
        set(chosen ${known})
    endif()
    set(${out} ${chosen} PARENT_SCOPE)
endfunction()

get_property(all_operators GLOBAL PROPERTY HEWN_ALL_OPERATORS)
get_property(all_targets GLOBAL PROPERTY HEWN_ALL_TARGETS)
set(all_signatures)
foreach(operator IN LISTS all_operators)
    get_property(signatures GLOBAL PROPERTY HEWN_${operator}_SIGNATURES)
    list(TRANSFORM signatures PREPEND ${operator}_)
    list(APPEND all_signatures ${signatures})
endforeach()
set(fitting_targets)
foreach(target IN LISTS all_targets)
    get_property(arch GLOBAL PROPERTY HEWN_${target}_ARCH)
    if(arch STREQUAL HEWN_ARCH)
        list(APPEND fitting_targets ${target})
    endif()
endforeach()

set(HEWN_OPERATORS "" CACHE STRING "Operators to build, as in generators/kernels.cmake; empty: all")
set(HEWN_SIGNATURES "" CACHE STRING "Signatures to build, e.g. add_f32;quantize_linear_f32_u8; empty: all of HEWN_OPERATORS")
set(HEWN_TARGETS "" CACHE STRING "Targets to build, as in generators/targets.cmake; empty: all of this architecture")
hewn_choose(chosen_operators HEWN_OPERATORS ${all_operators})
hewn_choose(chosen_signatures HEWN_SIGNATURES ${all_signatures})
hewn_choose(chosen_targets HEWN_TARGETS ${fitting_targets})
list(JOIN chosen_operators "|" chosen_pattern)
list(FILTER chosen_signatures INCLUDE REGEX "^(${chosen_pattern})_")
if(NOT chosen_signatures)
    message(FATAL_ERROR "HEWN_OPERATORS and HEWN_SIGNATURES leave no variant to build")
endif()

# ---- Knobs ----

# tuning/<target>.json, else its family's, the name without its last word: tuning/x86_64.json for x86_64_sse41.
#   {"halide": version, "knobs": {<operator>[_<signature>]: {<form>: {<knob>: value}}}}
function(hewn_read_tuning target)
    set(file ${PROJECT_SOURCE_DIR}/tuning/${target}.json)
    if(NOT EXISTS ${file})
        string(REGEX REPLACE "_[^_]*$" "" family ${target})
        set(file ${PROJECT_SOURCE_DIR}/tuning/${family}.json)
    endif()
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    string(JSON halide GET "${text}" halide)
    if(NOT halide VERSION_EQUAL HEWN_HALIDE_VERSION)
        message(FATAL_ERROR "${file}: measured with Halide ${halide}, this build uses ${HEWN_HALIDE_VERSION}: tune again")
    endif()
    set_property(GLOBAL PROPERTY HEWN_${target}_TUNING "${text}")
endfunction()

# `knob=value` words of a variant's form: the signature's own, else the operator's.
function(hewn_knobs out target operator signature form)
    get_property(text GLOBAL PROPERTY HEWN_${target}_TUNING)
    set(words)
    foreach(key ${operator} ${operator}_${signature})
        string(JSON knobs ERROR_VARIABLE absent GET "${text}" knobs ${key} ${form})
        if(NOT absent)
            string(JSON count LENGTH "${knobs}")
            if(count GREATER 0)
                math(EXPR last "${count} - 1")
                foreach(i RANGE ${last})
                    string(JSON knob MEMBER "${knobs}" ${i})
                    string(JSON value GET "${knobs}" ${knob})
                    list(FILTER words EXCLUDE REGEX "^${knob}=")
                    list(APPEND words "${knob}=${value}")
                endforeach()
            endif()
        endif()
    endforeach()
    set(${out} ${words} PARENT_SCOPE)
endfunction()

# ---- Generator runs ----

set(HEWN_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)

# The Halide target string of `target`; its kernels of an f16 `signature` may have features of their own.
function(hewn_halide_target out target signature)
    get_property(arch GLOBAL PROPERTY HEWN_${target}_ARCH)
    get_property(features GLOBAL PROPERTY HEWN_${target}_FEATURES)
    if(signature MATCHES "f16")
        get_property(f16_features GLOBAL PROPERTY HEWN_${target}_F16_FEATURES)
        list(APPEND features ${f16_features})
    endif()
    set(words ${arch} ${HEWN_OS} ${features})
    list(JOIN words "-" words)
    set(${out} ${words} PARENT_SCOPE)
endfunction()

# hewn_add_kernels(<flavour> <objects> <flag>...): runs the generators for every chosen variant with the given Halide flags, and
# sets <objects> to the object files: one a form, and the Halide runtime they share.
function(hewn_add_kernels flavour objects_out)
    list(JOIN ARGN "-" flags)
    if(flags)
        string(PREPEND flags "-")
    endif()
    set(dir ${HEWN_GENERATED_DIR}/${flavour})
    file(MAKE_DIRECTORY ${dir})

    # The runtime is Halide's for the bare architecture. Its exit hooks are taken out: in a forked child they would wait for
    # threads that do not exist there. runtime/device_cpu.cpp ends the pool instead.
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
    set(objects ${runtime})

    # One generator run: the function hewnk_<name> in <name>.o.
    macro(add_object name generator target signature)
        hewn_halide_target(halide_target ${target} ${signature})
        set(object ${dir}/${name}${HEWN_OBJECT_EXTENSION})
        add_custom_command(OUTPUT ${object}
            COMMAND hewn_generators -g ${generator} -n ${name} -f hewnk_${name} -o ${dir} -e object
                    "target=${halide_target}-no_runtime-user_context${flags}" signature=${signature} ${ARGN}
            DEPENDS hewn_generators VERBATIM COMMENT "${name} (${flavour})")
        list(APPEND objects ${object})
    endmacro()

    get_property(helpers GLOBAL PROPERTY HEWN_ALL_HELPERS)
    list(GET chosen_targets 0 lowest)
    foreach(generator IN LISTS helpers)
        get_property(signatures GLOBAL PROPERTY HEWN_${generator}_SIGNATURES)
        foreach(signature IN LISTS signatures)
            add_object(${generator}_${signature} ${generator} ${lowest} ${signature})
        endforeach()
    endforeach()
    foreach(target IN LISTS chosen_targets)
        foreach(operator IN LISTS chosen_operators)
            get_property(signatures GLOBAL PROPERTY HEWN_${operator}_SIGNATURES)
            foreach(signature IN LISTS signatures)
                if(NOT "${operator}_${signature}" IN_LIST chosen_signatures)
                    continue()
                endif()
                hewn_forms(forms ${operator} ${target})
                foreach(form IN LISTS forms)
                    get_property(layouts GLOBAL PROPERTY HEWN_${operator}_${form}_LAYOUTS)
                    list(JOIN layouts " " layouts)
                    hewn_knobs(knobs ${target} ${operator} ${signature} ${form})
                    add_object(${operator}_${signature}__${target}__${form} ${operator}_${form} ${target} ${signature}
                        "layouts=${layouts}" ${knobs})
                endforeach()
            endforeach()
        endforeach()
    endforeach()
    list(JOIN objects "\n" lines)
    file(CONFIGURE OUTPUT ${dir}/objects.txt CONTENT "${lines}\n" @ONLY)
    set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    set(${objects_out} ${objects} PARENT_SCOPE)
endfunction()

# The forms that `operator` has on `target`.
function(hewn_forms out operator target)
    get_property(forms GLOBAL PROPERTY HEWN_${operator}_FORMS)
    get_property(features GLOBAL PROPERTY HEWN_${target}_FEATURES)
    get_property(always GLOBAL PROPERTY HEWN_${target}_ALWAYS)
    set(fitting)
    foreach(form IN LISTS forms)
        get_property(needs GLOBAL PROPERTY HEWN_${operator}_${form}_NEEDS)
        if(NOT needs OR needs IN_LIST features OR needs IN_LIST always)
            list(APPEND fitting ${form})
        endif()
    endforeach()
    set(${out} ${fitting} PARENT_SCOPE)
endfunction()

# ---- X-macros ----

# variants.inc: HEWN_VARIANT(operator, signature, target, forms), one line a variant, where forms is one
#   HEWN_FORM(variant, form, layouts...) a form: the function hewnk_<variant>__<form>_argv, layouts as binary numbers.
# targets.inc: HEWN_TARGET(name, rank, "halide target", probes) with one HEWN_PROBE("feature") a probe, in ascending rank.
function(hewn_write_lists)
    set(variants "// Written by cmake/Variants.cmake from generators/kernels.cmake and generators/targets.cmake.\n")
    set(targets "${variants}")
    foreach(target IN LISTS chosen_targets)
        hewn_read_tuning(${target})
        hewn_halide_target(halide_target ${target} "")
        get_property(rank GLOBAL PROPERTY HEWN_${target}_RANK)
        get_property(probes GLOBAL PROPERTY HEWN_${target}_PROBE)
        list(TRANSFORM probes REPLACE "(.+)" "HEWN_PROBE(\"\\1\")")
        list(JOIN probes " " probes)
        string(APPEND targets "HEWN_TARGET(${target}, ${rank}, \"${halide_target}\", ${probes})\n")
        foreach(operator IN LISTS chosen_operators)
            hewn_forms(forms ${operator} ${target})
            get_property(signatures GLOBAL PROPERTY HEWN_${operator}_SIGNATURES)
            foreach(signature IN LISTS signatures)
                if(NOT "${operator}_${signature}" IN_LIST chosen_signatures)
                    continue()
                endif()
                set(words)
                foreach(form IN LISTS forms)
                    get_property(layouts GLOBAL PROPERTY HEWN_${operator}_${form}_LAYOUTS)
                    list(TRANSFORM layouts PREPEND "0b")
                    list(JOIN layouts ", " layouts)
                    string(APPEND words " HEWN_FORM(${operator}_${signature}__${target}, ${form}, ${layouts})")
                endforeach()
                string(APPEND variants "HEWN_VARIANT(${operator}, ${signature}, ${target},${words})\n")
            endforeach()
        endforeach()
    endforeach()
    file(CONFIGURE OUTPUT ${HEWN_GENERATED_DIR}/include/variants.inc CONTENT "${variants}" @ONLY)
    file(CONFIGURE OUTPUT ${HEWN_GENERATED_DIR}/include/targets.inc CONTENT "${targets}" @ONLY)
    add_library(hewn_variants INTERFACE)
    target_include_directories(hewn_variants INTERFACE $<BUILD_INTERFACE:${HEWN_GENERATED_DIR}/include>)
endfunction()
