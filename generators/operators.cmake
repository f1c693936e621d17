# THE list of operators, with the data types and DirectML's feature levels: what each operator is
# called, its tensors, the types that it takes, the forms of its kernels.
#
# hewn_data_types(<word>=<name>:<number>...)
#   The word is that of signatures, name and number are DirectML's. Those of less than 8 bits are
#   packed in memory, and computed by the kernels of the 8-bit type of their sign.
# hewn_feature_levels(<level>...)
#   Ascending: DirectML's, then `hewn`, which has what is hewn's alone.
# hewn_operator(<operator> <number> <name> COMMAND <hewn's subcommand> FORMULA <text>
#               ONNX <domain.operator> [IN_PLACE] [WRAPS] [ONE_WIDTH] [KERNELS <operator>])
#   The algorithm is generators/<operator>.cpp, how the CPU runs it runtime/cpu/<operator>.cpp.
#   IN_PLACE: the output may lie on an input of equal strides. WRAPS: kernels of signed types serve
#   the unsigned ones of their width too. ONE_WIDTH: the types of a signature have one width.
#   KERNELS: that operator's kernels compute it, so that it has neither forms nor files of its own.
# hewn_tensor(<operator> <tensor> <DATA|SCALE|ZERO_POINT|OUTPUT> [LIKE <tensor> [INTEGERS <type>]]
#             [OPTIONAL <level>] [ONE] [BLOCKS] [MIDDLE] [MIXED])
#   In DirectML's order, the outputs last; of several the first has an element for each input's.
#   LIKE: has that tensor's type (INTEGERS: or this one, where
#   that is an integer's). OPTIONAL: may be left out from that level on. ONE: one element, whatever
#   the sizes of the others; else of the first tensor's sizes. BLOCKS: or of sizes that divide
#   those, one element for a whole block. MIDDLE: absent, it is not 0 but the middle of an unsigned
#   type. MIXED: of floats, it may be another one than that tensor's from hewn's level on; the
#   kernel is then that of f32, and f16 is converted around it.
# hewn_attribute(<operator> <attribute> FROM <level> VALUES <word>=<name>:<ONNX's number>...)
#   A choice that the description has behind the tensors, a number in 4 bytes: 0, the first value,
#   is what its absence means, and all that levels below know. ONNX's attribute has the same name.
# hewn_signature(<operator> <tensor>...)
#   The tensors whose types name a kernel: f32_u8.
# hewn_level(<operator> <level> RANKS <least> <most> <tensor>=<type>,<type>...)
#   What is allowed from that level on, newest first: the types of each tensor that is LIKE no
#   other. DirectML's levels allow what DirectML does.
# hewn_form(<operator> <form> LAYOUTS <layout>... [ONLY <regular expression>] [NEEDS <feature>]
#           [WITHOUT <feature>...] [FROM <level>] [OF <operator>] [GPU])
#   A compiled function of each of the operator's variants, made by the generator <operator>_<form>.
#   A layout has one digit for each input that the generator passes to schedule_rows: 1 if it runs
#   along the row, 0 if it is constant in it. The most frequent layout comes first. Plans use the
#   layouts of the operator's first form, whose inputs are the operands.
#   ONLY: of signatures that match.
#   NEEDS: only on targets that list the feature.
#   WITHOUT: features of a target that are not used for the form.
#   FROM: only in builds that have the feature level.
#   OF: the function is that operator's, of the same name, signature and knobs. It is built once.
#   GPU: a form of targets with a DEVICE, which have no other forms (generators/gpu.h). Only inputs
#   that vary have digits.
# hewn_onnx(<operator> <domain> <name> VERSIONS <version>... [BETWEEN])
#   A node that the operator computes in ONNX, and its versions (the opsets that changed it) whose
#   meaning is hewn's. BETWEEN: the operator is two DequantizeLinear, this node, and QuantizeLinear.
# hewn_set(<operator>_<form> LLVM_ARGS <regular expression> <argument>...)
#   What LLVM is told when it compiles the form's kernels whose <signature>__<target> matches (in
#   Halide's HL_LLVM_ARGS).

