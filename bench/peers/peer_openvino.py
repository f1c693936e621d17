"""The peer OpenVINO: each operator is compiled as a model, which uses the caller's arrays.
peer_python.cpp calls version() and prepare()."""

import numpy as np
import openvino as ov
from openvino import opset13 as ops
from peer_numpy import one_of_each


def version():
    return ov.__version__.partition("-")[0]


def prepare(op, inputs, output, relu, threads):
    """Returns run(n), which runs the model n times. Returns None for problems that this file does
    not have: other operators and types, parameters that vary, and tensors that are not contiguous.
    The model computes in f32, as the other peers do."""
    make = {"add": add, "quantize_linear": quantize_linear}.get(op)
    arrays = inputs if op == "add" else inputs[:1]
    if make is None or not all(array.dtype.isbuiltin == 1 for array in (*arrays, output)):
        return None
    if not all(array.flags.c_contiguous for array in (*arrays, output)):
        return None
    nodes = [ops.parameter(array.shape, array.dtype) for array in arrays]
    result = make(nodes, inputs, output)
    if result is None:
        return None
    compiled = ov.Core().compile_model(ov.Model([result], nodes), "CPU", {
        "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    for i, array in enumerate(arrays):
        request.set_input_tensor(i, ov.Tensor(array, shared_memory=True))
    request.set_output_tensor(0, ov.Tensor(output, shared_memory=True))

    def run(n):
        for _ in range(n):
            request.infer()

    return run


def add(nodes, inputs, output):
    return ops.add(*nodes) if output.dtype.kind == "f" else None


def quantize_linear(nodes, inputs, output):
    """FakeQuantize in the limits of 8 bits, and Convert, as in OpenVINO's quantized models."""
    found = one_of_each(*inputs[1:])
    if inputs[0].dtype.name != "float32" or output.dtype.itemsize > 1 or found is None:
        return None
    limits, (scale, zero_point) = np.iinfo(output.dtype), found
    ends = [np.float32(scale) * np.float32(limit - zero_point)
            for limit in (limits.min, limits.max)]
    faked = ops.fake_quantize(nodes[0], *map(np.float32, (*ends, limits.min, limits.max)),
                              levels=256)
    return ops.convert(faked, output.dtype.type)
