# The operator table: reads generators/operators.cmake, derives the signatures, and writes what
# other languages read of it.
#
# Sets, for each operator in HEWN_ALL_OPERATORS, HEWN_<operator>_<KEY>: TYPE (its number), NAME,
# COMMAND, FORMULA, ONNX, IN_PLACE, WRAPS, ONE_WIDTH, KERNELS (the operator that has them), TENSORS,
# SIGNATURE (tensors), LEVELS, SIGNATURES (of its own kernels; HEWN_KERNEL_OPERATORS have some).
# HEWN_<operator>_<tensor>_<KEY>: ROLE, LIKE, INTEGERS, OPTIONAL, ONE, BLOCKS, MIDDLE, MIXED.
# HEWN_<operator>_<attribute>_<KEY>, for each in HEWN_<operator>_ATTRIBUTES: FROM, VALUES.
# HEWN_<operator>_BUILT_SIGNATURES: those of the level HEWN_FEATURE_LEVEL, the newest of this build.
# HEWN_<operator>_<level>_<KEY>: RANKS, and the types of a tensor as KEY. HEWN_<operator>_FORMS, and
# HEWN_<operator>_<form>_<KEY>. hewn_write_operators() writes into the build tree
# generated/operators.json, types.inc, operators.inc, attributes.inc and onnx.inc in
# generated/include/, and hewn/operators.hpp, a part of hewn.hpp, in generated/public/.

# ---- Reading ----

function(hewn_data_types)
    set_property(GLOBAL PROPERTY HEWN_DATA_TYPES ${ARGN})
endfunction()

function(hewn_feature_levels)
    set_property(GLOBAL PROPERTY HEWN_FEATURE_LEVELS ${ARGN})
endfunction()

# hewn_set_keys(<name> <prefix> <KEY>...): the properties <KEY> of <name> from the variables
# <prefix>_<KEY>.
macro(hewn_set_keys name prefix)
    foreach(key ${ARGN})
        hewn_set(${name} ${key} ${${prefix}_${key}})
    endforeach()
endmacro()

function(hewn_operator operator type name)
    cmake_parse_arguments(PARSE_ARGV 3 operator "IN_PLACE;WRAPS;ONE_WIDTH"
        "COMMAND;FORMULA;ONNX;KERNELS" "")
    set(operator_TYPE ${type})
    set(operator_NAME ${name})
    set_property(GLOBAL APPEND PROPERTY HEWN_ALL_OPERATORS ${operator})
    if(NOT operator_KERNELS)
        set(operator_KERNELS ${operator})
        set_property(GLOBAL APPEND PROPERTY HEWN_KERNEL_OPERATORS ${operator})
    endif()
    hewn_set_keys(${operator} operator TYPE NAME COMMAND ONNX IN_PLACE WRAPS ONE_WIDTH KERNELS)
    # Text, with semicolons.
    set_property(GLOBAL PROPERTY HEWN_${operator}_FORMULA "${operator_FORMULA}")
endfunction()

function(hewn_tensor operator tensor role)
    cmake_parse_arguments(PARSE_ARGV 3 tensor "ONE;BLOCKS;MIDDLE;MIXED" "LIKE;INTEGERS;OPTIONAL" "")
    set(tensor_ROLE ${role})
    set_property(GLOBAL APPEND PROPERTY HEWN_${operator}_TENSORS ${tensor})
    hewn_set_keys(${operator}_${tensor} tensor ROLE LIKE INTEGERS OPTIONAL ONE BLOCKS MIDDLE MIXED)
endfunction()

function(hewn_attribute operator attribute)
    cmake_parse_arguments(PARSE_ARGV 2 attribute "" "FROM" "VALUES")
    set_property(GLOBAL APPEND PROPERTY HEWN_${operator}_ATTRIBUTES ${attribute})
    hewn_set_keys(${operator}_${attribute} attribute FROM VALUES)
endfunction()

function(hewn_signature operator)
    hewn_set(${operator} SIGNATURE ${ARGN})
endfunction()

function(hewn_level operator level)
    cmake_parse_arguments(PARSE_ARGV 2 level "" "" "RANKS")
    list(POP_FRONT level_RANKS least most)
    set_property(GLOBAL APPEND PROPERTY HEWN_${operator}_LEVELS ${level})
    hewn_set(${operator}_${level} RANKS ${least} ${most})
    foreach(word IN LISTS level_RANKS)
        string(REGEX MATCH "^([^=]+)=(.+)$" word ${word})
        string(REPLACE "," ";" types ${CMAKE_MATCH_2})
        hewn_set(${operator}_${level} ${CMAKE_MATCH_1} ${types})
    endforeach()
