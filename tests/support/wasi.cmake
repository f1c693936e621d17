# Options of GoogleTest and of the test programs for WebAssembly, which has no threads, exceptions
# and processes.
add_compile_options(-fignore-exceptions)
foreach(feature EXCEPTIONS STREAM_REDIRECTION DEATH_TEST)
    target_compile_definitions(gtest PUBLIC GTEST_HAS_${feature}=0)
endforeach()
target_compile_options(gtest PRIVATE -fignore-exceptions)
target_link_libraries(gtest PUBLIC wasi-emulated-getpid wasi-emulated-process-clocks
    wasi-emulated-signal)
# An execution takes more stack than the linker gives by default, and so do the tests.
target_link_options(gtest PUBLIC -Wl,-z,stack-size=4194304)
