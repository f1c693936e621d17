# The files from which the runtime, the tests and the tools learn about the variants.
#
# Reads what Variants.cmake has resolved and, of the lists, the chips, knobs, stages, targets and
# transpositions. In the build tree, writes generated/kernels.json and, in generated/include/, the
# X-macros variants.inc, plans.inc, plan_knobs.inc, targets.inc, chips.inc, stages.inc and
# transpositions.inc.
# The target hewn_variants gives programs that folder.

# Writes generated/include/<file>, with a first line that names its sources. Whoever includes it
# defines those of its macros that it needs; after it none is defined. Written while configuring,
# since hewn_link_kernels reads some of these lists then.
function(hewn_write_list file macros sources lines)
    foreach(macro IN LISTS macros)
        string(PREPEND lines "#ifndef ${macro}\n#define ${macro}(...)\n#endif\n")
        string(APPEND lines "#undef ${macro}\n")
    endforeach()
    file(CONFIGURE OUTPUT ${HEWN_GENERATED_DIR}/include/${file} @ONLY
        CONTENT "// Written by cmake/Generated.cmake from ${sources}.\n${lines}")
endfunction()

# variants.inc: HEWN_VARIANT(operator, signature, target, forms) for each variant. forms has for
# each form
#   HEWN_FORM(entry, form, layouts): the function to call, hewnk_<owner>__<form> (a GPU's:
#   ..._argv); layouts as a mask, 0 for none.
function(hewn_write_variants)
    set(lines)
    get_property(variants GLOBAL PROPERTY HEWN_VARIANTS)
    foreach(variant IN LISTS variants)
        hewn_get(variant ${variant} OPERATOR SIGNATURE TARGET FORMS)
        set(forms)
        foreach(form IN LISTS variant_FORMS)
            hewn_get(form ${variant}__${form} ENTRY LAYOUTS)
            list(TRANSFORM form_LAYOUTS PREPEND "1u << 0b")
            list(JOIN form_LAYOUTS " | " layouts)
            if(NOT layouts)
                set(layouts 0)
            endif()
            string(APPEND forms " HEWN_FORM(${form_ENTRY}, ${form}, ${layouts})")
        endforeach()
        string(APPEND lines "HEWN_VARIANT("
            "${variant_OPERATOR}, ${variant_SIGNATURE}, ${variant_TARGET},${forms})\n")
    endforeach()
    hewn_write_list(variants.inc "HEWN_VARIANT;HEWN_FORM"
        "generators/operators.cmake, generators/targets.cmake and the tuning files" "${lines}")
endfunction()

# plans.inc: HEWN_PLAN(variant, knobs) for each variant. knobs has HEWN_PLAN_KNOB(knob, value) for
# each knob, in the order of plan_knobs.inc.
function(hewn_write_plans)
    set(lines)
    get_property(variants GLOBAL PROPERTY HEWN_VARIANTS)
    foreach(variant IN LISTS variants)
        hewn_get(plan ${variant}__plan KNOBS)
        list(TRANSFORM plan_KNOBS REPLACE "(.+)=(.+)" "HEWN_PLAN_KNOB(\\1, \\2)")
        list(JOIN plan_KNOBS " " knobs)
        string(APPEND lines "HEWN_PLAN(${variant}, ${knobs})\n")
    endforeach()
    hewn_write_list(plans.inc "HEWN_PLAN;HEWN_PLAN_KNOB"
        "the lists in generators/ and the tuning files" "${lines}")
endfunction()

# plan_knobs.inc: HEWN_PLAN_KNOB(knob, default) for each knob of a plan.
function(hewn_write_plan_knobs)
    set(lines)
    get_property(knobs GLOBAL PROPERTY HEWN_PLAN_KNOBS)
    foreach(knob IN LISTS knobs)
        hewn_get(knob ${knob} VALUES)
        list(GET knob_VALUES 0 default)
        string(APPEND lines "HEWN_PLAN_KNOB(${knob}, ${default})\n")
    endforeach()
    hewn_write_list(plan_knobs.inc "HEWN_PLAN_KNOB"
        "generators/knobs.cmake: each knob of a plan and its default" "${lines}")
endfunction()

# targets.inc, in ascending rank: HEWN_TARGET(name, rank, "halide target", probes) for each CPU
# target, with HEWN_PROBE("feature") for each probe; HEWN_GPU_TARGET(name, rank, "halide target",
# device, capability) for each GPU target, with CUDA's capability as 7.5, else 0.
function(hewn_write_targets)
    set(lines)
    foreach(target IN LISTS chosen_targets)
        hewn_halide_target(halide_target ${target})
        hewn_get(target ${target} RANK DEVICE CAPABILITY PROBE)
        set(words "${target}, ${target_RANK}, \"${halide_target}\"")
        if(target_DEVICE)
            string(TOUPPER ${target_DEVICE} device)
            string(APPEND lines
                "HEWN_GPU_TARGET(${words}, HEWN_DEVICE_${device}, ${target_CAPABILITY})\n")
        else()
            list(TRANSFORM target_PROBE REPLACE "(.+)" "HEWN_PROBE(\"\\1\")")
            list(JOIN target_PROBE " " probes)
            string(APPEND lines "HEWN_TARGET(${words}, ${probes})\n")
        endif()
    endforeach()
    hewn_write_list(targets.inc "HEWN_TARGET;HEWN_PROBE;HEWN_GPU_TARGET" "generators/targets.cmake"
        "${lines}")
