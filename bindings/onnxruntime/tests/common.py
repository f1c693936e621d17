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
from onnx import helper

warnings.simplefilter("ignore")
Level = ort.GraphOptimizationLevel
VERSION = tuple(int(n) for n in ort.__version__.split(".")[:2])
MICROSOFT = "com.microsoft"
BF16, E8M0 = np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.float8_e8m0fnu)
FLOAT8 = [np.dtype(getattr(ml_dtypes, f"float8_{name}")) for name in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz")]
F4 = np.dtype(ml_dtypes.float4_e2m1fn)
F6 = [np.dtype(getattr(ml_dtypes, f"float6_{name}")) for name in ("e2m3fn", "e3m2fn")]
SMALL = [*FLOAT8, F4]  # the floats of at most 8 bits that ONNX Runtime has, without scales


def typed(name, dtype, shape):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)


def model(nodes, inputs, outputs, constants=None, opset=21):
    """A model. inputs and outputs are (name, NumPy's type, shape or None); constants is {name:
    array}. Models of newer opsets have a newer format, which has their types."""
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
    return helper.make_model(graph, opset_imports=opsets, ir_version=10 if opset < 23 else 13)


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


def number_of(dtype):
    """ONNX's number of a type."""
    return helper.np_dtype_to_tensor_dtype(dtype)


def name_of(dtype):
    """ONNX Runtime's name of a type."""
    return helper.tensor_dtype_to_string(number_of(dtype)).replace("TensorProto.", "").lower()


TENSORS = {f"tensor({name_of(dtype)})": dtype for dtype in (BF16, E8M0, *FLOAT8)}


def run(session, feeds):
    """The session's outputs. ONNX Runtime neither takes nor gives NumPy's arrays of bfloat16 and
    float8, so these pass as its own tensors, of which it gives the address."""
    types = [value.type for value in (*session.get_inputs(), *session.get_outputs())]
    if not TENSORS.keys() & set(types):
        return session.run(None, feeds)

    def tensor(array):
        if array.dtype not in TENSORS.values():
            return ort.OrtValue.ortvalue_from_numpy(array)
        bits = np.ascontiguousarray(array).view(f"u{array.itemsize}").reshape(array.shape)
        return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, number_of(array.dtype))

    def array(tensor):
        dtype = TENSORS.get(tensor.data_type())
        if dtype is None:
            return tensor.numpy()
        count = math.prod(tensor.shape()) * dtype.itemsize
        memory = (ctypes.c_uint8 * count).from_address(tensor.data_ptr()) if count else []
        return np.array(memory, np.uint8).view(dtype).reshape(tensor.shape())

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
    return "float" in dtype.name


def equal(a, b):
    return (
        a.dtype == b.dtype
        and a.shape == b.shape
        and np.array_equal(a, b, equal_nan=is_float(a.dtype))
    )


def differing(a, b):
    """Which elements of two arrays of one type and shape differ in a bit. Any NaN is like another."""
    if not is_float(a.dtype):
        return np.asarray(a != b)
    bits = f"u{a.dtype.itemsize}"
    return np.asarray((a.view(bits) != b.view(bits)) & ~(np.isnan(a) & np.isnan(b)))


def same(a, b):
    """Whether two arrays have the same type, shape and bits. Any NaN is like another."""
    return a.dtype == b.dtype and a.shape == b.shape and not differing(a, b).any()


# ---- Floats of at most 8 bits ----


def codes_of(dtype):
    """All elements that the type has."""
    return np.arange(1 << int(dtype.name[len("float")]), dtype=np.uint8).view(dtype)


def rounded(q, dtype, saturate=True):
    """The nearest element of the type, found by search. If two are equally near, it has an even
    code. The number after the largest one, which the type lacks, takes part in this."""
    q, codes = np.asarray(q, np.float64), codes_of(dtype)
    negative, unsigned = len(codes) // 2, codes[: len(codes) // 2].astype(np.float64)
    numbers = unsigned[np.isfinite(unsigned)]
    beyond = len(numbers)
    numbers = np.append(numbers, 2 * numbers[-1] - numbers[-2])
    magnitude = np.minimum(np.abs(q), numbers[-1])
    low = np.clip(np.searchsorted(numbers, magnitude, "right") - 1, 0, beyond - 1)
    down, up = magnitude - numbers[low], numbers[low + 1] - magnitude
    code = low + ((up < down) | ((up == down) & (low % 2 == 1)))
    fnuz, has_nan = dtype.name.endswith("fnuz"), dtype.name.startswith("float8")
    nan = 0x80 if fnuz else 0x7F if has_nan else beyond - 1
    overflow = beyond - 1 if saturate or not has_nan else beyond if np.isinf(unsigned).any() else nan
    code = np.where(code == beyond, overflow, code)
    code = np.where(np.signbit(q) & ~(fnuz & (code == 0)), code | negative, code)
    return np.where(np.isnan(q), nan, code).astype(np.uint8).view(dtype)
