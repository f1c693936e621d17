# CMake knows no WebAssembly. Found by CMAKE_MODULE_PATH of the toolchain file.
set_property(GLOBAL PROPERTY TARGET_SUPPORTS_SHARED_LIBS FALSE)
set(CMAKE_EXECUTABLE_SUFFIX .wasm)
