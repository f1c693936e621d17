"""The list of ONNX nodes that hewn computes as an execution provider of ONNX Runtime.
docs/onnxruntime.md says which cases of each node it takes."""

from lists.declarations import OnnxNode

LINEAR = [10, 13, 19, 21, 23, 24, 25, 28]
SUM = [7, 13, 14]

ONNX_NODES = [
    OnnxNode("add", "ai.onnx", "Add", SUM),
    OnnxNode("quantize_linear", "ai.onnx", "QuantizeLinear", LINEAR),
    OnnxNode("dequantize_linear", "ai.onnx", "DequantizeLinear", LINEAR),
    OnnxNode("quantize_linear", "com.microsoft", "QuantizeLinear", [1]),
    OnnxNode("dequantize_linear", "com.microsoft", "DequantizeLinear", [1]),
    OnnxNode("quantized_linear_add", "com.microsoft", "QLinearAdd", [1]),
    OnnxNode("quantized_linear_mul", "com.microsoft", "QLinearMul", [1]),
    OnnxNode("dynamic_quantize_linear", "ai.onnx", "DynamicQuantizeLinear", [11]),
    # hewn rounds a sum as the four nodes do, computed one by one. It rounds a product as QLinearMul
    # does, which ONNX Runtime's own optimizer makes of the four nodes.
    OnnxNode("quantized_linear_add", "ai.onnx", "Add", SUM, between=True),
    OnnxNode("quantized_linear_mul", "ai.onnx", "Mul", SUM, between=True),
]
