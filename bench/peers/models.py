"""Makes ONNX models of an operator, for the peer ONNX Runtime (peer_onnxruntime.cpp). Scales and zero
points are initializers, as in real models."""

from onnx import TensorProto, helper

TYPES = {
    "f32": TensorProto.FLOAT,
    "f16": TensorProto.FLOAT16,
    "bf16": TensorProto.BFLOAT16,
    "i64": TensorProto.INT64,
    "i32": TensorProto.INT32,
    "i16": TensorProto.INT16,
    "i8": TensorProto.INT8,
    "i4": TensorProto.INT4,
    "u32": TensorProto.UINT32,
    "u16": TensorProto.UINT16,
    "u8": TensorProto.UINT8,
    "u4": TensorProto.UINT4,
    "f8e4m3fn": TensorProto.FLOAT8E4M3FN,
    "f8e4m3fnuz": TensorProto.FLOAT8E4M3FNUZ,
    "f8e5m2": TensorProto.FLOAT8E5M2,
    "f8e5m2fnuz": TensorProto.FLOAT8E5M2FNUZ,
    "f4e2m1": TensorProto.FLOAT4E2M1,
}


def steps(op, relu):
    """The nodes that compute an operator: each one's name with its domain, and the operator's inputs
    that it has after the result of the node before it. ONNX has some operators as one node."""
    if op == "add1":
        return [("ai.onnx.Add", [0, 1]), ("ai.onnx.Relu", [])]
    if op == "requantize":
        return [("ai.onnx.DequantizeLinear", [0, 1, 2]), ("ai.onnx.QuantizeLinear", [3, 4])]
    if op == "quantized_linear_add" and relu:
        return [("com.microsoft.QLinearAdd", list(range(8))), ("ai.onnx.Clip", [7])]
    return []


def make(op, onnx_name, tensors, parameters, output, axis, relu):
    """The bytes of a model, or None if ONNX has no such operator or types. `onnx_name` has the domain
    and the operator, "ai.onnx.Add", or is empty. `tensors` is {input's position: (type, shape,
    transposed)}. `parameters` is {input's position: (type, values)}, with one value for the whole
    tensor (`axis` is then -1) or one for each index of `axis`. `output` is (type, shape). The graph's
    inputs are called t<position>, its output y."""
    chain = steps(op, relu)
    if not chain and onnx_name:
        chain = [(onnx_name, sorted([*tensors, *parameters]))]
    types = [kind for kind, *_ in (*tensors.values(), *parameters.values(), output)]
    if not chain or not all(kind in TYPES for kind in types):
        return None
    nodes, inputs, initializers, names = [], [], [], {}
    for position, (type_name, shape, transposed) in tensors.items():
        names[position] = f"t{position}"
        inputs.append(helper.make_tensor_value_info(names[position], TYPES[type_name], shape))
        if transposed:
            nodes.append(helper.make_node("Transpose", [names[position]],
                                          [f"t{position}_transposed"], perm=[1, 0]))
            names[position] += "_transposed"
    for position, (type_name, values) in parameters.items():
        names[position] = f"p{position}"
        values, shape = (values, [len(values)]) if axis >= 0 else (values[:1], [])
        if type_name[0] in "iu":
            values = [int(value) for value in values]
        initializers.append(helper.make_tensor(names[position], TYPES[type_name], shape, values))
    attributes = {"axis": axis} if axis >= 0 else {}
    before = []
    for index, (name, positions) in enumerate(chain):
        domain, kind = name.rsplit(".", 1)
        result = "y" if index == len(chain) - 1 else f"between{index}"
        nodes.append(helper.make_node(kind, before + [names[i] for i in positions], [result],
                                      domain="" if domain == "ai.onnx" else domain, **attributes))
        before = [result]
    outputs = [helper.make_tensor_value_info("y", TYPES[output[0]], output[1])]
    # From opset 19 on, the scale of an i32 input would have to be i32.
    opset = 13 if op == "quantize_linear" and tensors[0][0] == "i32" else 21
    if "f4e2m1" in types:
        opset = 23
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph(nodes, op, inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=opsets,
                             ir_version=11 if opset == 23 else 10).SerializeToString()