hewn_data_types(f32=FLOAT32:1 f16=FLOAT16:2 u32=UINT32:3 u16=UINT16:4 u8=UINT8:5 i32=INT32:6
    i16=INT16:7 i8=INT8:8 f64=FLOAT64:9 u64=UINT64:10 i64=INT64:11 u4=UINT4:12 i4=INT4:13
    u2=UINT2:30 i2=INT2:31)
hewn_feature_levels(1.0 2.0 2.1 3.0 3.1 4.0 4.1 5.0 5.1 5.2 6.0 6.1 6.2 6.3 6.4 hewn)

hewn_operator(add 1 ADD COMMAND add ONNX ai.onnx.Add IN_PLACE WRAPS
    FORMULA "A + B; integers wrap")
hewn_tensor(add ATensor DATA)
hewn_tensor(add BTensor DATA LIKE ATensor)
hewn_tensor(add OutputTensor OUTPUT LIKE ATensor)
hewn_signature(add ATensor)
hewn_level(add 5.1 RANKS 1 8 ATensor=f32,f16,i64,i32,i16,i8,u64,u32,u16,u8)
hewn_level(add 4.1 RANKS 1 8 ATensor=f32,f16,i64,i32,u64,u32)
hewn_level(add 3.0 RANKS 1 8 ATensor=f32,f16,i32,u32)
hewn_level(add 2.1 RANKS 4 5 ATensor=f32,f16,i32,u32)
hewn_level(add 1.0 RANKS 4 5 ATensor=f32,f16)
hewn_form(add general LAYOUTS 11 10 01)
hewn_form(add dense LAYOUTS 11 GPU)
hewn_form(add runs LAYOUTS 10 NEEDS cuda GPU)
hewn_form(add strided GPU)

hewn_operator(quantize_linear 2 QUANTIZE_LINEAR COMMAND quantize ONNX ai.onnx.QuantizeLinear
    FORMULA "clamp(round(IN / scale) + zero point), ties to even")
hewn_tensor(quantize_linear InputTensor DATA)
hewn_tensor(quantize_linear ScaleTensor SCALE LIKE InputTensor INTEGERS f32 MIXED)
hewn_tensor(quantize_linear ZeroPointTensor ZERO_POINT LIKE OutputTensor OPTIONAL 6.2)
hewn_tensor(quantize_linear OutputTensor OUTPUT)
# Of x, the scale and their quotient (ONNX 23). The runtime divides then, for the form `divide`.
hewn_attribute(quantize_linear precision FROM hewn
    VALUES f32=FLOAT32:1 f16=FLOAT16:10 bf16=BFLOAT16:16)
hewn_signature(quantize_linear InputTensor OutputTensor)
hewn_level(quantize_linear hewn RANKS 1 8 InputTensor=f32,f16,i32
    OutputTensor=i8,u8,i16,u16,i32,u32,i4,u4,i2,u2)
hewn_level(quantize_linear 6.0 RANKS 1 8 InputTensor=f32,f16,i32 OutputTensor=i8,u8)
hewn_level(quantize_linear 3.0 RANKS 1 8 InputTensor=f32,i32 OutputTensor=i8,u8)
hewn_level(quantize_linear 2.1 RANKS 4 4 InputTensor=f32,i32 OutputTensor=i8,u8)
hewn_level(quantize_linear 1.0 RANKS 4 4 InputTensor=f32 OutputTensor=u8)
hewn_form(quantize_linear divide LAYOUTS 100 110 111)
# That a reciprocal rounds as division does is proved for ties of 8 bits alone.
hewn_form(quantize_linear reciprocal LAYOUTS 1 ONLY "8$" NEEDS fma)
hewn_form(quantize_linear columns LAYOUTS 1110 1111 ONLY "8$" NEEDS avx2)
hewn_form(quantize_linear repeating LAYOUTS 1 ONLY "8$" NEEDS avx2)
hewn_form(quantize_linear blocks LAYOUTS 1 ONLY "f.*8$" NEEDS avx2 FROM 6.3)
# Outputs of 32 bits are rare.
hewn_form(quantize_linear dense LAYOUTS 100 ONLY "[0-9]_.(8|16)$" GPU)
hewn_form(quantize_linear runs LAYOUTS 100 ONLY "[0-9]_.(8|16)$" NEEDS cuda GPU)
hewn_form(quantize_linear strided GPU)
# LLVM would join the products of a block's vectors, as they are packed together, and divide them
# again, the last first. A Zen 1, whose prefetching follows ascending lines, would be slower
# (docs/lab/performance.md#ascending-order).
foreach(form reciprocal repeating)
    hewn_set(quantize_linear_${form} LLVM_ARGS "^f32_.*__x86_64_avx2$" -disable-vector-combine)
