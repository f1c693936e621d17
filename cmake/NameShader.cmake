# cmake -DASSEMBLY=FILE -DNAME=NAME -P NameShader.cmake: replaces the HLSL in the host code that
# Halide writes for a Direct3D 12 kernel by the kernel's name. tools/dxbc compiles the HLSL, and the
# library finds the shader by this name.
file(READ ${ASSEMBLY} text)
string(REGEX REPLACE "(d3d12compute_gpu_source_kernels\\.data:\n[ \t]*\\.asciz[ \t]*)\"[^\n]*\""
    "\\1\"${NAME}\"" named "${text}")
if(named STREQUAL text)
    message(FATAL_ERROR "${ASSEMBLY} holds no HLSL where Halide 21 puts it")
endif()
# The word `unique` in functions' sections is removed, because Debian 12's clang 14 cannot read it.
string(REGEX REPLACE ",unique,[0-9]+\n" "\n" named "${named}")
file(WRITE ${ASSEMBLY} "${named}")
