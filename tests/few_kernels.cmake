# A few kernels that together have every form. They are tested where everything is slow, and only
# they are built with Halide's assertions.
set(few_kernels add_f16 add_i8 add1_f16 quantize_linear_f32_u8 quantize_linear_f16_i16
    quantize_linear_f32_f8 dequantize_linear_i32_f16 dequantize_linear_u8_f32
    dequantize_linear_f8_f16 quantized_linear_add_u8_i8_u8 quantized_linear_mul_u8_u8
    requantize_i16_u8 dynamic_quantize_linear_f32_u8 dynamic_quantize_f32_i8
    dynamic_quantize_f32_f8 mx_quantize_f32_i8 mx_quantize_f32_f8 nvfp4_quantize_f32_f8)