endforeach()

hewn_operator(dequantize_linear 3 DEQUANTIZE_LINEAR COMMAND dequantize ONNX ai.onnx.DequantizeLinear
    FORMULA "(IN - zero point) * scale")
hewn_tensor(dequantize_linear InputTensor DATA)
hewn_tensor(dequantize_linear ScaleTensor SCALE)
hewn_tensor(dequantize_linear ZeroPointTensor ZERO_POINT LIKE InputTensor OPTIONAL 6.2)
hewn_tensor(dequantize_linear OutputTensor OUTPUT LIKE ScaleTensor MIXED)
hewn_signature(dequantize_linear InputTensor OutputTensor)
hewn_level(dequantize_linear hewn RANKS 1 8
    InputTensor=i32,i16,i8,u32,u16,u8,i4,u4,i2,u2 ScaleTensor=f32,f16)
hewn_level(dequantize_linear 6.0 RANKS 1 8 InputTensor=i32,i16,i8,u32,u16,u8 ScaleTensor=f32,f16)
hewn_level(dequantize_linear 3.0 RANKS 1 8 InputTensor=i32,i16,i8,u32,u16,u8 ScaleTensor=f32)
hewn_level(dequantize_linear 2.1 RANKS 4 4 InputTensor=i32,i16,i8,u32,u16,u8 ScaleTensor=f32)
hewn_level(dequantize_linear 1.0 RANKS 4 4 InputTensor=u8 ScaleTensor=f32)
hewn_form(dequantize_linear general LAYOUTS 100 110 111)
hewn_form(dequantize_linear repeating LAYOUTS 1 NEEDS avx2)
hewn_form(dequantize_linear blocks LAYOUTS 1 ONLY "8_" NEEDS avx2 FROM 6.3)
hewn_form(dequantize_linear dense LAYOUTS 100 GPU)
hewn_form(dequantize_linear runs LAYOUTS 100 NEEDS cuda GPU)
hewn_form(dequantize_linear strided GPU)

# The successors of the linear two. A zero point's presence is DirectML's quantization type.
hewn_operator(quantize 7 QUANTIZE COMMAND dml-quantize ONNX ai.onnx.QuantizeLinear
    KERNELS quantize_linear FORMULA "clamp(round(IN / scale) + zero point), ties to even")
hewn_tensor(quantize InputTensor DATA)
hewn_tensor(quantize ScaleTensor SCALE LIKE InputTensor BLOCKS)
hewn_tensor(quantize ZeroPointTensor ZERO_POINT LIKE OutputTensor OPTIONAL 6.3 BLOCKS MIDDLE)
hewn_tensor(quantize OutputTensor OUTPUT)
hewn_signature(quantize InputTensor OutputTensor)
hewn_level(quantize 6.3 RANKS 1 8 InputTensor=f32,f16 OutputTensor=i8,u8,i4,u4)

hewn_operator(dequantize 8 DEQUANTIZE COMMAND dml-dequantize ONNX ai.onnx.DequantizeLinear
    KERNELS dequantize_linear FORMULA "(IN - zero point) * scale")
