# Fails unless every loaded segment of the ELF shared library LIBRARY fits pages of 16 KiB.
execute_process(COMMAND ${READELF} -lW ${LIBRARY} OUTPUT_VARIABLE segments
    COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[ ]LOAD [^\n]*" segments "${segments}")
if(NOT segments)
    message(FATAL_ERROR "${LIBRARY}: no segments found")
endif()
foreach(segment IN LISTS segments)
    string(REGEX MATCH "0x[0-9a-f]+$" alignment "${segment}")
    math(EXPR rest "${alignment} % 16384")
    if(NOT rest EQUAL 0)
        message(FATAL_ERROR "${LIBRARY}: a segment is aligned to ${alignment}, not to 16 KiB")
    endif()
endforeach()
