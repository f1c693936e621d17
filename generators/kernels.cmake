# THE list of kernels: operators, their signatures, their forms.
#
# hewn_operator(<operator> <signature>...)
#   The algorithm is generators/<operator>.cpp. A signature names the data types as that file's configure() reads them.
# hewn_form(<operator> <form> LAYOUTS <layout>... [NEEDS <feature>] [WITHOUT <feature>...] [GPU])
#   A compiled function of each of the operator's variants, made by the generator <operator>_<form>. A layout has one digit for each
#   input that the generator passes to schedule_rows: 1 if it runs along the row, 0 if it is constant in it. The most frequent layout
#   comes first. Plans use the layouts of the operator's first form, whose inputs are the operands.
#   NEEDS: only on targets that list the feature.
#   WITHOUT: features of a target that are not used for the form.
#   GPU: a form of targets with a DEVICE, which have no other forms (generators/gpu.h). Only inputs that vary have digits.

hewn_operator(add f32 f16 i64 i32 i16 i8)
hewn_form(add general LAYOUTS 11 10 01)
hewn_form(add dense LAYOUTS 11 GPU)
hewn_form(add strided GPU)

hewn_operator(quantize_linear f32_i8 f32_u8 f16_i8 f16_u8 i32_i8 i32_u8)
hewn_form(quantize_linear divide LAYOUTS 100 110 111)
hewn_form(quantize_linear reciprocal LAYOUTS 1 NEEDS fma)
hewn_form(quantize_linear columns LAYOUTS 1110 1111 NEEDS avx2)
hewn_form(quantize_linear repeating LAYOUTS 1 NEEDS avx2)
hewn_form(quantize_linear dense LAYOUTS 100 GPU)
hewn_form(quantize_linear strided GPU)

hewn_operator(dequantize_linear
    i32_f32 i16_f32 i8_f32 u32_f32 u16_f32 u8_f32
    i32_f16 i16_f16 i8_f16 u32_f16 u16_f16 u8_f16)
hewn_form(dequantize_linear general LAYOUTS 100 110 111)
hewn_form(dequantize_linear repeating LAYOUTS 1 NEEDS avx2)
hewn_form(dequantize_linear dense LAYOUTS 100 GPU)
hewn_form(dequantize_linear strided GPU)

hewn_operator(quantized_linear_add
    i8_i8_i8 i8_i8_u8 i8_u8_i8 i8_u8_u8 u8_i8_i8 u8_i8_u8 u8_u8_i8 u8_u8_u8)
# Only `reciprocal` has a use for VNNI. With VNNI's features LLVM narrows `folded` by more moves between lanes (64 elements take 20.8
# cycles instead of 18.5 by llvm-mca's Ice Lake). Without them `divide` is x86_64_avx512's own function.
hewn_form(quantized_linear_add divide LAYOUTS 11 10 01 WITHOUT avx512_cannonlake avx512_zen4)
hewn_form(quantized_linear_add reciprocal LAYOUTS 11 10 01 NEEDS fma)
hewn_form(quantized_linear_add folded LAYOUTS 11 10 01 NEEDS fma WITHOUT avx512_cannonlake avx512_zen4)
hewn_form(quantized_linear_add dense LAYOUTS 11 GPU)
hewn_form(quantized_linear_add strided GPU)

# hewn_transposition(<type>... BYTES <bytes> [TARGET <name>]): functions by which the runtime itself transposes elements of these sizes,
# in tiles of <bytes> bytes of columns by 16 of rows. For the lowest target, or for the named one and those above it; in ascending rank.
hewn_transposition(u8 u16 u32 u64 BYTES 16)
hewn_transposition(u8 u16 BYTES 16 TARGET x86_64_avx2)
hewn_transposition(u32 u64 BYTES 32 TARGET x86_64_avx2)