hewn_tensor(dequantize InputTensor DATA)
hewn_tensor(dequantize ScaleTensor SCALE BLOCKS)
hewn_tensor(dequantize ZeroPointTensor ZERO_POINT LIKE InputTensor OPTIONAL 6.3 BLOCKS MIDDLE)
hewn_tensor(dequantize OutputTensor OUTPUT LIKE ScaleTensor)
hewn_signature(dequantize InputTensor OutputTensor)
hewn_level(dequantize 6.3 RANKS 1 8 InputTensor=i8,u8,i4,u4 ScaleTensor=f32,f16)

hewn_operator(quantized_linear_add 4 QUANTIZED_LINEAR_ADD COMMAND qadd ONNX com.microsoft.QLinearAdd
    ONE_WIDTH
    FORMULA "A + B of quantized tensors, quantized; ties to even")
hewn_tensor(quantized_linear_add ATensor DATA)
hewn_tensor(quantized_linear_add AScaleTensor SCALE ONE)
hewn_tensor(quantized_linear_add AZeroPointTensor ZERO_POINT LIKE ATensor OPTIONAL 4.0 ONE)
hewn_tensor(quantized_linear_add BTensor DATA)
hewn_tensor(quantized_linear_add BScaleTensor SCALE ONE)
hewn_tensor(quantized_linear_add BZeroPointTensor ZERO_POINT LIKE BTensor OPTIONAL 4.0 ONE)
hewn_tensor(quantized_linear_add OutputScaleTensor SCALE ONE)
hewn_tensor(quantized_linear_add OutputZeroPointTensor ZERO_POINT LIKE OutputTensor
    OPTIONAL 4.0 ONE)
hewn_tensor(quantized_linear_add OutputTensor OUTPUT)
hewn_signature(quantized_linear_add ATensor BTensor OutputTensor)
hewn_level(quantized_linear_add hewn RANKS 1 8 ATensor=i8,u8,i16,u16 BTensor=i8,u8,i16,u16
    OutputTensor=i8,u8,i16,u16 AScaleTensor=f32 BScaleTensor=f32 OutputScaleTensor=f32)
hewn_level(quantized_linear_add 4.0 RANKS 1 8 ATensor=i8,u8 BTensor=i8,u8 OutputTensor=i8,u8
    AScaleTensor=f32 BScaleTensor=f32 OutputScaleTensor=f32)
# Only `reciprocal` has a use for VNNI. With VNNI's features LLVM narrows `folded` by more moves
# between lanes (64 elements take 20.8 cycles instead of 18.5 by llvm-mca's Ice Lake). Without them
# `divide` is x86_64_avx512's own function.
hewn_form(quantized_linear_add divide LAYOUTS 11 10 01 WITHOUT avx512_cannonlake avx512_zen4)
# 16 bits divide: the ties of their quotients, and all of their pairs, are too many to try.
hewn_form(quantized_linear_add reciprocal LAYOUTS 11 10 01 ONLY "8$" NEEDS fma)
hewn_form(quantized_linear_add folded LAYOUTS 11 10 01 ONLY "8$" NEEDS fma
    WITHOUT avx512_cannonlake avx512_zen4)
hewn_form(quantized_linear_add dense LAYOUTS 11 GPU)
hewn_form(quantized_linear_add runs LAYOUTS 10 NEEDS cuda GPU)
hewn_form(quantized_linear_add strided GPU)

hewn_operator(quantized_linear_mul 5 QUANTIZED_LINEAR_MUL COMMAND qmul ONNX com.microsoft.QLinearMul
    FORMULA "A * B of quantized tensors, quantized; ties to even")
hewn_tensor(quantized_linear_mul ATensor DATA)
hewn_tensor(quantized_linear_mul AScaleTensor SCALE ONE)
hewn_tensor(quantized_linear_mul AZeroPointTensor ZERO_POINT LIKE ATensor OPTIONAL hewn ONE)
hewn_tensor(quantized_linear_mul BTensor DATA LIKE ATensor)
hewn_tensor(quantized_linear_mul BScaleTensor SCALE ONE)
hewn_tensor(quantized_linear_mul BZeroPointTensor ZERO_POINT LIKE BTensor OPTIONAL hewn ONE)
hewn_tensor(quantized_linear_mul OutputScaleTensor SCALE ONE)
hewn_tensor(quantized_linear_mul OutputZeroPointTensor ZERO_POINT LIKE OutputTensor
    OPTIONAL hewn ONE)
