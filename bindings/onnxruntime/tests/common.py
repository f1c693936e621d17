"""Helpers for the tests of the execution provider: models of a few nodes, sessions, and which nodes
hewn has in a session."""

import ctypes
import math
import warnings

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import onnxruntime_ep_hewn as hewn
from onnx import TensorProto, helper

warnings.simplefilter("ignore")
Level = ort.GraphOptimizationLevel
VERSION = tuple(int(n) for n in ort.__version__.split(".")[:2])
MICROSOFT = "com.microsoft"
BF16 = np.dtype(ml_dtypes.bfloat16)


def typed(name, dtype, shape):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)


def model(nodes, inputs, outputs, constants=None, opset=21):
    """A model. inputs and outputs are (name, NumPy's type, shape or None); constants is {name:
    array}."""
    initializers = [
        onnx.numpy_helper.from_array(np.asarray(v), n) for n, v in (constants or {}).items()
    ]
    graph = helper.make_graph(
        nodes,
        "graph",
        [typed(n, np.dtype(t), s) for n, t, s in inputs],
        [typed(n, np.dtype(t), s) for n, t, s in outputs],
        initializers,
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def session_options(level=Level.ORT_ENABLE_ALL, threads=1, entries=()):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = level
    options.intra_op_num_threads = threads
    for name in ("session.record_ep_graph_assignment_info", *entries):
        options.add_session_config_entry(name, "1")
    return options


def as_bytes(a_model):
    return a_model.SerializeToString() if isinstance(a_model, onnx.ModelProto) else a_model


def on_hewn(a_model, options=None, **given):
    options = hewn.session_options(options or session_options(), **given)
    return ort.InferenceSession(as_bytes(a_model), options, enable_fallback=0)


def on_cpu(a_model, options=None):
    options = options or session_options()
    return ort.InferenceSession(as_bytes(a_model), options, providers=["CPUExecutionProvider"])


def alone(a_model, **given):
    """A session that fails to be made unless hewn has every node."""
    entries = ("session.disable_cpu_ep_fallback",)
    options = session_options(Level.ORT_DISABLE_ALL, entries=entries)
    return on_hewn(a_model, options, **{"claim": "all", **given})


def run(session, feeds):
    """The session's outputs. ONNX Runtime neither takes nor gives NumPy's arrays of bfloat16, so
    these pass as its own tensors, of which it gives the address."""
    types = [value.type for value in (*session.get_inputs(), *session.get_outputs())]
    if "tensor(bfloat16)" not in types:
        return session.run(None, feeds)

    def tensor(array):
        if array.dtype != BF16:
            return ort.OrtValue.ortvalue_from_numpy(array)
        bits = array.view(np.uint16)
        return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, TensorProto.BFLOAT16)

    def array(tensor):
        if tensor.data_type() != "tensor(bfloat16)":
            return tensor.numpy()
        count = math.prod(tensor.shape())
        bits = (ctypes.c_uint16 * count).from_address(tensor.data_ptr()) if count else []
        return np.array(bits, np.uint16).view(BF16).reshape(tensor.shape())

    tensors = session.run_with_ort_values(None, {name: tensor(a) for name, a in feeds.items()})
    return [array(tensor) for tensor in tensors]


def taken(session):
    """The operators of the nodes that hewn has: a list for each part of the model that runs as a
    whole."""
    return [
        sorted(node.op_type for node in part.get_nodes())
        for part in session.get_provider_graph_assignment_info()
        if part.ep_name == hewn.get_ep_name()
    ]


def taken_nodes(session):
    return [op for part in taken(session) for op in part]


def is_float(dtype):
    return dtype.kind == "f" or dtype == BF16


def equal(a, b):
    return (
        a.dtype == b.dtype
        and a.shape == b.shape
        and np.array_equal(a, b, equal_nan=is_float(a.dtype))
    )