endfunction()

function(hewn_form operator form)
    cmake_parse_arguments(PARSE_ARGV 2 form "GPU" "ONLY;NEEDS;OF;FROM" "LAYOUTS;WITHOUT")
    if(NOT form_OF)
        set(form_OF ${operator})
    endif()
    set_property(GLOBAL APPEND PROPERTY HEWN_${operator}_FORMS ${form})
    foreach(key LAYOUTS ONLY NEEDS WITHOUT OF FROM GPU)
        hewn_set(${operator}_${form} ${key} ${form_${key}})
    endforeach()
endfunction()

function(hewn_onnx operator domain name)
    cmake_parse_arguments(PARSE_ARGV 3 node "BETWEEN" "" "VERSIONS")
    hewn_get(operator ${operator} NAME)
    string(TOLOWER ${node_BETWEEN} between)
    list(JOIN node_VERSIONS ", " versions)
    set(words "HEWN_OPERATOR_${operator_NAME}, \"${domain}\", \"${name}\", ${between}")
    set_property(GLOBAL APPEND_STRING PROPERTY HEWN_ONNX_NODES
        "HEWN_ONNX_NODE(${words}, ${versions})\n")
endfunction()

include(${PROJECT_SOURCE_DIR}/generators/operators.cmake)

# ---- The newest feature level of this build ----

get_property(all_levels GLOBAL PROPERTY HEWN_FEATURE_LEVELS)
list(GET all_levels -1 newest)
set(HEWN_FEATURE_LEVEL ${newest} CACHE STRING "Newest feature level to build: what needs a newer \
one is left out. 6.2: what DirectML had at that level")
if(NOT HEWN_FEATURE_LEVEL IN_LIST all_levels)
    list(JOIN all_levels " " known)
    message(FATAL_ERROR "HEWN_FEATURE_LEVEL: '${HEWN_FEATURE_LEVEL}' is not one of: ${known}")
endif()

list(FIND all_levels ${HEWN_FEATURE_LEVEL} newest)
math(EXPR newest "${newest} + 1")
list(SUBLIST all_levels 0 ${newest} built_levels)

# ---- The signatures: every combination of a level's types of whole bytes ----

# hewn_derive_signatures(<operator> <key> <level>...): sets HEWN_<operator>_<key> to those of the
# first level, of these, that it has.
function(hewn_derive_signatures operator key)
    hewn_get(operator ${operator} SIGNATURE LEVELS WRAPS ONE_WIDTH)
    set(newest)
    foreach(level IN LISTS operator_LEVELS)
        if(level IN_LIST ARGN)
            set(newest ${level})
            break()
        endif()
    endforeach()
    if(NOT newest)
        return()
    endif()
    set(signatures "")
    foreach(tensor IN LISTS operator_SIGNATURE)
        hewn_get(tensor ${operator}_${tensor} LIKE)
        if(tensor_LIKE)
            set(tensor ${tensor_LIKE})
        endif()
        hewn_get(level ${operator}_${newest} ${tensor})
        list(FILTER level_${tensor} EXCLUDE REGEX "^[a-z]+[1-7]$")
        if(operator_WRAPS)
            list(FILTER level_${tensor} EXCLUDE REGEX "^u")
        endif()
        set(longer)
        foreach(signature IN LISTS signatures ITEMS "")
            foreach(type IN LISTS level_${tensor})
                if(signature OR NOT signatures)
                    list(APPEND longer "${signature}_${type}")
                endif()
            endforeach()
        endforeach()
        set(signatures ${longer})
    endforeach()
    list(TRANSFORM signatures REPLACE "^_" "")
    if(operator_ONE_WIDTH)
        list(FILTER signatures INCLUDE REGEX "^[a-z]8(_[a-z]8)*$|^[a-z]16(_[a-z]16)*$")
    endif()
    hewn_set(${operator} ${key} ${signatures})
endfunction()

get_property(all_operators GLOBAL PROPERTY HEWN_ALL_OPERATORS)
get_property(kernel_operators GLOBAL PROPERTY HEWN_KERNEL_OPERATORS)
foreach(operator IN LISTS kernel_operators)
    hewn_derive_signatures(${operator} SIGNATURES ${all_levels})
    hewn_derive_signatures(${operator} BUILT_SIGNATURES ${built_levels})
endforeach()

# ---- Writing ----

