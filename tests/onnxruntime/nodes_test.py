"""ONNX's own node tests, at every opset at which their models are valid: hewn has the node, of
every type that it knows, and the output is ONNX's, bit for bit."""

import collections
import importlib
import sys

import common
import numpy as np
import onnx
import onnx.backend.test.case.node as cases
import onnxruntime as ort

FILES = ("add", "quantizelinear", "dequantizelinear", "dynamicquantizelinear")
OPSETS = (7, 10, 13, 14, 19, 21, 23, 24, 25, 26)
# Types that hewn has not, and an operator, whose expansion into others is tested.
NOT_HEWNS = ("e4m3", "e5m2", "int4", "int2", "float4", "test_dynamicquantizelinear")
LEAST = 141  # runs with a node on hewn: as many with ONNX Runtime 1.24, 163 with 1.31


def is_hewns(name):
    return name.endswith("_expanded") or not any(word in name for word in NOT_HEWNS)


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
    return onnx.numpy_helper.to_array(value) if is_proto else np.asarray(value)


def fault(session, data_sets):
    for inputs, outputs in data_sets:
        feeds = {i.name: array(x) for i, x in zip(session.get_inputs(), inputs)}
        for actual, expected in zip(session.run(None, feeds), outputs):
            if not common.equal(actual, array(expected)):
                return "another output"
    return None


def outcome(test, model):
    """What came of it: hewn's, or why it is not."""
    options = common.session_options(common.Level.ORT_DISABLE_ALL)
    try:
        session = common.on_hewn(model, options, claim="all")
    except Exception as error:  # ONNX Runtime has many
        if "opset" in str(error):
            return "ONNX Runtime knows no such opset"
        return f"FAILED: {error}" if is_hewns(test.name) else "no kernel in ONNX Runtime"
    if not common.taken(session):
        return "FAILED: not hewn's" if is_hewns(test.name) else "not hewn's"
    wrong = fault(session, test.data_sets)
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
