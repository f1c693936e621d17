"""The list of operators: the names of each operator, its tensors, the types that it takes, and the
forms of its kernels. The classes in lists/declarations.py explain the members."""

from lists.declarations import Attribute, Form, Level, Operator, Reached, Signature, Tensor

# ---- Conditions on signatures: `only` of forms ----


def from_8_bits(signature: Signature) -> bool:
    return signature.input.bits == 8


def from_integers(signature: Signature) -> bool:
    return signature.input.kind != "f"


def from_f32(signature: Signature) -> bool:
    return signature.input.name == "f32"


def to_8_bits(signature: Signature) -> bool:
    return signature.output.bits == 8


def to_8_bit_integers(signature: Signature) -> bool:
    return to_8_bits(signature) and signature.output.kind != "f"


def f32_to_8_bit_integers(signature: Signature) -> bool:
    return from_f32(signature) and to_8_bit_integers(signature)


def from_8_bit_integers_to_f32(signature: Signature) -> bool:
    return from_8_bits(signature) and from_integers(signature) and signature.output.name == "f32"


def to_8_or_16_bits(signature: Signature) -> bool:
    return signature.output.bits in (8, 16)


def float_to_8_bits(signature: Signature) -> bool:
    return signature.input.kind == "f" and to_8_bits(signature)


INTEGERS = "i32 i16 i8 u32 u16 u8"
SMALL_FLOATS = "f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f6e2m3 f6e3m2 f4e2m1"
MX_FLOATS = "f8e4m3fn f8e5m2 f6e2m3 f6e3m2 f4e2m1"
SCALES = {"AScaleTensor": "f32", "BScaleTensor": "f32", "OutputScaleTensor": "f32"}
VNNI = ("avx512_cannonlake", "avx512_zen4")
# Without this argument LLVM would join the products of a batch's vectors, because they are packed
# together, and divide them again, the last first. That is slower on a Zen 1, whose prefetching
# follows ascending lines (docs/lab/performance.md#ascending-order).
ASCENDING = {"^f32_.*__x86_64_avx2$": "-disable-vector-combine"}

