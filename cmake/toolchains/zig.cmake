# Compiles for HEWN_ZIG_TARGET with the C and C++ compiler in the wheel ziglang, which has several
# systems' headers and libraries. LLVM's tools handle objects. The toolchain files of those systems
# include this file.
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
# By itself zig writes debug information, which has the folder of the build in it.
set(CMAKE_C_FLAGS_INIT -g0)
set(CMAKE_CXX_FLAGS_INIT -g0)
set(HEWN_SIZE_TOOL /usr/bin/llvm-size)
# Libraries and headers of the machine that builds do not serve the target.
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
# Otherwise CMake would write the paths of libraries into what it links.
set(CMAKE_SKIP_RPATH ON)
# To link a C++ program, zig would first build the target's C++ library, which takes minutes and is
# not needed here. So CMake links no test programs, and is told what compiler this is.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
foreach(language C CXX)
    set(CMAKE_${language}_COMPILER_ID_RUN TRUE)
    set(CMAKE_${language}_COMPILER_ID Clang)
    set(CMAKE_${language}_COMPILER_VERSION 18.1)
    set(CMAKE_${language}_COMPILER_FRONTEND_VARIANT GNU)
    set(CMAKE_${language}_STANDARD_COMPUTED_DEFAULT 17)
endforeach()