# 6.2 as DML_FEATURE_LEVEL's 0x6200; hewn as a number above all of DirectML's; nothing as 0.
function(hewn_level_number out level)
    set(number 0)
    if(level MATCHES "^([0-9]+)\\.([0-9]+)$")
        math(EXPR number "${CMAKE_MATCH_1} << 12 | ${CMAKE_MATCH_2} << 8" OUTPUT_FORMAT HEXADECIMAL)
    elseif(level STREQUAL "hewn")
        set(number 0x10000)
    elseif(level)
        message(FATAL_ERROR "generators/operators.cmake: '${level}' is no feature level")
    endif()
    set(${out} ${number} PARENT_SCOPE)
endfunction()

# "OutputScaleTensor" as "output_scale_tensor"
function(hewn_snake_case out name)
    string(REGEX REPLACE "([A-Z])" "_\\1" name ${name})
    string(TOLOWER ${name} name)
    string(SUBSTRING ${name} 1 -1 name)
    set(${out} ${name} PARENT_SCOPE)
endfunction()

# "quantize_linear" as "QuantizeLinear"
function(hewn_camel_case out name)
    string(REPLACE "_" ";" words ${name})
    set(result)
    foreach(word IN LISTS words)
        string(SUBSTRING ${word} 0 1 first)
        string(SUBSTRING ${word} 1 -1 rest)
        string(TOUPPER ${first} first)
        string(APPEND result ${first}${rest})
    endforeach()
    set(${out} ${result} PARENT_SCOPE)
endfunction()

# types.inc: HEWN_TYPE(word, name, number, bits) for each data type, HEWN_LEVEL(name, "word",
# number) for each feature level, e.g. (6_2, "6.2", 0x6200); HEWN_BUILT_LEVEL(number) for this
# build's newest.
function(hewn_write_types)
    set(lines)
    get_property(types GLOBAL PROPERTY HEWN_DATA_TYPES)
    foreach(type IN LISTS types)
        string(REGEX MATCH "^([a-z]+([0-9]+))=([A-Z0-9]+):([0-9]+)$" type ${type})
        string(APPEND lines
            "HEWN_TYPE(${CMAKE_MATCH_1}, ${CMAKE_MATCH_3}, ${CMAKE_MATCH_4}, ${CMAKE_MATCH_2})\n")
    endforeach()
    get_property(levels GLOBAL PROPERTY HEWN_FEATURE_LEVELS)
    foreach(level IN LISTS levels)
        hewn_level_number(number ${level})
        string(REPLACE "." "_" name ${level})
        string(TOUPPER ${name} name)
        string(APPEND lines "HEWN_LEVEL(${name}, \"${level}\", ${number})\n")
    endforeach()
    hewn_level_number(number ${HEWN_FEATURE_LEVEL})
    string(APPEND lines "HEWN_BUILT_LEVEL(${number})\n")
    hewn_write_list(types.inc "HEWN_TYPE;HEWN_LEVEL;HEWN_BUILT_LEVEL"
        "generators/operators.cmake" "${lines}")
endfunction()

# Sets <out>_rows, _json and _members to an operator's tensors, in C++ macros, in JSON and as
# members of a C++ description; _arguments to those members' addresses.
function(hewn_tell_tensors out operator)
    foreach(part rows json members arguments)
        set(${part})
    endforeach()
    hewn_get(operator ${operator} TENSORS)
    foreach(tensor IN LISTS operator_TENSORS)
        hewn_get(tensor ${operator}_${tensor} ROLE LIKE INTEGERS OPTIONAL ONE BLOCKS MIDDLE
            MIXED)
        string(TOLOWER "${tensor_ROLE}" role)
        string(TOLOWER "${tensor_ONE}" one)
        string(TOLOWER "${tensor_BLOCKS}" blocks)
        string(TOLOWER "${tensor_MIDDLE}" middle)
        string(TOLOWER "${tensor_MIXED}" mixed)
        list(FIND operator_TENSORS "${tensor_LIKE}" like)
        hewn_level_number(optional "${tensor_OPTIONAL}")
        hewn_snake_case(member ${tensor})
        set(integers ${tensor_INTEGERS})
        if(NOT integers)
            set(integers none)
        endif()
        string(APPEND rows "    HEWN_TENSOR("
            "${tensor}, ${member}, ${role}, ${like}, ${integers}, ${optional}, ${one}, ${blocks}, "
            "${middle}, ${mixed})\n")
        list(APPEND json "{\"name\": \"${tensor}\", \"role\": \"${role}\", \"like\": ${like}, \
\"integers\": \"${tensor_INTEGERS}\", \"optional_from\": \"${tensor_OPTIONAL}\", \
\"one_element\": ${one}, \"blocks\": ${blocks}, \"middle\": ${middle}, \"mixed\": ${mixed}}")
        set(kind TensorDesc)
        if(tensor_OPTIONAL)
            set(kind OptionalTensorDesc)
        endif()
        string(APPEND members "    ${kind} ${member};  // ${tensor}\n")
        list(APPEND arguments "detail::pointer(desc.${member})")
    endforeach()
    list(JOIN json ",\n      " json)
    list(JOIN arguments ",\n                    " arguments)
    foreach(part rows json members arguments)
        set(${out}_${part} "${${part}}" PARENT_SCOPE)
    endforeach()
