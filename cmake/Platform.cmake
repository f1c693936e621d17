# Finds out the platform to build for. Sets
#   HEWN_OS, HEWN_ARCH       the operating system and the architecture, in Halide's words
#   HEWN_OBJECT_EXTENSION    the extension of object files
#   HEWN_OBJECT_FORMAT       ELF, MACHO, COFF or WASM, which decides how objects are linked

set(os_of_Linux linux .o ELF)
set(os_of_Android android .o ELF)
set(os_of_Darwin osx .o MACHO)
set(os_of_iOS ios .o MACHO)
set(os_of_Windows windows .obj COFF)
set(os_of_WASI wasmrt .o WASM)
if(NOT DEFINED os_of_${CMAKE_SYSTEM_NAME})
    message(FATAL_ERROR "hewn: no kernels for ${CMAKE_SYSTEM_NAME} yet")
endif()
list(GET os_of_${CMAKE_SYSTEM_NAME} 0 HEWN_OS)
list(GET os_of_${CMAKE_SYSTEM_NAME} 1 HEWN_OBJECT_EXTENSION)
list(GET os_of_${CMAKE_SYSTEM_NAME} 2 HEWN_OBJECT_FORMAT)
if(CMAKE_SYSTEM_NAME STREQUAL "iOS" AND CMAKE_OSX_SYSROOT MATCHES "[Ss]imulator")
    string(APPEND HEWN_OS -simulator)  # Halide's feature, which names this platform in objects
endif()
set(processor ${CMAKE_SYSTEM_PROCESSOR})
if(APPLE AND CMAKE_OSX_ARCHITECTURES)  # the target, not the host
    set(processor ${CMAKE_OSX_ARCHITECTURES})
endif()
if(processor MATCHES "^(x86_64|AMD64|amd64)$")
    set(HEWN_ARCH x86-64)
elseif(processor MATCHES "^i[3-6]86$" AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    set(HEWN_ARCH x86-32)
elseif(processor MATCHES "^(aarch64|arm64|ARM64)$")
    set(HEWN_ARCH arm-64)
elseif(processor STREQUAL "wasm32" AND CMAKE_SYSTEM_NAME STREQUAL "WASI")
    set(HEWN_ARCH wasm-32)
else()
    message(FATAL_ERROR "hewn: no kernels for ${processor} yet")
endif()
if("${CMAKE_SIZEOF_VOID_P}" STREQUAL "4" AND NOT HEWN_ARCH MATCHES "-32$")  # -m32, -mx32
    message(FATAL_ERROR
        "hewn: no kernels for 32-bit programs yet; on ${processor} only for 64-bit programs")
endif()
if(CMAKE_CXX_BYTE_ORDER STREQUAL "BIG_ENDIAN")  # -mbig-endian; other processors are refused above
    message(FATAL_ERROR "hewn: no kernels for big-endian programs yet")
endif()