hewn_tensor(quantized_linear_mul OutputTensor OUTPUT)
hewn_signature(quantized_linear_mul ATensor OutputTensor)
hewn_level(quantized_linear_mul hewn RANKS 1 8 ATensor=i8,u8 OutputTensor=i8,u8
    AScaleTensor=f32 BScaleTensor=f32 OutputScaleTensor=f32)
hewn_form(quantized_linear_mul general LAYOUTS 11 10 01)
hewn_form(quantized_linear_mul bounded LAYOUTS 11 10 01 NEEDS avx2)
hewn_form(quantized_linear_mul dense LAYOUTS 11 GPU)
hewn_form(quantized_linear_mul runs LAYOUTS 10 NEEDS cuda GPU)
hewn_form(quantized_linear_mul strided GPU)

hewn_operator(dynamic_quantize_linear 6 DYNAMIC_QUANTIZE_LINEAR COMMAND dynamic
    ONNX ai.onnx.DynamicQuantizeLinear
    FORMULA "quantize IN with the scale and zero point of its range")
hewn_tensor(dynamic_quantize_linear InputTensor DATA)
hewn_tensor(dynamic_quantize_linear OutputTensor OUTPUT)
hewn_tensor(dynamic_quantize_linear OutputScaleTensor OUTPUT ONE)
hewn_tensor(dynamic_quantize_linear OutputZeroPointTensor OUTPUT LIKE OutputTensor ONE)
hewn_signature(dynamic_quantize_linear InputTensor OutputTensor)
hewn_level(dynamic_quantize_linear 4.0 RANKS 1 8 InputTensor=f32,f16 OutputTensor=i8,u8
    OutputScaleTensor=f32)
hewn_form(dynamic_quantize_linear range LAYOUTS 1)
# As QUANTIZE_LINEAR's, but with a scale of f32 beside f16 too. 111 is one element.
hewn_form(dynamic_quantize_linear divide LAYOUTS 100 111)
hewn_form(dynamic_quantize_linear reciprocal LAYOUTS 1 NEEDS fma OF quantize_linear)
# On GPUs f16 is widened first.
hewn_form(dynamic_quantize_linear ranges ONLY "^f32" GPU)
hewn_form(dynamic_quantize_linear parameters ONLY "^f32" GPU)
hewn_form(dynamic_quantize_linear dense LAYOUTS 100 ONLY "^f32" OF quantize_linear GPU)
hewn_form(dynamic_quantize_linear runs LAYOUTS 100 ONLY "^f32" OF quantize_linear NEEDS cuda GPU)
hewn_form(dynamic_quantize_linear strided ONLY "^f32" OF quantize_linear GPU)

set(linear_versions 10 13 19 21 23 24 25 28)
set(sum_versions 7 13 14)
hewn_onnx(add ai.onnx Add VERSIONS ${sum_versions})
hewn_onnx(quantize_linear ai.onnx QuantizeLinear VERSIONS ${linear_versions})
hewn_onnx(dequantize_linear ai.onnx DequantizeLinear VERSIONS ${linear_versions})
hewn_onnx(quantize_linear com.microsoft QuantizeLinear VERSIONS 1)
hewn_onnx(dequantize_linear com.microsoft DequantizeLinear VERSIONS 1)
hewn_onnx(quantized_linear_add com.microsoft QLinearAdd VERSIONS 1)
hewn_onnx(quantized_linear_mul com.microsoft QLinearMul VERSIONS 1)
hewn_onnx(dynamic_quantize_linear ai.onnx DynamicQuantizeLinear VERSIONS 11)
# Of a sum hewn rounds as the four nodes do one by one; of a product as QLinearMul does, which ONNX
# Runtime's own optimizer makes of them.
hewn_onnx(quantized_linear_add ai.onnx Add VERSIONS ${sum_versions} BETWEEN)
hewn_onnx(quantized_linear_mul ai.onnx Mul VERSIONS ${sum_versions} BETWEEN)