endfunction()

# Sets <out>_rows and _json to an operator's levels.
function(hewn_tell_levels out operator)
    set(rows)
    set(json)
    hewn_get(operator ${operator} TENSORS LEVELS)
    foreach(level IN LISTS operator_LEVELS)
        hewn_get(level ${operator}_${level} RANKS ${operator_TENSORS})
        hewn_level_number(number ${level})
        list(JOIN level_RANKS ", " ranks)
        set(masks)
        set(types)
        foreach(tensor IN LISTS operator_TENSORS)
            list(JOIN level_${tensor} " | " mask)
            list(JOIN level_${tensor} "\", \"" words)
            if(mask)
                list(APPEND types "\"${tensor}\": [\"${words}\"]")
            else()
                set(mask none)
            endif()
            list(APPEND masks "${mask}")
        endforeach()
        list(JOIN masks ", " masks)
        list(JOIN types ", " types)
        string(APPEND rows "    HEWN_LEVEL(${number}, ${ranks}, ${masks})\n")
        list(APPEND json "{\"level\": \"${level}\", \"ranks\": [${ranks}], \"types\": {${types}}}")
    endforeach()
    list(JOIN json ",\n      " json)
    set(${out}_rows "${rows}" PARENT_SCOPE)
    set(${out}_json "${json}" PARENT_SCOPE)
endfunction()

# Sets <out>_rows, _json, _members and _arguments to an operator's attributes, as hewn_tell_tensors.
function(hewn_tell_attributes out operator)
    foreach(part rows json members arguments)
        set(${part})
    endforeach()
    hewn_get(operator ${operator} TYPE ATTRIBUTES)
    foreach(attribute IN LISTS operator_ATTRIBUTES)
        hewn_get(attribute ${operator}_${attribute} FROM VALUES)
        hewn_level_number(level ${attribute_FROM})
        hewn_camel_case(enumeration ${attribute})
        set(values)
        set(words)
        foreach(value IN LISTS attribute_VALUES)
            string(REGEX MATCH "^([a-z0-9]+)=([A-Z0-9]+):([0-9]+)$" value ${value})
            string(APPEND values
                " HEWN_VALUE(${CMAKE_MATCH_1}, ${CMAKE_MATCH_2}, ${CMAKE_MATCH_3})")
            list(APPEND words "\"${CMAKE_MATCH_1}\"")
        endforeach()
        string(REGEX MATCH "=([A-Z0-9]+):" default "${attribute_VALUES}")
        string(APPEND rows "HEWN_ATTRIBUTE(${operator}, ${operator_TYPE}, ${attribute}, ${level},"
            "${values})\n")
        list(JOIN words ", " words)
        list(APPEND json "{\"name\": \"${attribute}\", \"from\": \"${attribute_FROM}\", \
\"values\": [${words}]}")
        string(APPEND members "    ${enumeration} ${attribute} = ${enumeration}::"
            "${CMAKE_MATCH_1};  // ONNX's attribute\n")
        list(APPEND arguments "static_cast<int32_t>(desc.${attribute})")
    endforeach()
    list(JOIN json ",\n      " json)
    list(JOIN arguments ", " arguments)
    foreach(part rows json members arguments)
        set(${out}_${part} "${${part}}" PARENT_SCOPE)
    endforeach()
endfunction()

