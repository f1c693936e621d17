# CMake's description of the system WASI, which CMake itself does not have. CMake finds this file by
# the CMAKE_MODULE_PATH of the toolchain file.
set_property(GLOBAL PROPERTY TARGET_SUPPORTS_SHARED_LIBS FALSE)
set(CMAKE_EXECUTABLE_SUFFIX .wasm)
