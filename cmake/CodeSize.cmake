# Prints, and writes to OUT, the code bytes (text and read-only data) of each variant and their sum.
# LIST names the objects; SIZE_TOOL is the program `size`.
#
# file(READ) is used because file(STRINGS) would end a line at letters beyond ASCII.
file(READ ${LIST} objects)
string(REGEX MATCHALL "[^\n]*__[^\n]*" objects "${objects}")
execute_process(COMMAND ${SIZE_TOOL} ${objects} OUTPUT_VARIABLE rows COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" rows "${rows}")
set(total 0)
set(variants)
foreach(row IN LISTS rows)
    if(row MATCHES "^ *([0-9]+)[ \t]+([0-9]+).*/([^/]+__[^/]+)__[^/]+\\.o(bj)?$")
        set(variant ${CMAKE_MATCH_3})
        math(EXPR bytes_${variant}
            "${bytes_${variant}}0 / 10 + ${CMAKE_MATCH_1} + ${CMAKE_MATCH_2}")
        math(EXPR total "${total} + ${CMAKE_MATCH_1} + ${CMAKE_MATCH_2}")
        list(APPEND variants ${variant})
    endif()
endforeach()
list(REMOVE_DUPLICATES variants)
list(LENGTH variants count)
set(text "")
foreach(variant IN LISTS variants)
    string(APPEND text "${bytes_${variant}} ${variant}\n")
endforeach()
file(WRITE ${OUT} "${text}${total} total of ${count} variants\n")
message("${text}code: ${total} bytes in ${count} variants")
