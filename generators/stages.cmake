# THE list of functions by which the runtime converts elements on a GPU, around the kernels that do
# not take them as they are. Each is made by the generator stage_<name> for the lowest chosen target
# of each kind of GPU.
#
# hewn_stage(<name>... [LAYOUTS <layouts>] FOR <operator>...)
#   LAYOUTS: the generator's parameter, of a form by steps. FOR: built where one of these is.

set(converted quantize_linear dequantize_linear dynamic_quantize_linear)
hewn_stage(widen_dense narrow_dense LAYOUTS 1 FOR ${converted})
hewn_stage(widen_strided narrow_strided unpack pack FOR ${converted})
# QUANTIZE_LINEAR's attribute `precision`: quotients, which take the place of the input.
hewn_stage(converted_i32 quotient_f16 quotient_bf16 FOR quantize_linear)
