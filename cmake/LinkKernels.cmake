# hewn_link_kernels(<program> <kernel>... [TARGETS <target>...]): links the program, or shared
# library, with hewn::hewn_static and with these kernels only.
#
# A kernel is a signature such as add_f32, or an operator such as add, which means all of its
# signatures. A target is cpu, which is the default, gpu, or one target's name.
#
# This is for projects that use hewn, by find_package or by add_subdirectory, from CMake 3.16 on. If
# a package has only the shared library, as on Windows, the program links that, with all of its
# kernels. A package for several architectures has no lists, so the program links all kernels of the
# static library.
#
# How it works: from a static library a linker takes only what is referred to, and it is a table
# that refers to kernels (runtime/dispatch/table.h). The library's own table refers to all of them.
# So the program gets a table of its own in <build folder>/hewn_link_kernels/<program>/, written
# from the library's lists.

cmake_policy(PUSH)
cmake_policy(VERSION 3.16)  # the calling project's may be older

# The lists that a table is compiled from.
set(HEWN_TABLE_LISTS variants.inc plans.inc plan_knobs.inc targets.inc pass_kernels.inc)

# hewn_set_table(<sources> <lists>): the folders of table.cpp and its headers, and of the lists.
function(hewn_set_table sources lists)
    set_property(GLOBAL PROPERTY HEWN_TABLE_SOURCES ${sources})
    set_property(GLOBAL PROPERTY HEWN_TABLE_LISTS ${lists})
endfunction()

# Writes a file only if its content changes, so that nothing is built again without need.
function(hewn_write_changed file content)
    set(before)
    if(EXISTS ${file})
        file(READ ${file} before)
    endif()
    if(NOT before STREQUAL content)
        file(WRITE ${file} "${content}")
    endif()
endfunction()

# Sets <out> to the lines of <list>.inc that begin with <beginning>.
function(hewn_read_list out list beginning)
    get_property(lists GLOBAL PROPERTY HEWN_TABLE_LISTS)
    file(STRINGS ${lists}/${list}.inc lines REGEX "^${beginning}")
    set(${out} "${lines}" PARENT_SCOPE)
endfunction()

# Sets <out> to the targets that the further arguments (TARGETS) name: cpu, gpu or one by name. Sets
# <out>_gpus to whether targets of GPUs are among them.
function(hewn_table_targets out caller)
    hewn_read_list(cpu targets "HEWN_TARGET\\(")
    hewn_read_list(gpu targets "HEWN_GPU_TARGET\\(")
    foreach(kind cpu gpu)
        list(TRANSFORM ${kind} REPLACE "^[A-Z_]+\\(([a-z0-9_]+),.*" "\\1")
    endforeach()
    set(chosen)
    foreach(name IN LISTS ARGN)
        if(name MATCHES "^(cpu|gpu)$" AND ${name})
            list(APPEND chosen ${${name}})
        elseif(name IN_LIST cpu OR name IN_LIST gpu)
            list(APPEND chosen ${name})
        else()
            string(REPLACE ";" " " known "${cpu};${gpu}")
            message(FATAL_ERROR "${caller}: TARGETS: '${name}' is not cpu, gpu or one of the "
                "targets of this hewn: ${known}")
        endif()
    endforeach()
    set(gpus 0)
    foreach(name IN LISTS gpu)
        if(name IN_LIST chosen)
            set(gpus 1)
        endif()
    endforeach()
    set(${out} "${chosen}" PARENT_SCOPE)
    set(${out}_gpus ${gpus} PARENT_SCOPE)
endfunction()

# Fails unless hewn_link_kernels may be called for this program, or shared library.
function(hewn_check_program caller program)
    if(NOT TARGET ${program})
        message(FATAL_ERROR
            "${caller}: there is no target ${program}: call this after add_executable")
    endif()
    get_target_property(type ${program} TYPE)
    if(NOT type MATCHES "^(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY)$")
        message(FATAL_ERROR "${caller}: ${program} is a ${type}, which is not linked: call this "
            "for the program or the shared library that links it")
    endif()
    get_target_property(folder ${program} SOURCE_DIR)
    if(NOT folder STREQUAL CMAKE_CURRENT_SOURCE_DIR)
        message(FATAL_ERROR "${caller}: ${program} was made in ${folder}: call this there")
    endif()
    get_target_property(called ${program} HEWN_LINKS_KERNELS)
    if(called)
        message(FATAL_ERROR "${caller}: called twice: name all kernels in one call")
    endif()
    set_target_properties(${program} PROPERTIES HEWN_LINKS_KERNELS TRUE)
    if(NOT ARGN)
        message(FATAL_ERROR "${caller}: names no kernel, such as add_f32 or quantize_linear_f32_u8")
    endif()
endfunction()