endfunction()

# chips.inc: HEWN_CHIP(name, columns...) for each chip of generators/chips.cmake, which explains the
# columns. What a row leaves out is below.
function(hewn_chip name)
    cmake_parse_arguments(PARSE_ARGV 1 chip "AVX512_IN_HALVES"
        "TILE_PREFETCH_FROM;BESIDE_PREFETCH_FROM;TALL_TILE_COLUMNS_APART;KEPT_BELOW"
        "AMD;STREAM_PREFETCH;KERNEL_PREFETCH")
    if(chip_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR
            "generators/chips.cmake: ${name}: '${chip_UNPARSED_ARGUMENTS}' is no column")
    endif()
    string(TOLOWER ${chip_AVX512_IN_HALVES} words)
    foreach(column IN ITEMS "STREAM_PREFETCH:All, kNoInputs" "KERNEL_PREFETCH:0, 0, 0"
            "TILE_PREFETCH_FROM:kNever" "BESIDE_PREFETCH_FROM:kNever" "TALL_TILE_COLUMNS_APART:0"
            "KEPT_BELOW:0" "AMD:0, kNewest")
        string(REGEX MATCH "(.+):(.+)" column ${column})
        list(JOIN chip_${CMAKE_MATCH_1} ", " value)
        if(value STREQUAL "")
            set(value ${CMAKE_MATCH_2})
        endif()
        string(APPEND words ", ${value}")
    endforeach()
    set_property(GLOBAL APPEND_STRING PROPERTY HEWN_CHIPS "HEWN_CHIP(${name}, ${words})\n")
endfunction()

function(hewn_write_chips)
    include(${PROJECT_SOURCE_DIR}/generators/chips.cmake)
    get_property(lines GLOBAL PROPERTY HEWN_CHIPS)
    hewn_write_list(chips.inc "HEWN_CHIP" "generators/chips.cmake" "${lines}")
endfunction()

# transpositions.inc, the lowest rank first: HEWN_TRANSPOSITION(entry, bits, bytes, rank) for each
# transposition, of elements of `bits` bits, for targets of that rank and above.
function(hewn_write_transpositions)
    set(lines)
    foreach(name IN LISTS transpositions)
        hewn_get(transposition ${name} ENTRY BITS BYTES RANK)
        string(APPEND lines "HEWN_TRANSPOSITION(${transposition_ENTRY}, ${transposition_BITS}, "
            "${transposition_BYTES}, ${transposition_RANK})\n")
    endforeach()
    hewn_write_list(transpositions.inc "HEWN_TRANSPOSITION"
        "generators/transpositions.cmake and generators/targets.cmake" "${lines}")
endfunction()

# stages.inc: HEWN_STAGE(entry, name, device, layout) for each stage of a kind of GPU.
function(hewn_write_stages)
    set(lines)
    foreach(stage IN LISTS stages)
        hewn_get(stage stage_${stage} NAME TARGET LAYOUTS)
        hewn_get(target ${stage_TARGET} DEVICE)
        string(TOUPPER ${target_DEVICE} device)
        string(APPEND lines "HEWN_STAGE(hewnk_stage_${stage}_argv, ${stage_NAME}, "
            "HEWN_DEVICE_${device}, 0b0${stage_LAYOUTS})\n")
    endforeach()
    hewn_write_list(stages.inc "HEWN_STAGE"
        "generators/stages.cmake and generators/targets.cmake" "${lines}")
endfunction()

# The knobs of a kind as kernels.json has them: {"<name>": ["<value>"...]...}.
function(hewn_space_json out kind)
    set(spaces)
    get_property(knobs GLOBAL PROPERTY HEWN_${kind}_KNOBS)
    foreach(knob IN LISTS knobs)
        hewn_get(knob ${knob} VALUES)
        list(JOIN knob_VALUES "\", \"" values)
        list(APPEND spaces "\"${knob}\": [\"${values}\"]")
    endforeach()
    list(JOIN spaces ", " spaces)
    set(${out} "{${spaces}}" PARENT_SCOPE)
endfunction()

