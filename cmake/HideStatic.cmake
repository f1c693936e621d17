# hewn_hide_static(<target> <file>): makes shared libraries that link the static library <target>,
# whose file has this name, not export its symbols. Otherwise the hewn of another library in the
# process could take the place of their own. Halide's objects do not hide their symbols themselves.
# Not all linkers know the option; zig's refuses it.
include(CheckLinkerFlag)

function(hewn_hide_static target file)
    get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
    list(FILTER languages INCLUDE REGEX "^(C|CXX)$")
    if(WIN32 OR APPLE OR NOT languages)
        return()
    endif()
    list(GET languages 0 language)
    check_linker_flag(${language} LINKER:--exclude-libs,libhewn.a HEWN_LINKER_EXCLUDES_LIBS)
    if(HEWN_LINKER_EXCLUDES_LIBS)
        set_property(TARGET ${target} APPEND PROPERTY
            INTERFACE_LINK_OPTIONS $<BUILD_INTERFACE:LINKER:--exclude-libs,${file}>)
    endif()
endfunction()