OPERATORS = [
    Operator(
        "add",
        number=1,
        command="add",
        onnx="ai.onnx.Add",
        formula="A + B; integers wrap",
        in_place=True,
        wraps=True,
        tensors=[
            Tensor("ATensor", "data"),
            Tensor("BTensor", "data", like="ATensor"),
            Tensor("OutputTensor", "output", like="ATensor"),
        ],
        signature=["ATensor"],
        levels=[
            Level("hewn", (1, 8), {"ATensor": "f32 f16 bf16 i64 i32 i16 i8 u64 u32 u16 u8"}),
            Level("5.1", (1, 8), {"ATensor": "f32 f16 i64 i32 i16 i8 u64 u32 u16 u8"}),
            Level("4.1", (1, 8), {"ATensor": "f32 f16 i64 i32 u64 u32"}),
            Level("3.0", (1, 8), {"ATensor": "f32 f16 i32 u32"}),
            Level("2.1", (4, 5), {"ATensor": "f32 f16 i32 u32"}),
            Level("1.0", (4, 5), {"ATensor": "f32 f16"}),
        ],
        forms=[
            Form("general", "11 10 01"),
            Form("dense", "11", gpu=True),
            Form("runs", "10", needs="cuda", gpu=True),
            Form("strided", gpu=True),
        ],
    ),
    # ADD with an activation of the sum. Without one it runs the kernels of ADD.
    Operator(
        "add1",
        number=10,
        command="add1",
        onnx="",
        formula="activation(A + B)",
        in_place=True,
        tensors=[
            Tensor("ATensor", "data"),
            Tensor("BTensor", "data", like="ATensor"),
            Tensor("OutputTensor", "output", like="ATensor"),
        ],
        attributes=[
            Attribute(
                "activation",
                since="2.0",
                values={
                    "identity": ("IDENTITY", None),
                    "linear": ("LINEAR", None),
                    "relu": ("RELU", None),
                    "leaky_relu": ("LEAKY_RELU", None),
                    "thresholded_relu": ("THRESHOLDED_RELU", None),
                    "hard_sigmoid": ("HARD_SIGMOID", None),
                    "softsign": ("SOFTSIGN", None),
                    "shrink": ("SHRINK", None),
                    "clip": ("CLIP", None),
                },
                newer={"clip": "hewn"},  # DirectML does not fuse it
                refused={
                    "sigmoid": "SIGMOID",
                    "tanh": "TANH",
                    "scaled_tanh": "SCALED_TANH",
                    "elu": "ELU",
                    "scaled_elu": "SCALED_ELU",
                    "celu": "CELU",
                    "softplus": "SOFTPLUS",
                    "parametric_softplus": "PARAMETRIC_SOFTPLUS",
                    "gelu": "GELU",
                },
                why="no standard says how exp, tanh, log and erf are rounded",
            ),
            Attribute("alpha", of=["linear", "leaky_relu", "thresholded_relu", "hard_sigmoid"]),
            Attribute("beta", of=["linear", "hard_sigmoid"]),
            Attribute("bias", of=["shrink"]),
            Attribute("threshold", of=["shrink"]),
            Attribute("min", of=["clip"]),
            Attribute("max", of=["clip"]),
        ],
        signature=["ATensor"],
        levels=[
            Level("hewn", (1, 8), {"ATensor": "f32 f16 bf16"}),
            Level("3.0", (1, 8), {"ATensor": "f32 f16"}),
            Level("2.0", (4, 5), {"ATensor": "f32 f16"}),
        ],
        forms=[
            Form("general", "11 10 01", of="add"),
            Form("clamped", "11 10 01", reached=Reached(activation="relu")),
            Form("pieces", "11 10 01", reached=Reached(activation="leaky_relu")),
            Form("softsign", "11 10 01", reached=Reached(activation="softsign")),
            Form("dense", "11", of="add", gpu=True),
            Form("runs", "10", needs="cuda", of="add", gpu=True),
            Form("strided", of="add", gpu=True),
            Form("pieces_dense", "11", gpu=True),
            Form("pieces_runs", "10", needs="cuda", gpu=True),
            Form("pieces_strided", gpu=True),
            # It is rare, so that one form is enough for it.
            Form("softsign_strided", gpu=True),
        ],
    ),
    Operator(
        "quantize_linear",
        number=2,
        command="quantize",
        onnx="ai.onnx.QuantizeLinear",
        formula="clamp(round(IN / scale) + zero point), ties to even",
        tensors=[
            Tensor("InputTensor", "data"),
            Tensor("ScaleTensor", "scale", like="InputTensor", integers="f32", mixed=True, others="f8e8m0"),
            Tensor("ZeroPointTensor", "zero_point", like="OutputTensor", optional="6.2"),
            Tensor("OutputTensor", "output"),
        ],
        attributes=[
            # The precision to which the input, the scale and their quotient are rounded (ONNX 23). For
            # f16 and bf16 the runtime makes the quotients, and the form `divide` does the rest.
            Attribute(
                "precision",
                since="hewn",
                values={"f32": ("FLOAT32", 1), "f16": ("FLOAT16", 10), "bf16": ("BFLOAT16", 16)},
            ),
            # Whether numbers beyond a small float's largest one become that one (ONNX 19).
            Attribute("saturate", since="hewn", values={"1": ("ON", 1), "0": ("OFF", 0)}),
        ],
        signature=["InputTensor", "OutputTensor"],
        as_f32="bf16 f8e8m0",
        levels=[
            Level(
                "hewn",
                (1, 8),
                {
                    "InputTensor": "f32 f16 bf16 i32",
                    "OutputTensor": "i8 u8 i16 u16 i32 u32 i4 u4 i2 u2 " + SMALL_FLOATS,
                },
            ),
            Level("6.0", (1, 8), {"InputTensor": "f32 f16 i32", "OutputTensor": "i8 u8"}),
            Level("3.0", (1, 8), {"InputTensor": "f32 i32", "OutputTensor": "i8 u8"}),
            Level("2.1", (4, 4), {"InputTensor": "f32 i32", "OutputTensor": "i8 u8"}),
            Level("1.0", (4, 4), {"InputTensor": "f32", "OutputTensor": "u8"}),
        ],
        forms=[
            Form(
                "divide", "100 110 111",
                reached=Reached("per_axis_last", layouts_of_only_form="dense per_axis_last", scales="zero"),
            ),
            # Only for outputs of 8 bits it is proved that reciprocals round as a division does.
            Form(
                "reciprocal", "1",
                only=to_8_bits,
                needs="fma",
                llvm_args=ASCENDING,
                reached=Reached(least=1000, ordinary=True),
            ),
            Form(
                "columns", "1110 1111",
                only=to_8_bits,
                needs="avx2",
                reached=Reached("per_axis_last", least=65536, ordinary=True),
            ),
            Form(
                "repeating", "1",
                only=to_8_bit_integers,
                needs="avx2",
                llvm_args=ASCENDING,
                reached=Reached("inner_4", least=1000, ordinary=True, in_rows=True),
            ),
            Form(
                "blocks", "1",
                only=float_to_8_bits,
                needs="avx2",
                since="6.3",
                reached=Reached("per_channel_outer", least=4096, most=4096),
            ),
            # Elements of 4 and 2 bits, which are packed in registers.
            Form(
                "packed4", "1",
                only=f32_to_8_bit_integers,
                needs="avx2",
                since="6.3",
                llvm_args=ASCENDING,
                reached=Reached(least=256, ordinary=True, bits=4),
            ),
            Form(
                "packed2", "1",
                only=f32_to_8_bit_integers,
                needs="avx2",
                since="hewn",
                llvm_args=ASCENDING,
                reached=Reached(least=1024, ordinary=True, bits=2),
            ),
            # Outputs of 32 bits are rare, so `strided` is enough for them.
            Form("dense", "100", only=to_8_or_16_bits, gpu=True),
            Form("runs", "100", only=to_8_or_16_bits, needs="cuda", gpu=True),
            Form("strided", gpu=True),
        ],
    ),
    Operator(
        "dequantize_linear",
        number=3,
        command="dequantize",
        onnx="ai.onnx.DequantizeLinear",
        formula="(IN - zero point) * scale",
        tensors=[
            Tensor("InputTensor", "data"),
            Tensor("ScaleTensor", "scale"),
            Tensor("ZeroPointTensor", "zero_point", like="InputTensor", optional="6.2"),
            Tensor("OutputTensor", "output", like="ScaleTensor", mixed=True),
        ],
        signature=["InputTensor", "OutputTensor"],
        as_f32="bf16 f8e8m0",
        levels=[
            Level("hewn", (1, 8), {
                    "InputTensor": f"{INTEGERS} i4 u4 i2 u2 {SMALL_FLOATS}",
                    "ScaleTensor": "f32 f16 bf16 f8e8m0",
                }),
            Level("6.0", (1, 8), {"InputTensor": INTEGERS, "ScaleTensor": "f32 f16"}),
            Level("3.0", (1, 8), {"InputTensor": INTEGERS, "ScaleTensor": "f32"}),
            Level("2.1", (4, 4), {"InputTensor": INTEGERS, "ScaleTensor": "f32"}),
            Level("1.0", (4, 4), {"InputTensor": "u8", "ScaleTensor": "f32"}),
        ],
        forms=[
            Form("general", "100 110 111", reached=Reached("dense per_axis_last")),
            Form(
                "repeating", "1",
                only=from_integers,
                needs="avx2",
                reached=Reached("inner_4", least=1000, in_rows=True),
            ),
            Form(
                "blocks", "1",
                only=from_8_bits,
                needs="avx2",
                since="6.3",
                reached=Reached("per_channel_outer", least=4096, most=4096),
            ),
            # Elements of 4 and 2 bits, which are unpacked in registers.
            Form(
                "packed4", "1",
                only=from_8_bit_integers_to_f32,
                needs="avx2",
                since="6.3",
                reached=Reached(least=256, bits=4),
            ),
            Form(
                "packed2", "1",
                only=from_8_bit_integers_to_f32,
                needs="avx2",
                since="hewn",
                reached=Reached(least=1024, bits=2),
            ),
            Form("dense", "100", gpu=True),
            Form("runs", "100", needs="cuda", gpu=True),
            Form("strided", gpu=True),
        ],
    ),
    # DirectML's successors of the two operators above. DirectML's quantization type says whether there
    # is a zero point; in hewn the presence of the tensor does.
    Operator(
        "quantize",
        number=7,
        command="dml-quantize",
        onnx="ai.onnx.QuantizeLinear",
        formula="clamp(round(IN / scale) + zero point), ties to even",
        kernels="quantize_linear",
        tensors=[
            Tensor("InputTensor", "data"),
            Tensor("ScaleTensor", "scale", like="InputTensor", blocks=True),
            Tensor("ZeroPointTensor", "zero_point", like="OutputTensor", optional="6.3", blocks=True, middle=True),
            Tensor("OutputTensor", "output"),
        ],
        signature=["InputTensor", "OutputTensor"],
        levels=[
            Level("6.3", (1, 8), {"InputTensor": "f32 f16", "OutputTensor": "i8 u8 i4 u4"}),
        ],
    ),
    Operator(
        "dequantize",
        number=8,
        command="dml-dequantize",
        onnx="ai.onnx.DequantizeLinear",
        formula="(IN - zero point) * scale",
        kernels="dequantize_linear",
        tensors=[
            Tensor("InputTensor", "data"),
            Tensor("ScaleTensor", "scale", blocks=True),
            Tensor("ZeroPointTensor", "zero_point", like="InputTensor", optional="6.3", blocks=True, middle=True),
            Tensor("OutputTensor", "output", like="ScaleTensor"),
        ],
        signature=["InputTensor", "OutputTensor"],
        levels=[
            Level("6.3", (1, 8), {"InputTensor": "i8 u8 i4 u4", "ScaleTensor": "f32 f16"}),
        ],
    ),
    Operator(
        "quantized_linear_add",
        number=4,
        command="qadd",
        onnx="com.microsoft.QLinearAdd",
        formula="A + B of quantized tensors, quantized; ties to even",
        one_width=True,
        # LiteRT's fused activation: bounds of the result.
        attributes=[
            Attribute(
                "activation",
                since="hewn",
                type="quantized_activation",
                values={
                    "none": ("NONE", None),
                    "relu": ("RELU", None),
                    "relu6": ("RELU6", None),
                    "relu_n1_to_1": ("RELU_N1_TO_1", None),
                },
            ),
        ],
        tensors=[
            Tensor("ATensor", "data"),
            Tensor("AScaleTensor", "scale", one=True),
            Tensor("AZeroPointTensor", "zero_point", like="ATensor", optional="4.0", one=True),
            Tensor("BTensor", "data"),
            Tensor("BScaleTensor", "scale", one=True),
            Tensor("BZeroPointTensor", "zero_point", like="BTensor", optional="4.0", one=True),
            Tensor("OutputScaleTensor", "scale", one=True),
            Tensor("OutputZeroPointTensor", "zero_point", like="OutputTensor", optional="4.0", one=True),
            Tensor("OutputTensor", "output"),
        ],
        signature=["ATensor", "BTensor", "OutputTensor"],
        levels=[
            Level(
                "hewn",
                (1, 8),
                {
                    "ATensor": "i8 u8 i16 u16",
                    "BTensor": "i8 u8 i16 u16",
                    "OutputTensor": "i8 u8 i16 u16",
                    **SCALES,
                },
            ),
            Level(
                "4.0",
                (1, 8),
                {
                    "ATensor": "i8 u8",
                    "BTensor": "i8 u8",
                    "OutputTensor": "i8 u8",
                    **SCALES,
                },
            ),
        ],
        forms=[
            # Only `reciprocal` has a use for VNNI. With VNNI's features LLVM needs more moves between
            # lanes to narrow in `folded` (64 elements take 20.8 cycles instead of 18.5, by llvm-mca's
            # model of an Ice Lake). Without these features `divide` is the same function as
            # x86_64_avx512's.
            Form("divide", "11 10 01", without=VNNI, reached=Reached(scales="extraordinary")),
            # Outputs of 16 bits divide: they have too many ties to try for `reciprocal`, and too many
            # pairs of inputs to try for `folded`.
            Form(
                "reciprocal", "11 10 01",
                only=to_8_bits,
                needs="fma",
                reached=Reached(least=1000, scales="sixths", ordinary=True),
            ),
            Form(
                "folded", "11 10 01",
                only=to_8_bits,
                needs="fma",
                without=VNNI,
                reached=Reached(least=1000, scales="powers_of_two"),
            ),
            Form("dense", "11", gpu=True),
            Form("runs", "10", needs="cuda", gpu=True),
            Form("strided", gpu=True),
        ],
    ),
    Operator(
        "quantized_linear_mul",
        number=5,
        command="qmul",
        onnx="com.microsoft.QLinearMul",
        formula="A * B of quantized tensors, quantized; ties to even",
        tensors=[
            Tensor("ATensor", "data"),
            Tensor("AScaleTensor", "scale", one=True),
            Tensor("AZeroPointTensor", "zero_point", like="ATensor", optional="hewn", one=True),
            Tensor("BTensor", "data", like="ATensor"),
            Tensor("BScaleTensor", "scale", one=True),
            Tensor("BZeroPointTensor", "zero_point", like="BTensor", optional="hewn", one=True),
            Tensor("OutputScaleTensor", "scale", one=True),
            Tensor("OutputZeroPointTensor", "zero_point", like="OutputTensor", optional="hewn", one=True),
            Tensor("OutputTensor", "output"),
        ],
        signature=["ATensor", "OutputTensor"],
        levels=[
            Level(
                "hewn",
                (1, 8),
                {
                    "ATensor": "i8 u8",
                    "OutputTensor": "i8 u8",
                    **SCALES,
                },
            ),
        ],
        forms=[
            Form("general", "11 10 01", reached=Reached(scales="far_apart")),
            Form("bounded", "11 10 01", needs="avx2", reached=Reached(least=1000)),
            Form("dense", "11", gpu=True),
            Form("runs", "10", needs="cuda", gpu=True),
            Form("strided", gpu=True),
        ],
    ),
    Operator(
        "requantize",
        number=9,
        command="requantize",
        onnx="",
        formula="clamp(round((IN - zero point) * scale / output scale) + output zero point), ties to even",
        tensors=[
            Tensor("InputTensor", "data"),
            Tensor("InputScaleTensor", "scale", one=True),
            Tensor("InputZeroPointTensor", "zero_point", like="InputTensor", optional="hewn", one=True),
            Tensor("OutputScaleTensor", "scale", one=True),
            Tensor("OutputZeroPointTensor", "zero_point", like="OutputTensor", optional="hewn", one=True),
            Tensor("OutputTensor", "output"),
        ],
        signature=["InputTensor", "OutputTensor"],
        levels=[
            Level(
                "hewn",
                (1, 8),
                {
                    "InputTensor": "i8 u8 i16 u16",
                    "InputScaleTensor": "f32",
                    "OutputScaleTensor": "f32",
                    "OutputTensor": "i8 u8 i16 u16 i32",
                },
            ),
        ],
        forms=[
            Form("divide", "1", reached=Reached(scales="extraordinary")),
            # Proved only for outputs of 8 bits, as QUANTIZE_LINEAR's.
            Form("reciprocal", "1", only=to_8_bits, needs="fma", reached=Reached(least=1000, ordinary=True)),
            # Outputs of 32 bits would need a vector of 64-bit comparisons, which Halide writes as OpenCL C
            # that does not compile.
            Form("dense", "1", only=to_8_or_16_bits, gpu=True),
            Form("runs", "1", only=to_8_or_16_bits, needs="cuda", gpu=True),
            Form("strided", gpu=True),
        ],
    ),
    Operator(
        "dynamic_quantize_linear",
        number=6,
        command="dynamic",
        onnx="ai.onnx.DynamicQuantizeLinear",
        formula="quantize IN with the scale and zero point of its range",
        tensors=[
            Tensor("InputTensor", "data"),
            Tensor("OutputTensor", "output"),
            Tensor("OutputScaleTensor", "output", one=True),
            Tensor("OutputZeroPointTensor", "output", like="OutputTensor", one=True),
        ],
        signature=["InputTensor", "OutputTensor"],
        as_f32="bf16",
        levels=[
            Level(
                "hewn",
                (1, 8),
                {"InputTensor": "f32 f16 bf16", "OutputTensor": "i8 u8", "OutputScaleTensor": "f32"},
            ),
            Level(
                "4.0",
                (1, 8),
                {"InputTensor": "f32 f16", "OutputTensor": "i8 u8", "OutputScaleTensor": "f32"},
            ),
        ],
        forms=[
            Form("range", "1"),
            # As QUANTIZE_LINEAR's, but the scale is f32 even if the input is f16. The layout 111 is for a
            # tensor of one element.
            Form("divide", "100 111"),
            Form("reciprocal", "1", needs="fma", of="quantize_linear"),
            # On GPUs f16 is converted to f32 first.
            Form("ranges", only=from_f32, gpu=True),
            Form("parameters", only=from_f32, gpu=True),
            Form("dense", "100", only=from_f32, of="quantize_linear", gpu=True),
            Form("runs", "100", only=from_f32, needs="cuda", of="quantize_linear", gpu=True),
            Form("strided", only=from_f32, of="quantize_linear", gpu=True),
        ],
    ),
    # A scale, and a zero point in the mode `asymmetric`, for each block of the input. How the scale tensor
    # repeats says what a block is.
    Operator(
        "dynamic_quantize",
        number=11,
        command="dynamic-quantize",
        onnx="",
        formula="quantize each block of IN with the scale and zero point of its range",
        tensors=[
            Tensor("InputTensor", "data"),
            Tensor("OutputTensor", "output"),
            Tensor("OutputScaleTensor", "output", blocks=True),
            Tensor("OutputZeroPointTensor", "output", like="OutputTensor", optional="hewn", blocks=True),
        ],
        attributes=[
            Attribute(
                "mode",
                since="hewn",
                type="quantization_mode",
                values={
                    "asymmetric": ("ASYMMETRIC", None),
                    "symmetric": ("SYMMETRIC", None),
                    "full": ("FULL", None),
                },
            ),
            Attribute("min_scale", of=["asymmetric", "symmetric"]),
        ],
        signature=["InputTensor", "OutputTensor"],
        as_f32="f16 bf16",
        levels=[
            Level(
                "hewn",
                (1, 8),
                {
                    "InputTensor": "f32 f16 bf16",
                    "OutputTensor": "i8 u8 i4 u4 f8e4m3fn f8e5m2",
                    "OutputScaleTensor": "f32 f16 bf16",
                },
            ),
        ],
        forms=[
            Form("divide", "100 110 111", of="quantize_linear"),
            Form("reciprocal", "1", only=to_8_bits, needs="fma", of="quantize_linear"),
            Form("columns", "1110 1111", only=to_8_bits, needs="avx2", of="quantize_linear"),
            Form("blocks", "1", only=float_to_8_bits, needs="avx2", since="6.3", of="quantize_linear"),
            Form("rows", "1"),
        ],
    ),
    # The OCP MX formats: a power of two as the scale of each block. Blocks are as DYNAMIC_QUANTIZE's.
    Operator(
        "mx_quantize",
        number=12,
        command="mx-quantize",
        onnx="",
        block_size=32,
        formula="quantize each block of IN with the power of two of its largest magnitude",
        tensors=[
            Tensor("InputTensor", "data"),
            Tensor("OutputTensor", "output"),
            Tensor("OutputScaleTensor", "output", blocks=True),
        ],
        attributes=[
            Attribute(
                "scale_mode",
                since="hewn",
                type="mx_scale_mode",
                values={"floor": ("FLOOR", None), "ceil": ("CEIL", None), "even": ("EVEN", None)},
            ),
        ],
        signature=["InputTensor", "OutputTensor"],
        as_f32="f16 bf16",
        levels=[
            Level(
                "hewn",
                (1, 8),
                {
                    "InputTensor": "f32 f16 bf16",
                    "OutputTensor": f"i8 {MX_FLOATS}",
                    "OutputScaleTensor": "f8e8m0",
                },
            ),
        ],
        forms=[
            Form("divide", "100 110 111", of="quantize_linear"),
            Form("reciprocal", "1", needs="fma", of="quantize_linear"),
            Form("columns", "1110 1111", needs="avx2", of="quantize_linear"),
            Form("blocks", "1", needs="avx2", since="6.3", of="quantize_linear"),
            Form("largest", "1"),
        ],
    ),
    # DEQUANTIZE_LINEAR, but an int8 element i means i / 64.
    Operator(
        "mx_dequantize",
        number=13,
        command="mx-dequantize",
        onnx="",
        block_size=32,
        formula="IN * scale; an int8 element i means i / 64",
        kernels="dequantize_linear",
        tensors=[
            Tensor("InputTensor", "data"),
            Tensor("ScaleTensor", "scale"),
            Tensor("OutputTensor", "output"),
        ],
        signature=["InputTensor", "OutputTensor"],
        as_f32="f16 bf16 f8e8m0",
        levels=[
            Level(
                "hewn",
                (1, 8),
                {
                    "InputTensor": f"i8 {MX_FLOATS}",
                    "ScaleTensor": "f8e8m0",
                    "OutputTensor": "f32 f16 bf16",
                },
            ),
        ],
    ),
    # NVFP4: a scale of f8e4m3fn for each block of 16 elements, and one of f32 for the tensor. It is
    # chosen, and written, unless it is given.
    Operator(
        "nvfp4_quantize",
        number=14,
        command="nvfp4-quantize",
        onnx="",
        block_size=16,
        formula="quantize each block of IN with the scale of its largest magnitude",
        tensors=[
            Tensor("InputTensor", "data"),
            Tensor("TensorScaleTensor", "scale", optional="hewn", one=True),
            Tensor("OutputTensor", "output"),
            Tensor("OutputScaleTensor", "output", blocks=True),
            Tensor("OutputTensorScaleTensor", "output", optional="hewn", one=True),
        ],
        signature=["InputTensor", "OutputTensor"],
        as_f32="f16 bf16",
        levels=[
            Level(
                "hewn",
                (1, 8),
                {
                    "InputTensor": "f32 f16 bf16",
                    "TensorScaleTensor": "f32",
                    "OutputTensor": "f4e2m1",
                    "OutputScaleTensor": "f8e4m3fn",
                    "OutputTensorScaleTensor": "f32",
                },
            ),
        ],
        forms=[
            Form("divide", "100 110 111", of="quantize_linear"),
            Form("reciprocal", "1", needs="fma", of="quantize_linear"),
            Form("columns", "1110 1111", needs="avx2", of="quantize_linear"),
            Form("blocks", "1", needs="avx2", since="6.3", of="quantize_linear"),
            Form("largest", "1", of="mx_quantize"),
        ],
    ),
    # DEQUANTIZE_LINEAR with the products of the two scales, which are rounded to f32.
    Operator(
        "nvfp4_dequantize",
        number=15,
        command="nvfp4-dequantize",
        onnx="",
        block_size=16,
        formula="IN * (scale * tensor scale)",
        kernels="dequantize_linear",
        tensors=[
            Tensor("InputTensor", "data"),
            Tensor("ScaleTensor", "scale"),
            Tensor("TensorScaleTensor", "scale", one=True),
            Tensor("OutputTensor", "output"),
        ],
        signature=["InputTensor", "OutputTensor"],
        as_f32="f16 bf16 f8e4m3fn",
        levels=[
            Level(
                "hewn",
                (1, 8),
                {
                    "InputTensor": "f4e2m1",
                    "ScaleTensor": "f8e4m3fn",
                    "TensorScaleTensor": "f32",
                    "OutputTensor": "f32 f16 bf16",
                },
            ),
        ],
    ),
]
