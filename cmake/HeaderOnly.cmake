# hewn_find_header_only(<package> <target> <header>): finds a package of headers and makes its
# imported target. A cross build takes the headers of the host through a link, so that it does not
# find other headers of the host with them.
function(hewn_find_header_only package target header)
    if(TARGET ${target})
        return()
    endif()
    if(NOT CMAKE_CROSSCOMPILING)
        find_package(${package} REQUIRED GLOBAL)
        return()
    endif()
    find_path(HEWN_${package}_DIR ${header} PATHS /usr/include /usr/local/include REQUIRED
        NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
    cmake_path(GET header PARENT_PATH folder)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/host-headers/${package})
    file(CREATE_LINK ${HEWN_${package}_DIR}/${folder}
        ${PROJECT_BINARY_DIR}/host-headers/${package}/${folder} SYMBOLIC)
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    target_include_directories(${target} INTERFACE ${PROJECT_BINARY_DIR}/host-headers/${package})
endfunction()