# operators.inc: HEWN_OPERATOR(operator, kernels, number, name, command, "formula", "onnx",
# in_place, wraps, one_width, (signature), (tensors), (levels)), with
#   HEWN_TENSOR(name, member, role, like, integers, optional_from, one, blocks, middle, mixed) for
#   each tensor, `like` and the signature being tensors' indices, and
#   HEWN_LEVEL(number, least, most, types...) for each level, newest first, with the types of each
#   tensor, `none` where it is like another.
# attributes.inc: HEWN_ATTRIBUTE(operator, type, attribute, level, values) for each attribute, with
#   HEWN_VALUE(word, name, ONNX's number) for each value, from 0 on.
# onnx.inc: HEWN_ONNX_NODE(type, "domain", "name", between, versions...) for each node of ONNX's.
# operators.json has what operators.inc has for programs in other languages. hewn/operators.hpp has
# a description and a compile() for each operator.
function(hewn_write_operators)
    hewn_write_types()
    foreach(part inc attributes json hpp)
        set(${part})
    endforeach()
    foreach(operator IN LISTS all_operators)
        hewn_get(operator ${operator} TYPE NAME COMMAND ONNX IN_PLACE WRAPS ONE_WIDTH KERNELS
            TENSORS SIGNATURE SIGNATURES)
        get_property(formula GLOBAL PROPERTY HEWN_${operator}_FORMULA)
        hewn_tell_tensors(tensors ${operator})
        hewn_tell_attributes(attributes ${operator})
        hewn_tell_levels(levels ${operator})
        string(TOLOWER "${operator_IN_PLACE}" in_place)
        string(TOLOWER "${operator_WRAPS}" wraps)
        string(TOLOWER "${operator_ONE_WIDTH}" one_width)
        set(indices)
        foreach(tensor IN LISTS operator_SIGNATURE)
            list(FIND operator_TENSORS ${tensor} index)
            list(APPEND indices ${index})
        endforeach()
        list(JOIN indices ", " signature)
        string(APPEND inc
            "HEWN_OPERATOR(${operator}, ${operator_KERNELS}, ${operator_TYPE}, ${operator_NAME}, "
            "${operator_COMMAND}, \"${formula}\", \"${operator_ONNX}\", ${in_place}, ${wraps}, "
            "${one_width}, (${signature}),\n"
            "  (\n${tensors_rows}  ),\n  (\n${levels_rows}  ))\n")
        string(APPEND attributes "${attributes_rows}")
        list(TRANSFORM operator_SIGNATURES REPLACE "(.+)" "\"\\1\"")
        list(JOIN operator_SIGNATURES ", " signatures)
        if(json)
            string(APPEND json ",\n   ")
        endif()
        string(APPEND json
            "{\"name\": \"${operator}\", \"number\": ${operator_TYPE}, "
            "\"directml\": \"${operator_NAME}\", \"command\": \"${operator_COMMAND}\", "
            "\"formula\": \"${formula}\", \"onnx\": \"${operator_ONNX}\", "
            "\"in_place\": ${in_place}, \"one_width\": ${one_width}, "
            "\"signature\": [${signature}],\n"
            "    \"kernels\": \"${operator_KERNELS}\", \"signatures\": [${signatures}],\n"
            "    \"tensors\": [\n      ${tensors_json}],\n"
            "    \"attributes\": [${attributes_json}],\n"
            "    \"levels\": [\n      ${levels_json}]}")
        hewn_camel_case(camel ${operator})
        set(attributes_last)
        if(attributes_arguments)
            set(attributes_last ", {${attributes_arguments}}")
        endif()
        string(APPEND hpp
            "// ${operator_NAME}: hewn_${operator}_desc.\n"
            "struct ${camel}Desc {\n${tensors_members}${attributes_members}};\n"
            "// hewn_compile of it.\n"
            "inline Operator compile("
            "const ${camel}Desc &desc, const CompileOptions &options = {},\n"
            "                        const Device *device = nullptr) {\n"
            "    return compile(HEWN_OPERATOR_${operator_NAME},\n"
            "                   {${tensors_arguments}},\n"
            "                   options, device${attributes_last});\n}\n\n")
    endforeach()
    hewn_write_list(operators.inc "HEWN_OPERATOR;HEWN_TENSOR;HEWN_LEVEL"
        "generators/operators.cmake" "${inc}")
    hewn_write_list(attributes.inc "HEWN_ATTRIBUTE;HEWN_VALUE" "generators/operators.cmake"
        "${attributes}")
    get_property(nodes GLOBAL PROPERTY HEWN_ONNX_NODES)
    hewn_write_list(onnx.inc "HEWN_ONNX_NODE" "generators/operators.cmake" "${nodes}")
    file(GENERATE OUTPUT ${HEWN_GENERATED_DIR}/operators.json CONTENT "[\n   ${json}\n]\n")
    file(GENERATE OUTPUT ${HEWN_GENERATED_DIR}/public/hewn/operators.hpp CONTENT
"// A part of hewn.hpp, written from hewn's operator table (generators/operators.cmake): each
// operator's description, which owns its tensors', and its compile(). hewn.h documents the
// operators.
#ifndef HEWN_HEWN_HPP
#error \"include hewn/hewn.hpp\"
#endif

${hpp}")
endfunction()
