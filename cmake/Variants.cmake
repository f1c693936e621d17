# kernels x targets x knobs -> variants: computes once what Kernels.cmake and Generated.cmake need
# to know of each.
#
# Reads the lists (Lists.cmake) and the knobs (Tuning.cmake); sets global properties:
#   HEWN_VARIANTS               <operator>_<signature>__<target>, by target in ascending rank
#   HEWN_<variant>_<KEY>        OPERATOR, SIGNATURE, TARGET, FORMS
#   HEWN_<variant>__<form>_<KEY>
#       HALIDE_TARGET, LAYOUTS, KNOBS   what the function is compiled for and with; knobs as
#                                       `knob=value`
#       LLVM_ARGS                       what LLVM is told, one string
#       OWNER                           the variant whose function it is
#       FUNCTION, ENTRY                 its name in the generator run, and the name by which the
#                                       runtime calls it
#   HEWN_<variant>__plan_<KEY>  HALIDE_TARGET, KNOBS, OWNER of its plans, which are one more form to
#                               the tuner
#   HEWN_<transposition>_<KEY>  HALIDE_TARGET, FUNCTION, ENTRY, as a form's

# The Halide target of `target`. Kernels with f16 in SIGNATURE get F16_FEATURES as well; the
# features WITHOUT are left out.
function(hewn_halide_target out target)
    cmake_parse_arguments(PARSE_ARGV 2 kernel "" "SIGNATURE" "WITHOUT")
    hewn_get(target ${target} FEATURES F16_FEATURES)
    set(features ${target_FEATURES})
    if("${kernel_SIGNATURE}" MATCHES "f16")
        list(APPEND features ${target_F16_FEATURES})
    endif()
    list(REMOVE_ITEM features ${kernel_WITHOUT} "")
    set(words ${HEWN_ARCH} ${HEWN_OS} ${features})
    list(JOIN words "-" words)
    set(${out} ${words} PARENT_SCOPE)
endfunction()

# The Halide target of the architecture's lowest target, whether it is built or not.
function(hewn_lowest_target out)
    foreach(target IN LISTS fitting_targets)
        hewn_get(target ${target} DEVICE)
        if(NOT target_DEVICE)
            hewn_halide_target(halide_target ${target})
            set(${out} ${halide_target} PARENT_SCOPE)
            return()
        endif()
    endforeach()
endfunction()

# Code that is the same is built once. So the owner of a form is not always its own variant: it is
# that of the lowest target whose generator run is the same and that runs wherever `target` does.
function(hewn_resolve_form operator signature target form)
    set(variant ${operator}_${signature}__${target})
    hewn_get(form ${operator}_${form} LAYOUTS WITHOUT OF GPU)
    hewn_get(form ${form_OF}_${form} LLVM_ARGS)
    hewn_halide_target(halide_target ${target} SIGNATURE ${signature} WITHOUT ${form_WITHOUT})
    hewn_knobs(knobs ${target} ${form_OF} ${signature} ${form})

    set(owner ${variant})
    hewn_get(target ${target} PROBE)
    hewn_get(own ${form_OF}_${signature}__${target}__${form} OWNER)
    if(own_OWNER)
        set(owner ${own_OWNER})
    endif()
    foreach(lower IN LISTS chosen_targets)
        if(lower STREQUAL target)
            break()
        endif()
        set(lower_variant ${operator}_${signature}__${lower})
        # Empty where it has no such form.
        hewn_get(lower_form ${lower_variant}__${form} HALIDE_TARGET KNOBS)
        hewn_get(lower ${lower} PROBE)
        list(REMOVE_ITEM lower_PROBE ${target_PROBE} "")
        if(lower_form_HALIDE_TARGET STREQUAL halide_target AND lower_form_KNOBS STREQUAL "${knobs}"
            AND NOT lower_PROBE)
            set(owner ${lower_variant})
            break()
        endif()
    endforeach()

    list(POP_FRONT form_LLVM_ARGS told)
    if(NOT "${signature}__${target}" MATCHES "${told}")
        set(form_LLVM_ARGS)
    endif()
    list(JOIN form_LLVM_ARGS " " llvm_args)

    set(function hewnk_${owner}__${form})
    set(entry ${function})
    if(form_GPU)
        set(entry ${function}_argv)
    endif()
    hewn_set(${variant}__${form} HALIDE_TARGET ${halide_target})
    hewn_set(${variant}__${form} LAYOUTS ${form_LAYOUTS})
    hewn_set(${variant}__${form} KNOBS ${knobs})
    hewn_set(${variant}__${form} LLVM_ARGS ${llvm_args})
    hewn_set(${variant}__${form} OWNER ${owner})
    hewn_set(${variant}__${form} FUNCTION ${function})
    hewn_set(${variant}__${form} ENTRY ${entry})
endfunction()

function(hewn_resolve_variants)
    foreach(target IN LISTS chosen_targets)
        foreach(operator IN LISTS chosen_operators)
            hewn_signatures(signatures ${operator} ${target})
            foreach(signature IN LISTS signatures)
                hewn_forms(forms ${operator} ${target} ${signature})
                set(variant ${operator}_${signature}__${target})
                set_property(GLOBAL APPEND PROPERTY HEWN_VARIANTS ${variant})
                hewn_set(${variant} OPERATOR ${operator})
                hewn_set(${variant} SIGNATURE ${signature})
                hewn_set(${variant} TARGET ${target})
                hewn_set(${variant} FORMS ${forms})
                foreach(form IN LISTS forms)
                    hewn_resolve_form(${operator} ${signature} ${target} ${form})
                endforeach()
                hewn_halide_target(halide_target ${target} SIGNATURE ${signature})
                hewn_knobs(knobs ${target} ${operator} ${signature} plan)
                hewn_set(${variant}__plan HALIDE_TARGET ${halide_target})
                hewn_set(${variant}__plan KNOBS ${knobs})
                hewn_set(${variant}__plan OWNER ${variant})
            endforeach()
        endforeach()
    endforeach()

    hewn_lowest_target(lowest)
    foreach(name IN LISTS transpositions)
        hewn_get(transposition ${name} TARGET)
        set(halide_target ${lowest})
        if(transposition_TARGET)
            hewn_halide_target(halide_target ${transposition_TARGET})
        endif()
        hewn_set(${name} HALIDE_TARGET ${halide_target})
        hewn_set(${name} FUNCTION hewnk_${name})
        hewn_set(${name} ENTRY hewnk_${name}_argv)
    endforeach()
endfunction()

hewn_resolve_variants()
