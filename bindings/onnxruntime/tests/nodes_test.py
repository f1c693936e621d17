"""ONNX's own node tests, at every opset at which their models are valid. hewn must have the node,
and the output must be ONNX's, bit for bit."""

import collections
import importlib
import sys

import common
import numpy as np
import onnx
import onnx.backend.test.case.node as cases
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

FILES = ("add", "quantizelinear", "dequantizelinear", "dynamicquantizelinear")
OPSETS = (7, 10, 13, 14, 19, 21, 23, 24, 25, 26, 28)
# The types in which ONNX Runtime takes and returns elements of sub-byte types, because it has no
# NumPy arrays for those.
UNPACKED = {
    TensorProto.UINT4: TensorProto.UINT8,
    TensorProto.INT4: TensorProto.INT8,
    TensorProto.UINT2: TensorProto.UINT8,
    TensorProto.INT2: TensorProto.INT8,
    TensorProto.FLOAT4E2M1: TensorProto.FLOAT,
}
LEAST = 300 if common.VERSION >= (1, 32) else 218  # runs with a node on hewn; 218 with 1.24


def at_opset(model, opset):
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for entry in model.opset_import:
        if entry.domain in ("", "ai.onnx"):
            entry.version = opset
    model.ir_version = min(model.ir_version, 10)
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return None
    return model


def array(value):
    is_proto = isinstance(value, onnx.TensorProto)
    return numpy_helper.to_array(value) if is_proto else np.asarray(value)


def is_sub_byte(info):
    return info.type.tensor_type.elem_type in UNPACKED


def unpacked(model, feeds):
    """The model with its inputs of sub-byte types as initializers, and such outputs converted: by
    Cast, or to floats by DequantizeLinear, because ONNX Runtime does not cast from float4."""
    graph = model.graph
    for info in [i for i in graph.input if is_sub_byte(i)]:
        graph.initializer.append(numpy_helper.from_array(feeds.pop(info.name), info.name))
        graph.input.remove(info)
    for info in [o for o in graph.output if is_sub_byte(o)]:
        element = UNPACKED[info.type.tensor_type.elem_type]
        shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
        name = info.name
        graph.output.remove(info)
        graph.output.append(helper.make_tensor_value_info(f"{name}_unpacked", element, shape))
        if element == TensorProto.FLOAT:
            graph.initializer.append(numpy_helper.from_array(np.ones((), np.float32), "one"))
            node = helper.make_node("DequantizeLinear", [name, "one"], [f"{name}_unpacked"])
        else:
            node = helper.make_node("Cast", [name], [f"{name}_unpacked"], to=element)
        graph.node.append(node)
    return model


def fault(session, feeds, outputs):
    for actual, expected in zip(common.run(session, feeds), outputs, strict=True):
        # 0 and -0 count as equal: ONNX's outputs of float4e2m1 have lost the sign of -0.
        if not common.equal(actual, array(expected).astype(actual.dtype)):
            return "another output"
    return None


def outcome(test, model):
    """The result of a test in words: "hewn's", or why it is not."""
    [(inputs, outputs)] = test.data_sets
    feeds = {i.name: array(x) for i, x in zip(model.graph.input, inputs)}
    model = unpacked(model, feeds)
    options = common.session_options(common.Level.ORT_DISABLE_ALL)
    try:
        session = common.on_hewn(model, options, claim="all")
    except Exception as error:  # ONNX Runtime has many
        if "opset" in str(error):
            return "ONNX Runtime knows no such opset"
        return f"FAILED: {error}"
    if not common.taken(session):
        return "FAILED: not hewn's"
    wrong = fault(session, feeds, outputs)
    return f"FAILED: {wrong}" if wrong else "hewn's"


def main():
    outcomes = collections.Counter()
    for file in FILES:  # all files together, which ONNX's own loader reads, take ten seconds
        importlib.import_module(f"{cases.__name__}.{file}")
    for test in cases._NodeTestCases:
        for opset in OPSETS:
            model = at_opset(test.model, opset)
            result = outcome(test, model) if model else "no such model"
            outcomes[result.split(":")[0]] += 1
            if result.startswith("FAILED"):
                print(f"{test.name}, opset {opset}: {result}")
    print(f"onnx {onnx.__version__}, ONNX Runtime {ort.__version__}: {dict(outcomes)}")
    return outcomes["FAILED"] > 0 or outcomes["hewn's"] < LEAST


if __name__ == "__main__":
    sys.exit(main())
