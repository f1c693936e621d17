# The C and C++ compiler in the wheel ziglang, which holds several systems' headers and libraries,
# for HEWN_ZIG_TARGET; LLVM's tools for objects. Included by the toolchain files of those systems.
file(GLOB zig ${CMAKE_CURRENT_LIST_DIR}/../../.venv/lib/python3*/site-packages/ziglang/zig)
if(NOT zig)
    message(FATAL_ERROR
        "${CMAKE_TOOLCHAIN_FILE} needs the wheel ziglang in .venv: use scripts/cross.sh")
endif()
set(CMAKE_C_COMPILER ${zig} cc -target ${HEWN_ZIG_TARGET})
set(CMAKE_CXX_COMPILER ${zig} c++ -target ${HEWN_ZIG_TARGET})
foreach(tool ar ranlib nm objcopy objdump readelf strip)
    string(TOUPPER ${tool} variable)
    set(CMAKE_${variable} /usr/bin/llvm-${tool})
endforeach()
# zig writes debug information unless told not to, with the folder of the build in it.
set(CMAKE_C_FLAGS_INIT -g0)
set(CMAKE_CXX_FLAGS_INIT -g0)
set(HEWN_SIZE_TOOL /usr/bin/llvm-size)
# What `find_package` finds on this machine is not for the target.
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
# CMake would write the path of its libraries into what it links.
set(CMAKE_SKIP_RPATH ON)
# Linking a C++ program would build the target's C++ library first, minutes of work that nothing
# here needs: no test programs, and the compiler's identity is told instead of found out.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
foreach(language C CXX)
    set(CMAKE_${language}_COMPILER_ID_RUN TRUE)
    set(CMAKE_${language}_COMPILER_ID Clang)
    set(CMAKE_${language}_COMPILER_VERSION 18.1)
    set(CMAKE_${language}_COMPILER_FRONTEND_VARIANT GNU)
    set(CMAKE_${language}_STANDARD_COMPUTED_DEFAULT 17)
endforeach()