# Sets table_variants and table_plans to the lines of the lists for these kernels and targets.
# <target_words>: what messages call the targets.
function(hewn_table_lines caller kernels targets target_words)
    hewn_read_list(lines variants "HEWN_VARIANT\\(")
    hewn_read_list(plans plans "HEWN_PLAN\\(")
    set(table_variants)
    set(table_plans)
    set(known)
    set(operators)
    set(linked)
    foreach(line IN LISTS lines)
        string(REGEX MATCH "^HEWN_VARIANT\\(([a-z0-9_]+), ([a-z0-9_]+), ([a-z0-9_]+)," words
            "${line}")
        set(operator ${CMAKE_MATCH_1})
        set(kernel ${operator}_${CMAKE_MATCH_2})
        set(target ${CMAKE_MATCH_3})
        list(APPEND known ${kernel})
        list(APPEND operators ${operator})
        if(NOT (kernel IN_LIST kernels OR operator IN_LIST kernels) OR NOT target IN_LIST targets)
            continue()
        endif()
        list(APPEND linked ${kernel} ${operator})
        string(APPEND table_variants "${line}\n")
        set(plan ${plans})
        list(FILTER plan INCLUDE REGEX "^HEWN_PLAN\\(${kernel}__${target},")
        string(APPEND table_plans "${plan}\n")
    endforeach()
    list(REMOVE_DUPLICATES known)
    list(REMOVE_DUPLICATES operators)
    foreach(kernel IN LISTS kernels)
        if(kernel IN_LIST linked)
            continue()
        endif()
        if(kernel IN_LIST known OR kernel IN_LIST operators)
            message(FATAL_ERROR "${caller}: '${kernel}' has no kernel for TARGETS ${target_words}")
        endif()
        set(near ${known})  # only kernels of the operator, if the word begins with its name
        foreach(operator IN LISTS operators)
            if(kernel MATCHES "^${operator}_")
                list(FILTER near INCLUDE REGEX "^${operator}_")
            endif()
        endforeach()
        string(REPLACE ";" " " words "${near}")
        message(FATAL_ERROR
            "${caller}: '${kernel}' is not an operator or kernel of this hewn; kernels: ${words}")
    endforeach()
    set(table_variants "${table_variants}" PARENT_SCOPE)
    set(table_plans "${table_plans}" PARENT_SCOPE)
endfunction()

function(hewn_link_kernels program)
    cmake_parse_arguments(PARSE_ARGV 1 link "" "" "TARGETS")
    set(kernels ${link_UNPARSED_ARGUMENTS})
    set(caller "hewn_link_kernels(${program})")
    hewn_check_program("${caller}" ${program} ${kernels})
    get_property(lists GLOBAL PROPERTY HEWN_TABLE_LISTS)
    if(NOT EXISTS ${lists}/variants.inc)
        message(STATUS "${caller}: this hewn is for several architectures: ${program} links all of "
            "its kernels")
        target_link_libraries(${program} PRIVATE hewn::hewn_static)
        return()
    endif()
    if(NOT link_TARGETS)
        set(link_TARGETS cpu)
    endif()
    hewn_table_targets(targets "${caller}" ${link_TARGETS})

    string(REPLACE ";" " " words "${link_TARGETS}")
    hewn_table_lines("${caller}" "${kernels}" "${targets}" "${words}")

    if(NOT TARGET hewn::hewn_static OR WIN32)
        message(STATUS "${caller}: this hewn has no static library: ${program} links the shared "
            "one, with all of its kernels")
        target_link_libraries(${program} PRIVATE hewn::hewn)
        return()
    endif()
    get_property(sources GLOBAL PROPERTY HEWN_TABLE_SOURCES)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${lists}/variants.inc
        ${lists}/plans.inc ${lists}/targets.inc)
    set(dir ${CMAKE_CURRENT_BINARY_DIR}/hewn_link_kernels/${program})
    hewn_write_changed(${dir}/variants.inc
        "${table_variants}#undef HEWN_VARIANT\n#undef HEWN_FORM\n")
    hewn_write_changed(${dir}/plans.inc "${table_plans}#undef HEWN_PLAN\n#undef HEWN_PLAN_KNOB\n")
    # The table is C or C++, whichever language the calling folder has enabled.
    if(CMAKE_C_COMPILER_LOADED)
        set(table ${dir}/table.c)
        set(standard -std=gnu11)
    elseif(CMAKE_CXX_COMPILER_LOADED)
        set(table ${dir}/table.cpp)
        set(standard -std=gnu++17)
    else()
        message(FATAL_ERROR "${caller}: needs the language C or CXX, in project() or by "
            "enable_language")
    endif()
    hewn_write_changed(${table} "// Written by hewn_link_kernels: the kernels that ${program} links.
#define HEWN_LINKS_GPUS ${targets_gpus}
#define HEWN_CHOSEN_BY \"${caller} in its CMakeLists.txt\"
#include \"${sources}/table.cpp\"
")
    # The table is compiled without warnings and by its own standard, whatever the project asks for.
    # Unity builds and precompiled headers would mix its macros with others.
    set_source_files_properties(${table} PROPERTIES
        COMPILE_OPTIONS "-w;${standard}" INCLUDE_DIRECTORIES "${dir};${lists}"
        SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
    target_sources(${program} PRIVATE ${table})
    target_link_libraries(${program} PRIVATE hewn::hewn_static)
endfunction()

cmake_policy(POP)
