# Renames symbols in the library ARCHIVE: all that the object RUNTIME defines, and Halide's entry
# points for GPUs, which hewn itself defines. Each gets PREFIX, which goes before the name but after
# UNDERSCORE, with which all names begin in some object formats. NM and OBJCOPY are programs.
execute_process(COMMAND ${NM} --defined-only --extern-only --format=posix ${RUNTIME}
    OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" lines "${symbols}")
set(map "")
foreach(line IN LISTS lines)
    string(REGEX MATCH "^(${UNDERSCORE})([^ ]+)" symbol "${line}")
    string(APPEND map "${symbol} ${CMAKE_MATCH_1}${PREFIX}${CMAKE_MATCH_2}\n")
endforeach()
execute_process(COMMAND ${NM} --defined-only --extern-only --format=posix ${ARCHIVE}
    OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL
    "\n${UNDERSCORE}halide_[a-z0-9]+_(initialize_kernels|finalize_kernels|device_interface|run) "
    symbols "${symbols}")
foreach(symbol IN LISTS symbols)
    string(STRIP "${symbol}" symbol)
    string(REGEX MATCH "^(${UNDERSCORE})(.+)" symbol "${symbol}")
    string(APPEND map "${symbol} ${CMAKE_MATCH_1}${PREFIX}${CMAKE_MATCH_2}\n")
endforeach()
file(WRITE ${ARCHIVE}.symbols "${map}")
execute_process(COMMAND ${OBJCOPY} --redefine-syms=${ARCHIVE}.symbols ${ARCHIVE}
    COMMAND_ERROR_IS_FATAL ANY)
