# Renames in ARCHIVE every symbol that the object RUNTIME defines: PREFIX before its name, behind the UNDERSCORE that all names of
# some object formats begin with.
execute_process(COMMAND ${NM} --defined-only --extern-only --format=posix ${RUNTIME} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" lines "${symbols}")
set(map "")
foreach(line IN LISTS lines)
    string(REGEX MATCH "^(${UNDERSCORE})([^ ]+)" symbol "${line}")
    string(APPEND map "${symbol} ${CMAKE_MATCH_1}${PREFIX}${CMAKE_MATCH_2}\n")
endforeach()
file(WRITE ${ARCHIVE}.symbols "${map}")
execute_process(COMMAND ${OBJCOPY} --redefine-syms=${ARCHIVE}.symbols ${ARCHIVE} COMMAND_ERROR_IS_FATAL ANY)
