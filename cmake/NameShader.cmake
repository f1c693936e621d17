# cmake -DASSEMBLY=FILE -DNAME=NAME -P NameShader.cmake: in the host code of a Direct3D 12 kernel,
# as Halide writes it, replaces the HLSL by the kernel's name. tools/dxbc compiles the HLSL; the
# library finds the shaders by the name.
file(READ ${ASSEMBLY} text)
string(REGEX REPLACE "(d3d12compute_gpu_source_kernels\\.data:\n[ \t]*\\.asciz[ \t]*)\"[^\n]*\""
    "\\1\"${NAME}\"" named "${text}")
if(named STREQUAL text)
    message(FATAL_ERROR "${ASSEMBLY} holds no HLSL where Halide 21 puts it")
endif()
# These belong to functions' sections. Debian 12's clang 14 cannot read them.
string(REGEX REPLACE ",unique,[0-9]+\n" "\n" named "${named}")
file(WRITE ${ASSEMBLY} "${named}")
