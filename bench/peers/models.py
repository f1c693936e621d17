"""Makes ONNX models of one operator, for the peer ONNX Runtime (peer_onnxruntime.cpp). Scales and
zero points are initializers, as in real models."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

TYPES = {
    "f32": (TensorProto.FLOAT, np.float32),
    "f16": (TensorProto.FLOAT16, np.float16),
    "i64": (TensorProto.INT64, np.int64),
    "i32": (TensorProto.INT32, np.int32),
    "i16": (TensorProto.INT16, np.int16),
    "i8": (TensorProto.INT8, np.int8),
    "u32": (TensorProto.UINT32, np.uint32),
    "u16": (TensorProto.UINT16, np.uint16),
    "u8": (TensorProto.UINT8, np.uint8),
}


def make(onnx_name, tensors, parameters, output, axis):
    """The bytes of a model. `onnx_name` has the domain and the operator, "ai.onnx.Add". `tensors`
    is {input's position: (type, shape, transposed)}. `parameters` is {input's position: (type,
    values)}, with one value for the whole tensor (`axis` is then -1) or one for each index of
    `axis`. `output` is (type, shape). The graph's inputs are called t<position>, its output y."""
    nodes, inputs, initializers, names = [], [], [], {}
    for position, (type_name, shape, transposed) in tensors.items():
        names[position] = f"t{position}"
        inputs.append(helper.make_tensor_value_info(names[position], TYPES[type_name][0], shape))
        if transposed:
            nodes.append(helper.make_node("Transpose", [names[position]],
                                          [f"t{position}_transposed"], perm=[1, 0]))
            names[position] += "_transposed"
    for position, (type_name, values) in parameters.items():
        names[position] = f"p{position}"
        array = np.array(values if axis >= 0 else values[0], TYPES[type_name][1])
        initializers.append(numpy_helper.from_array(array, names[position]))
    domain, kind = onnx_name.rsplit(".", 1)
    attributes = {"axis": axis} if axis >= 0 else {}
    nodes.append(helper.make_node(kind, [names[i] for i in sorted(names)], ["y"],
                                  domain="" if domain == "ai.onnx" else domain, **attributes))
    outputs = [helper.make_tensor_value_info("y", TYPES[output[0]][0], output[1])]
    # From opset 19 on, the scale of an i32 input would have to be i32.
    opset = 13 if kind == "QuantizeLinear" and tensors[0][0] == "i32" else 21
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph(nodes, kind, inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()
