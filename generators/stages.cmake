# THE list of functions by which the runtime converts elements on a GPU, around the kernels that do
# not take them as they are. Each is made by the generator stage_<name> for the lowest chosen target
# of each kind of GPU.
#
# hewn_stage(<name>... [LAYOUTS <layouts>] FOR <operator>[=<level>]...)
#   LAYOUTS: the generator's parameter, of a form by steps. FOR: built where one of these is;
#   <operator>=<level>: where the build has that feature level too.

set(mixed quantize_linear=hewn dequantize_linear=hewn dynamic_quantize_linear)
hewn_stage(widen_dense narrow_dense LAYOUTS 1 FOR ${mixed})
hewn_stage(widen_strided narrow_strided FOR ${mixed})
hewn_stage(unpack pack FOR quantize_linear=6.3 dequantize_linear=6.3)
# QUANTIZE_LINEAR's attribute `precision`: quotients, which take the place of the input.
hewn_stage(converted_i32 quotient_f16 quotient_bf16 FOR quantize_linear=hewn)