# The forms of a variant, with their knobs and the targets of their generator runs. Plans are listed
# as forms.
function(hewn_kernels_json out variant)
    set(kernels)
    hewn_get(variant ${variant} OPERATOR SIGNATURE TARGET FORMS)
    hewn_get(target ${variant_TARGET} DEVICE)
    foreach(form IN LISTS variant_FORMS ITEMS plan)
        hewn_get(form ${variant}__${form} OWNER HALIDE_TARGET LAYOUTS KNOBS LLVM_ARGS)
        if(NOT form_OWNER STREQUAL variant OR (target_DEVICE AND form STREQUAL "plan"))
            continue()
        endif()
        hewn_run_target(run_target ${form_HALIDE_TARGET} ${HEWN_SHIPPED_FLAGS})
        list(JOIN form_LAYOUTS " " layouts)
        list(TRANSFORM form_KNOBS REPLACE "(.+)=(.+)" "\"\\1\": \"\\2\"")
        list(JOIN form_KNOBS ", " knobs)
        string(CONCAT kernel
            "{\"operator\": \"${variant_OPERATOR}\", \"signature\": \"${variant_SIGNATURE}\", "
            "\"target\": \"${variant_TARGET}\", \"form\": \"${form}\", "
            "\"halide_target\": \"${run_target}\", \"layouts\": \"${layouts}\", "
            "\"llvm_args\": \"${form_LLVM_ARGS}\", \"knobs\": {${knobs}}}")
        list(APPEND kernels "${kernel}")
    endforeach()
    set(${out} "${kernels}" PARENT_SCOPE)
endfunction()

# kernels.json, for tools/tune: the knobs with their values, meanings and constraints; the kernels
# for CPUs, and those for GPUs, which the tuner does not search.
function(hewn_write_kernels_json)
    set(meanings)
    set(limited)  # the kernels of knobs that not all have
    foreach(kind CPU PLAN GPU)
        hewn_space_json(${kind}_space ${kind})
        get_property(knobs GLOBAL PROPERTY HEWN_${kind}_KNOBS)
        foreach(knob IN LISTS knobs)
            hewn_get(knob ${knob} MEANING KERNELS)
            list(APPEND meanings "\"${knob}\": \"${knob_MEANING}\"")
            if(knob_KERNELS)
                list(APPEND limited "\"${knob}\": \"${knob_KERNELS}\"")
            endif()
        endforeach()
    endforeach()
    get_property(by_hand GLOBAL PROPERTY HEWN_KNOBS_BY_HAND)
    get_property(constraints GLOBAL PROPERTY HEWN_CONSTRAINTS)
    set(kernels)
    set(gpu_kernels)
    get_property(variants GLOBAL PROPERTY HEWN_VARIANTS)
    foreach(variant IN LISTS variants)
        hewn_get(variant ${variant} OPERATOR TARGET)
        hewn_get(target ${variant_TARGET} DEVICE)
        hewn_get(operator ${variant_OPERATOR} TENSORS)
        list(GET operator_TENSORS -1 last)
        hewn_get(last ${variant_OPERATOR}_${last} ONE)
        if(last_ONE)  # the tuner's problems have one output, of all elements
            continue()
        endif()
        hewn_kernels_json(forms ${variant})
        if(target_DEVICE)
            list(APPEND gpu_kernels "${forms}")
        else()
            list(APPEND kernels "${forms}")
        endif()
    endforeach()
    foreach(list meanings limited by_hand constraints kernels gpu_kernels)
        list(JOIN ${list} ",\n    " ${list})
    endforeach()
    string(CONCAT text
        "{\"halide\": \"${HEWN_HALIDE_VERSION}\", \"halide_library\": \"${HEWN_HALIDE_LIBRARY}\", "
        "\"source\": \"${PROJECT_SOURCE_DIR}\", \"tuning\": \"${HEWN_TUNING_DIR}\", "
        "\"cc\": \"${CMAKE_C_COMPILER}\", \"objcopy\": \"${CMAKE_OBJCOPY}\",\n"
        " \"knobs\": {\"kernel\": ${CPU_space}, \"plan\": ${PLAN_space}, "
        "\"gpu\": ${GPU_space}},\n"
        " \"meanings\": {\n    ${meanings}},\n"
        " \"limited\": {${limited}},\n"
        " \"constraints\": [\n    ${constraints}],\n"
        " \"by_hand\": [${by_hand}],\n"
        " \"kernels\": [\n    ${kernels}],\n"
        " \"gpu_kernels\": [\n    ${gpu_kernels}]}\n")
    file(GENERATE OUTPUT ${HEWN_GENERATED_DIR}/kernels.json CONTENT "${text}")
endfunction()

hewn_write_operators()
hewn_write_variants()
hewn_write_plans()
hewn_write_plan_knobs()
hewn_write_targets()
hewn_write_chips()
hewn_write_transpositions()
hewn_write_stages()
hewn_write_kernels_json()
add_library(hewn_variants INTERFACE)
target_include_directories(hewn_variants INTERFACE $<BUILD_INTERFACE:${HEWN_GENERATED_DIR}/include>
    $<BUILD_INTERFACE:${HEWN_GENERATED_DIR}/public>)
