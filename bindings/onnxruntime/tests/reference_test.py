"""Random models of the nodes that hewn claims, with every version, attribute, type and rule for
shapes of ONNX's own schemas:

    reference_test.py COUNT [--seed SEED]            this many models
    reference_test.py --seconds SECONDS [--seed SEED]

Each model is run on hewn and compared with three things: the text of ONNX (the functions with `due`
in their names, and `refusal`), bit for bit; ONNX's reference evaluator, which this file calls "the
reference"; and the function body of the node, if it has one. `Named` names where the last two
differ from the text, and they must differ in exactly that way. hewn and ONNX Runtime's CPU provider
must refuse what the text does not allow. So hewn fails no model here that ONNX Runtime runs."""

import argparse
import collections
import dataclasses
import sys
import time

import common
import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
from common import same
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from random_test import (
    DYNAMIC,
    F16,
    F32,
    I32,
    U8,
    Case,
    dynamic_by_formula,
    ends,
    random_shape,
)

QUANTIZE, DEQUANTIZE = "QuantizeLinear", "DequantizeLinear"
NAMES = ("Add", QUANTIZE, DEQUANTIZE, DYNAMIC)
OLDEST = {"Add": 7, QUANTIZE: 10, DEQUANTIZE: 10, DYNAMIC: 11}  # the oldest that hewn claims
BF16, E8M0, SMALL = common.BF16, common.E8M0, common.SMALL
PACKED = [np.dtype(getattr(ml_dtypes, name)) for name in ("uint4", "int4", "uint2", "int2")]
PACKED.append(common.F4)
HEWNS = [np.dtype(t) for t in "f4 f2 u1 i1 u2 i2 u4 i4 u8 i8".split()] + [BF16] + PACKED
HEWNS += common.FLOAT8
if common.VERSION >= (1, 32):  # 1.24 has no tensors of this type
    HEWNS.append(E8M0)
PRECISIONS = {TensorProto.FLOAT: F32, TensorProto.FLOAT16: F16, TensorProto.BFLOAT16: BF16}


def schemas():
    """Yields ONNX's schemas that hewn claims, each with its last opset."""
    all_of = [s for s in onnx.defs.get_all_schemas_with_history()
              if s.domain == "" and s.name in NAMES and s.since_version >= OLDEST[s.name]]
    for name in NAMES:
        versions = sorted((s for s in all_of if s.name == name), key=lambda s: s.since_version)
        lasts = [s.since_version - 1 for s in versions[1:]] + [onnx.defs.onnx_opset_version()]
        yield from zip(versions, lasts)


def newest_opset():
    """The newest opset that ONNX Runtime knows."""
    for opset in range(onnx.defs.onnx_opset_version(), 0, -1):
        node = helper.make_node("Add", ["a", "a"], ["y"])
        try:
            common.on_cpu(common.model([node], [("a", F32, [1])], [("y", F32, [1])], opset=opset))
            return opset
        except Exception as error:  # ONNX Runtime has many
            if "opset" not in str(error):
                raise
    raise RuntimeError("ONNX Runtime takes no opset")


# ---- Models ----


@dataclasses.dataclass
class Node:
    op: str
    inputs: list  # names of values, or "" for an absent one
    outputs: list
    attributes: dict = dataclasses.field(default_factory=dict)
    domain: str = ""


@dataclasses.dataclass
class Model:
    opset: int
    arrays: dict  # the inputs
    nodes: list
    types: dict  # of the values between, and of the outputs
    shown: list  # names of the outputs

    def proto(self, fed, unpacks, as_onnx=False):
        """The model with the arrays `fed` as inputs and the others as initializers. `unpacks`
        converts outputs of sub-byte types, because ONNX Runtime returns no arrays of them.
        `as_onnx` writes com.microsoft's nodes as ONNX's nodes, which have the same meaning."""
        nodes = [helper.make_node(n.op, n.inputs, n.outputs, **n.attributes,
                                  domain="" if as_onnx else n.domain) for n in self.nodes]
        constants = {name: a for name, a in self.arrays.items() if name not in fed}
        outputs = []
        for name in self.shown:
            packed = self.types[name] in PACKED and unpacks
            if packed:
                constants["one"] = np.ones((), F32)
                nodes.append(helper.make_node(DEQUANTIZE, [name, "one"], [f"{name}_unpacked"]))
            outputs.append((f"{name}_unpacked" if packed else name,
                            F32 if packed else self.types[name], None))
        inputs = [(name, self.arrays[name].dtype, [None] * self.arrays[name].ndim) for name in fed]
        opset = 21 if as_onnx and any(n.domain for n in self.nodes) else self.opset
        return common.model(nodes, inputs, outputs, constants, opset)

    def __str__(self):
        nodes = "; ".join(f"{n.domain and 'com.microsoft.'}{n.op}({', '.join(n.inputs)}) -> "
                          f"{', '.join(n.outputs)} {n.attributes}" for n in self.nodes)
        arrays = {n: (a.dtype.name, a.shape) for n, a in self.arrays.items()}
        return f"opset {self.opset}: {nodes}; outputs {self.shown}; {arrays}"


class Random:
    """Draws the parts of models."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def chance(self, probability):
        return self.rng.random() < probability

    def one_of(self, things):
        things = list(things)
        return things[self.rng.integers(len(things))]

    def integers(self, shape, dtype):
        low, high = ends(dtype)
        if self.chance(0.3) and dtype.itemsize < 8:  # ends and the middle are more likely to err
            return np.asarray(self.rng.choice([low, high, 0, 1, high // 2], shape)).astype(dtype)
        drawn = dtype if dtype not in PACKED else np.dtype("i1")
        return np.asarray(self.rng.integers(low, high, shape, drawn, endpoint=True)).astype(dtype)

    def scale(self, shape, dtype):
        size = 2.0 ** self.rng.integers(-10, 11) if self.chance(0.3) else 0.1
        drawn = self.rng.choice([1, 0.25, 0.07, 3, 7.3], shape) * self.rng.uniform(0.9, 1.1, shape)
        drawn = drawn if self.chance(0.7) else self.rng.choice([0.5, 0.25, 1, 2], shape)
        scale = np.asarray(drawn * size, dtype)
        if scale.size and self.chance(0.05):  # ONNX does not forbid them
            special = np.asarray([-0.1, 0, -0.0, np.inf, np.nan, 6e-8, 1e-40]).astype(dtype)
            if dtype == E8M0:
                special = common.codes_of(E8M0)[[0, 254, 255]]
            scale.reshape(-1)[self.rng.integers(scale.size)] = self.one_of(special)
        return scale

    def floats(self, shape, dtype, scale=1.0, reach=300):
        """Floats, including ties, whose quotients by the scale reach about as far from 0 as the
        outputs' types do."""
        steps = np.asarray(self.rng.standard_normal(shape) * reach / 2)
        if self.chance(0.3):
            steps = np.round(steps * 2) / 2
        x = np.asarray(steps * scale).astype(dtype)
        if x.size and self.chance(0.3):
            special = [np.inf, -np.inf, 0.0, -0.0, 1e-7, 65504, -65504]
            special += [np.nan] if self.chance(0.3) else []
            special += [3e9, -3e38] if dtype in (F32, BF16) else []
            where = self.rng.integers(0, x.size, 3)
            x.reshape(-1)[where] = self.rng.choice(special, 3).astype(dtype)
        return x

    def values(self, shape, dtype, scale=1.0, reach=300):
        if dtype in SMALL:
            return np.asarray(self.rng.choice(common.codes_of(dtype), shape))
        if dtype.kind in "iu" or dtype in PACKED:
            return self.integers(shape, dtype)
        return self.floats(shape, dtype, scale, reach)


def allowed(schema, parameter):
    """The types of a schema's parameter. A type that NumPy and ml_dtypes lack is None."""
    for constraint in schema.type_constraints:
        if constraint.type_param_str == parameter:
            parameter = None
            names = constraint.allowed_type_strs
            break
    names = [parameter] if parameter else names
    types = [getattr(TensorProto, n.removeprefix("tensor(").removesuffix(")").upper()) for n in names]
    return [helper.tensor_dtype_to_np_dtype(t) for t in types]


def draw_type(random, types):
    """Draws a type. Seldom it is one that hewn does not have."""
    ours = [t for t in types if t in HEWNS]
    return random.one_of(types if random.chance(0.05) or not ours else ours)


def draw_scale_shape(random, shape, attributes, known):
    """Draws the shape of a scale, with axis and block_size in `attributes` as the shape needs them.
    Some are wrong. `known` are the attributes of the node's version."""
    rank, kind = len(shape), random.rng.random()
    axis = int(random.rng.integers(rank)) if rank else 0
    written = axis - rank if random.chance(0.3) else axis
    if "axis" in known and random.chance(0.9):
        attributes["axis"] = written if random.chance(0.97) else random.one_of((rank, -rank - 1))
    else:
        axis = 1
    if axis >= rank:
        axis = 0
    if kind < 0.35 or rank == 0:
        chosen = random.one_of(((), (1,)))
    elif kind < 0.65 or "block_size" not in known:
        chosen = (shape[axis],)
    else:
        block = int(random.rng.integers(1, shape[axis] + 2))
        attributes["block_size"] = block
        chosen = shape[:axis] + (-(-shape[axis] // block),) + shape[axis + 1:]
    if random.chance(0.06):
        chosen = random.one_of((chosen + (1,), (1,) + chosen, (1, 1), shape, (2,), chosen[1:]))
    if "block_size" in known and random.chance(0.03):
        attributes["block_size"] = int(random.one_of((-1, 0, 1, 2, 100)))
    return tuple(chosen)


def draw_linear(random, schema, opset, prefix=""):
    """Draws a node. Returns it with its arrays and the type of its output."""
    quantizes, known = schema.name == QUANTIZE, set(schema.attributes)
    x_type = draw_type(random, allowed(schema, schema.inputs[0].type_str))
    scale_type = (x_type if schema.inputs[1].type_str == schema.inputs[0].type_str
                  else draw_type(random, allowed(schema, schema.inputs[1].type_str)))
    if scale_type in (I32,) and random.chance(0.7):
        scale_type = F32 if schema.since_version >= 23 else scale_type
    shape = random_shape(random.rng, 4 if random.chance(0.9) else 10)
    return make_linear(random, opset, prefix, quantizes, known, x_type, scale_type, shape,
                       allowed(schema, schema.inputs[2].type_str))


def make_linear(random, opset, prefix, quantizes, known, x_type, scale_type, shape, zero_types,
                scale_shape=None, domain=""):
    attributes = {}
    if scale_shape is None:
        scale_shape = draw_scale_shape(random, shape, attributes, known)
    zero_type = draw_type(random, zero_types) if quantizes else x_type
    has_zero_point = random.chance(0.7 if quantizes or x_type != I32 else 0.2)
    output = zero_type if quantizes else scale_type
    if quantizes and not has_zero_point:
        output = U8
    number = helper.np_dtype_to_tensor_dtype
    if "output_dtype" in known and (random.chance(0.4) or (scale_type == E8M0 and not quantizes)):
        if not quantizes:
            output = draw_type(random, [F32, F16, BF16])
        elif not has_zero_point:
            output = zero_type
        written = zero_type if quantizes else output
        if quantizes and has_zero_point and random.chance(0.05):
            written = random.one_of(zero_types)
        attributes["output_dtype"] = number(written)
    if "saturate" in known and random.chance(0.2):
        attributes["saturate"] = int(random.rng.integers(2))
    if "precision" in known and random.chance(0.5):
        attributes["precision"] = random.one_of((0, 1, 1, 10, 10, 16, 16, TensorProto.DOUBLE))
    zero_shape = scale_shape
    if random.chance(0.05):
        zero_shape = random.one_of(((), (1,), (2,), scale_shape + (1,), scale_shape[1:], (1, 1)))
    elif zero_shape in ((), (1,)) and random.chance(0.2):
        zero_shape = random.one_of(((), (1,)))
    scale = random.scale(scale_shape, scale_type)
    with np.errstate(all="ignore"):
        typical = float(scale.reshape(-1)[-1]) if scale.size else 1.0
        typical = typical if np.isfinite(typical) and typical else 1.0
    wide = 2 * max(abs(e) for e in map(float, ends(output))) if output.kind in "iu" else 300
    if output in SMALL:
        wide = 2 * float(ml_dtypes.finfo(output).max)
    arrays = {prefix + "x": random.values(shape, x_type, typical, wide), prefix + "s": scale}
    inputs = [prefix + "x", prefix + "s"]
    if has_zero_point:
        arrays[prefix + "z"] = (np.zeros(zero_shape, zero_type) if zero_type in SMALL
                                else random.values(zero_shape, zero_type))
        inputs.append(prefix + "z")
    op = QUANTIZE if quantizes else DEQUANTIZE
    return Node(op, inputs, [prefix + "y"], attributes, domain), arrays, output


def draw_single(random, opset_limit):
    name = random.one_of(("Add", DYNAMIC) + (QUANTIZE, DEQUANTIZE) * 2)
    schema, last = random.one_of(
        (s, n) for s, n in ALL if s.name == name and s.since_version <= opset_limit)
    opset = int(random.rng.integers(schema.since_version, min(last, opset_limit) + 1))
    if schema.name == "Add":
        dtype = draw_type(random, allowed(schema, "T"))
        shape = random_shape(random.rng, 5 if random.chance(0.9) else 10)
        a, b = (tuple(1 if random.chance(0.3) else n for n in shape)[
            int(random.rng.integers(len(shape) + 1)) if random.chance(0.3) else 0:] for _ in "ab")
        if random.chance(0.05):
            b += (2,)
        arrays = {"a": random.values(a, dtype), "b": random.values(b, dtype)}
        return Model(opset, arrays, [Node("Add", ["a", "b"], ["y"])], {"y": dtype}, ["y"])
    if schema.name == DYNAMIC:
        x = random.floats(random_shape(random.rng, 5), F32, 10.0 ** random.rng.integers(-3, 4))
        if random.chance(0.1):
            x = x * F32.type(1e-45)
        types = {"y": U8, "y_scale": F32, "y_zero_point": U8}
        return Model(opset, {"x": np.asarray(x)}, [Node(DYNAMIC, ["x"], list(types))], types,
                     list(types))
    node, arrays, output = draw_linear(random, schema, opset)
    return Model(opset, arrays, [node], {"y": output}, ["y"])


def draw_microsoft(random, opset_limit):
    """Draws com.microsoft's QuantizeLinear or DequantizeLinear."""
    ints = [np.dtype(t) for t in ("i1", "u1", "i2", "u2")] + PACKED[:2]
    quantizes, floats = random.chance(0.5), random.one_of((F32, F16))
    x_type = floats if quantizes else random.one_of([*ints, I32])
    node, arrays, output = make_linear(random, 21, "", quantizes, {"axis"}, x_type, floats,
                                       random_shape(random.rng, 4), ints, domain=common.MICROSOFT)
    return Model(min(21, opset_limit), arrays, [node], {"y": output}, ["y"])


def draw_quantized(random, opset_limit):
    """Draws com.microsoft's QLinearAdd or QLinearMul."""
    dtype, shape = random.one_of((U8, np.dtype("i1"))), random_shape(random.rng, 4)
    arrays, inputs = {}, []
    for name in "aby":
        if name != "y":
            own = tuple(1 if random.chance(0.2) else n for n in shape)
            arrays[name] = random.values(own, dtype)
            inputs.append(name)
        for suffix, t in (("_scale", F32), ("_zero_point", dtype)):
            if name + suffix == "y_zero_point" and random.chance(0.3):
                continue  # ONNX Runtime refuses models without one of the others
            of = () if random.chance(0.98) else random.one_of(((1,), (1, 1), (2,)))
            arrays[name + suffix] = random.values(of, t)
            if t == F32:
                scale = random.scale(of, t)  # whose quotients the reference's int32 holds
                is_usual = np.isfinite(scale) & (scale > 1e-6)
                arrays[name + suffix] = np.where(is_usual, scale, t.type(1))
            inputs.append(name + suffix)
    node = Node(random.one_of(("QLinearAdd", "QLinearMul")), inputs, ["o"], {}, common.MICROSOFT)
    return Model(min(21, opset_limit), arrays, [node], {"o": dtype}, ["o"])


def draw_group(random, opset_limit):
    """Draws two DequantizeLinear, Add or Mul, and QuantizeLinear. Often hewn cannot join them."""
    opset = int(random.rng.integers(13, opset_limit + 1))
    by_name = {s.name: s for s, last in ALL if s.since_version <= opset <= last}
    shape = random_shape(random.rng, 3)
    ints = [np.dtype(t) for t in "u1 i1 u1 i1 u2 i2".split()][:6 if opset >= 21 else 4]
    if opset >= 19 and random.chance(0.1):
        ints += common.FLOAT8
    floats = [F32, F32, F32, F16, BF16] if opset >= 19 else [F32]
    nodes, arrays, types = [], {}, {}

    def linear(prefix, x_type, scale_type, zero_types):
        known = set(by_name[QUANTIZE if prefix == "q" else DEQUANTIZE].attributes)
        known -= set() if random.chance(0.3) else {"block_size"}
        scale_shape = () if random.chance(0.7) else None
        node, made, output = make_linear(random, opset, prefix, prefix == "q", known, x_type,
                                         scale_type, shape, zero_types, scale_shape)
        nodes.append(node)
        arrays.update(made)
        types[prefix + "y"] = output
        return output

    if random.chance(0.7):
        floats = [random.one_of(floats)]
    a, b = (linear(prefix, random.one_of(ints), random.one_of(floats), ints) for prefix in "ab")
    if a != b:
        return draw_group(random, opset_limit)
    nodes.append(Node(random.one_of(("Add", "Add", "Mul")), ["ay", "by"], ["m"]))
    types["m"] = a
    scale_type = a if opset < 23 or random.chance(0.7) else random.one_of((F32, F16, BF16))
    linear("q", a, scale_type, ints)
    del arrays["qx"]
    nodes[-1].inputs[0] = "m"
    shown = ["qy"] + [name for name in ("ay", "m") if random.chance(0.05)]
    return Model(opset, arrays, nodes, types, shown)


# ---- What ONNX's text says ----


def is_scalar(shape):
    return shape in ((), (1,))


def of_node(values, node):
    """The x, the scale and the zero point (or None) of a linear node."""
    return [values[name] if name else None for name in [*node.inputs, ""][:3]]


def refusal(node, x, scale, zero_point):
    """Why ONNX does not allow the shapes and attributes of a linear node; "" if it does."""
    block, axis = node.attributes.get("block_size", 0), node.attributes.get("axis", 1)
    zero_shape = None if zero_point is None else zero_point.shape
    output_dtype = node.attributes.get("output_dtype", 0)
    if node.op == QUANTIZE and zero_point is not None and output_dtype not in (
            0, helper.np_dtype_to_tensor_dtype(zero_point.dtype)):
        return "output_dtype is not the zero point's type"
    if block < 0:
        return "block_size is negative"
    if block == 0 and is_scalar(scale.shape):
        fits = zero_shape is None or is_scalar(zero_shape)
        return "" if fits else "the zero point's shape"
    if not -x.ndim <= axis < x.ndim:
        return "axis"
    shape = (x.shape[axis],)
    if block:
        shape = list(x.shape)
        shape[axis] = -(-shape[axis] // block)
    if scale.shape != tuple(shape):
        return "the scale's shape"
    return "" if zero_shape in (None, scale.shape) else "the zero point's shape"


def spread(node, value, x):
    """A scale or zero point, broadcast to each element of x."""
    block, axis = node.attributes.get("block_size", 0), node.attributes.get("axis", 1)
    if block == 0 and is_scalar(value.shape):
        return value.reshape(())
    if block == 0:
        return value.reshape([-1 if k == axis % x.ndim else 1 for k in range(x.ndim)])
    indices = np.arange(x.shape[axis]) // block
    return np.take(value, indices, axis)


def precision_of(node, opset, scale):
    """The type in which a node divides."""
    given = node.attributes.get("precision", 0)
    default = scale.dtype if opset >= 23 and scale.dtype != E8M0 else F32
    return PRECISIONS[given] if given else default


def quotient(node, x, scale, precision):
    return (x.astype(precision) / spread(node, scale, x).astype(precision)).astype(np.float64)


def quantize_due(node, x, scale, zero_point, output, precision):
    """round(x / scale) + zero point, clamped to the output's range. A quotient of NaN gives the
    zero point."""
    q = quotient(node, x, scale, precision)
    if output in SMALL:
        return common.rounded(q, output, node.attributes.get("saturate", 1))
    z = np.zeros(()) if zero_point is None else spread(node, zero_point, x).astype(np.float64)
    y = np.where(np.isnan(q), z, np.rint(q) + z)
    return np.clip(y, *ends(output)).astype(np.int64).astype(output)


def dequantize_due(node, x, scale, zero_point, output):
    z = 0 if zero_point is None else spread(node, zero_point, x).astype(np.float64)
    difference = (x.astype(np.float64) - z).astype(F32)
    return (difference * spread(node, scale, x).astype(F32)).astype(output)


def linear_due(node, opset, x, scale, zero_point, output):
    if node.op == DEQUANTIZE:
        return dequantize_due(node, x, scale, zero_point, output)
    return quantize_due(node, x, scale, zero_point, output, precision_of(node, opset, scale))


def middle_due(op, a, b):
    """A sum or product. Floats are rounded once, integers wrap."""
    wide = F32 if a.dtype in (F16, BF16) else a.dtype
    a, b, dtype = a.astype(wide), b.astype(wide), a.dtype
    return np.asarray(a + b if op == "Add" else a * b).astype(dtype)


def quantized_quotient(op, values, output):
    """The quotient of com.microsoft's QLinearAdd or QLinearMul, and the output's zero point, in
    f32."""
    scale, zero_point = {}, {}
    for name in "aby":
        scale[name] = values[f"{name}_scale"].reshape(())
        zero = np.zeros((), output)
        zero_point[name] = values.get(f"{name}_zero_point", zero).reshape(()).astype(F32)
    a, b = (values[name].astype(F32) - zero_point[name] for name in "ab")
    if op == "QLinearAdd":
        return (a * scale["a"] + b * scale["b"]) / scale["y"], zero_point["y"]
    return a * b * (scale["a"] * scale["b"] / scale["y"]), zero_point["y"]


def quantized_due(op, values, output):
    """The output of QLinearAdd or QLinearMul. A quotient of NaN gives the zero point."""
    q, zero_point = quantized_quotient(op, values, output)
    y = np.where(np.isnan(q), zero_point, np.rint(q) + zero_point)
    return np.clip(y, *ends(output)).astype(output)


# ---- Where the reference is not the text ----


class Named:
    """The names of the differences from the text that the reference evaluator or a function body
    may have."""

    CONVERTED = "the reference converts the quotient to int32, which does not hold it"
    PRECISION = "the reference divides in the type that NumPy gives both operands"
    FLOAT4 = "the reference makes 0 of NaN for float4e2m1, and adds the zero point, which loses -0"
    EMPTY = "the reference refuses empty zero points of float8"
    DOUBLE = "the reference rounds x to f32 and subtracts a zero point of int32 in float64"
    RANGE = "a range of 0, infinite or of NaN: the text says nothing, reference and body differ"


def quantize_by_reference(node, x, scale, zero_point, output):
    """The output that the reference evaluator computes, and for which elements its code
    determines that. Below opset 23, where ONNX's text has no precision, it also divides in the
    operands' type."""
    given = node.attributes.get("precision", 0)
    of_quotient = (np.ones(1, x.dtype) / np.ones(1, scale.dtype)).dtype
    precision = PRECISIONS[given] if given else of_quotient
    y = quantize_due(node, x, scale, zero_point, output, precision)
    q = quotient(node, x, scale, precision)
    if output == common.F4:
        return common.rounded(q if zero_point is None else q + 0.0, output), ~np.isnan(q)
    return y, is_held(q) | (output in SMALL)


def is_held(q):
    """Whether the reference's int32 can hold a quotient together with a zero point. False for
    NaN."""
    return np.abs(np.rint(q)) < 2**31 - 2**17


# ---- Running ----


def run(session, feeds):
    try:
        return common.run(session(), feeds)
    except Exception as error:  # ONNX Runtime has many
        return error


def unoptimized():
    return common.session_options(common.Level.ORT_DISABLE_ALL)


def unpacked(y):
    """The output as the DequantizeLinear of Model.proto returns it."""
    return y.astype(F32) if y.dtype in PACKED else y


class Judge:
    """The verdict on one model, in words. It is a failure if it begins with FAILED."""

    def __init__(self, model, random):
        self.model, self.random = model, random
        self.names = set()  # names from Named
        self.is_joined = False  # hewn runs the four nodes as one

    def verdict(self):
        model = self.model
        types = [a.dtype for a in model.arrays.values()] + list(model.types.values())
        if not all(t in HEWNS for t in types):
            return self.not_hewns("a type")
        if any(n.op == "Mul" and model.types[n.outputs[0]] == BF16 for n in model.nodes):
            return self.not_hewns("Mul of bfloat16")
        if any(n.op == QUANTIZE and (why := self.is_not_hewns(n)) for n in model.nodes):
            return self.not_hewns(why)
        wrong = self.refused()
        names = [n for n, a in model.arrays.items() if a.dtype not in PACKED]
        data = [n for n in names if n[-1] in "xab"]
        fed = names if self.random.chance(0.4) else data if self.random.chance(0.7) else []
        proto, feeds = model.proto(fed, unpacks=True), {n: model.arrays[n] for n in fed}
        hewn = run(lambda: self.on_hewn(proto), feeds)
        if wrong:
            cpu = run(lambda: common.on_cpu(proto, unoptimized()), feeds)
            for who, made in (("hewn", hewn), ("the CPU provider", cpu)):
                if not isinstance(made, Exception):
                    return f"FAILED: {who} does not refuse {wrong}"
            return f"refused: {wrong}"
        if isinstance(hewn, Exception):
            return f"FAILED: refused: {str(hewn)[:300]}"
        return self.compare(hewn)

    def on_hewn(self, proto):
        """A session in which hewn has all nodes, except that it has Mul only in groups."""
        if len(self.model.nodes) == 1:
            return common.alone(proto)
        session = common.on_hewn(proto, unoptimized(), claim="all")
        taken = common.taken(session)
        if sum(map(len, taken)) < len(self.model.nodes) - 1:
            raise RuntimeError(f"hewn has only {taken}")
        self.is_joined = any(len(part) == 4 for part in taken)
        return session

    def is_not_hewns(self, node):
        scale = self.model.arrays[node.inputs[1]].dtype
        if node.attributes.get("precision", 0) == TensorProto.DOUBLE:
            return "precision double"
        if scale == I32:
            return "a scale of int32"
        return ""

    def not_hewns(self, why):
        """Checks that hewn does not claim these nodes, whether or not ONNX Runtime has them."""
        model = self.model
        try:
            session = common.on_hewn(model.proto([], unpacks=False), unoptimized(), claim="all")
        except Exception:  # nobody has it
            return f"not hewn's: {why}"
        if len(model.nodes) == 1 and common.taken(session):
            return f"FAILED: claimed, though it is not hewn's: {why}"
        return f"not hewn's: {why}"

    def refused(self):
        """The text's reason to refuse the first node that it does not allow; "" if it allows
        all."""
        model = self.model
        values = dict(model.arrays)
        shape_of = {name: a.shape for name, a in values.items()}
        for node in model.nodes:
            if node.op in (QUANTIZE, DEQUANTIZE):
                if node.inputs[0] not in values:
                    values[node.inputs[0]] = np.zeros(shape_of["m"], model.types["m"])
                why = refusal(node, *of_node(values, node))
                if why:
                    return why
                shape_of[node.outputs[0]] = shape_of.get(node.inputs[0])
            elif node.op in ("Add", "Mul"):
                shapes = [shape_of[name] for name in node.inputs]
                try:
                    shape_of[node.outputs[0]] = np.broadcast_shapes(*shapes)
                except ValueError:
                    return "shapes that cannot be broadcast"
            elif node.op.startswith("QLinear"):
                for name in node.inputs:
                    if "_" in name and values[name].shape:
                        return "the shape of a scale or zero point"
        return ""

    def compare(self, hewn):
        model = self.model
        if self.is_joined:
            self.names.add("joined")
            if not self.may_be_joined():
                return "FAILED: joined, though the nodes by themselves have other results"
        with np.errstate(all="ignore"):
            due = self.due()
            for name, y in zip(model.shown, hewn, strict=True):
                is_product = self.is_joined and model.nodes[2].op == "Mul" and name == "qy"
                right = unpacked(self.joined_product(due) if is_product else due[name])
                if not same(y, right):
                    differs = np.sum(y != right) if y.shape == right.shape else y.shape
                    return f"FAILED: {name}: {differs} elements are not the text's"
            for name, y in self.by_reference():
                fault = self.reference_fault(name, y, due)
                if fault:
                    return f"FAILED: {name}: {fault}"
        return "equal" + "".join(f" ({name})" for name in sorted(self.names))

    def due(self):
        """All values by the text, computed node by node."""
        model, values = self.model, dict(self.model.arrays)
        for node in model.nodes:
            output = model.types[node.outputs[0]]
            operands = [values[name] for name in node.inputs]
            if node.op == DYNAMIC:
                case = Case(DYNAMIC, values, U8, model.opset, shown=node.outputs)
                values.update(zip(node.outputs, dynamic_by_formula(case)))
                continue
            if node.op in ("Add", "Mul"):
                y = middle_due(node.op, *operands)
            elif node.op.startswith("QLinear"):
                y = quantized_due(node.op, values, output)
            else:
                y = linear_due(node, model.opset, *of_node(values, node), output)
            values[node.outputs[0]] = y
        return values

    def may_be_joined(self):
        """Whether hewn may join the nodes: integers, one scale and one zero point each, f32 between
        them, and a division in f32. The sum or product must not be an output. (ONNX Runtime copies
        DequantizeLinear for each reader of its output, but not Add.)"""
        model = self.model
        floats = [model.types[n] for n in ("ay", "by", "m")]
        floats += [model.arrays[n].dtype for n in ("as", "bs", "qs")]
        linear = [n for n in model.nodes if n.op in (QUANTIZE, DEQUANTIZE)]
        quantized = [model.arrays["ax"].dtype, model.arrays["bx"].dtype, model.types["qy"]]
        return (all(t == F32 for t in floats) and "m" not in model.shown
                and not any(t in SMALL for t in quantized)
                and all(is_scalar(model.arrays[name].shape) for n in linear for name in n.inputs[1:])
                and not any(n.attributes.get("block_size") for n in linear)
                and linear[-1].attributes.get("precision", 0) in (0, TensorProto.FLOAT))

    def joined_product(self, values):
        given = {}
        for name in "abq":
            to = "y" if name == "q" else name
            if name != "q":
                given[to] = values[name + "x"]
            given[f"{to}_scale"] = values[name + "s"]
            if name + "z" in values:
                given[f"{to}_zero_point"] = values[name + "z"]
        return quantized_due("QLinearMul", given, self.model.types["qy"])

    # ---- The reference ----

    def by_reference(self):
        """The outputs of the reference evaluator and the function body, by name; none if the
        evaluator does not have the node."""
        model = self.model
        if model.nodes[0].op == "QLinearMul":
            return []
        if model.nodes[0].op == "QLinearAdd":
            return zip(model.shown, self.sum_by_reference())
        if any(a.dtype in common.FLOAT8 and a.size == 0 and name[-1] == "z"
               for name, a in model.arrays.items()):
            self.names.add(Named.EMPTY)
            return []
        if model.nodes[0].op == DYNAMIC and model.arrays["x"].size == 0:
            self.names.add(Named.RANGE)
            return []
        proto = model.proto(list(model.arrays), False, as_onnx=True)
        if any(n.op == DEQUANTIZE for n in model.nodes):  # it has none before opset 19's
            proto.opset_import[0].version = max(proto.opset_import[0].version, 19)
        outputs = list(zip(model.shown, ReferenceEvaluator(proto).run(None, model.arrays)))
        if model.nodes[0].op == DYNAMIC:
            body = ReferenceEvaluator(onnx.defs.get_schema(DYNAMIC, 11).function_body)
            outputs += zip(model.shown, body.run(model.shown, model.arrays, {}))
        return outputs

    def sum_by_reference(self):
        """QLinearAdd computed as two DequantizeLinear, Add and QuantizeLinear."""
        arrays = self.model.arrays

        def linear(op, x, name, y):
            zero_point = f"{name}_zero_point" if f"{name}_zero_point" in arrays else "zero"
            return Node(op, [x, f"{name}_scale", zero_point], [y])

        nodes = [linear(DEQUANTIZE, "a", "a", "p"), linear(DEQUANTIZE, "b", "b", "q"),
                 Node("Add", ["p", "q"], ["r"]), linear(QUANTIZE, "r", "y", "o")]
        output = self.model.types["o"]
        used = {**arrays, "zero": np.zeros((), output)}
        model = Model(21, used, nodes, {"o": output}, ["o"])
        return ReferenceEvaluator(model.proto(list(used), False)).run(None, used)

    def reference_fault(self, name, y, values):
        """The fault of the reference in words; "" if it has the text's bits, or differs as Named
        says."""
        y, unknown = np.asarray(y), "an unknown difference of the reference"
        if y.dtype != values[name].dtype or y.shape != values[name].shape:
            return unknown
        if same(unpacked(y), unpacked(values[name])):
            return ""
        if self.model.nodes[0].op == DYNAMIC:
            return "" if self.is_named_range() else unknown
        node = next(n for n in self.model.nodes if name in n.outputs)
        if node.op == "QLinearAdd":
            q, _ = quantized_quotient(node.op, self.model.arrays, y.dtype)
            self.names.add(Named.CONVERTED)
            return unknown if ((y != values[name]) & is_held(q)).any() else ""
        if node.op not in (QUANTIZE, DEQUANTIZE):
            return unknown
        x, scale, zero_point = of_node(values, node)
        if node.op == DEQUANTIZE:
            if zero_point is None or x.dtype != I32:
                return unknown
            self.names.add(Named.DOUBLE)
            difference = x.astype(F32).astype(np.float64) - spread(node, zero_point, x)
            wide = difference * spread(node, scale, x).astype(np.float64)
            return "" if same(y, wide.astype(y.dtype)) else unknown
        by_code, held = quantize_by_reference(node, x, scale, zero_point, y.dtype)
        differs = common.differing(y, values[name])
        if (differs & held & common.differing(y, by_code)).any():
            return unknown
        if y.dtype == common.F4:
            self.names.add(Named.FLOAT4)
        elif (differs & ~held).any():
            self.names.add(Named.CONVERTED)
        if (differs & held).any() and y.dtype != common.F4:
            self.names.add(Named.PRECISION)
        return ""

    def is_named_range(self):
        """Whether the range of DynamicQuantizeLinear is one for which the text says nothing."""
        x = self.model.arrays["x"]
        step = (x.max(initial=F32.type(0)) - x.min(initial=F32.type(0))) / F32.type(255)
        if step != 0 and np.isfinite(step):
            return False
        self.names.add(Named.RANGE)
        return True


def models(random, limit):
    draws = (draw_single,) * 6 + (draw_group,) * 3 + (draw_microsoft, draw_quantized)
    while True:
        yield random.one_of(draws)(random, limit)


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("count", nargs="?", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    if not given.count and not given.seconds:
        parser.error("COUNT or --seconds is expected")
    random, limit = Random(given.seed), newest_opset()
    tally, ops, end = collections.Counter(), collections.Counter(), time.monotonic() + given.seconds
    for number, model in enumerate(models(random, limit)):
        if time.monotonic() > end if given.seconds else number >= given.count:
            break
        verdict = Judge(model, random).verdict()
        tally[verdict.split(":")[0] if verdict.startswith("FAILED") else verdict] += 1
        ops["+".join(n.op for n in model.nodes), verdict.split(":")[0].split(" (")[0]] += 1
        if verdict.startswith("FAILED"):
            print(verdict, "|", model, flush=True)
    for key in sorted(tally):
        print(tally[key], key)
    for key in sorted(ops):
        print(ops[key], *key)
    print(f"{sum(tally.values())} models, seed {given.seed}; opsets to {limit}; onnx "
          f"{onnx.__version__}, ONNX Runtime {ort.__version__}")
    return tally["FAILED"] > 0 or missing(ops)


def missing(ops):
    """Nothing that should be compared may have been left out: a test in which all is refused cannot
    fail."""
    compared = {name for name, verdict in ops if verdict == "equal"}
    lacking = {*NAMES, "QLinearAdd", "QLinearMul"} - compared
    lacking |= {m for m in ("Add", "Mul") if f"{DEQUANTIZE}+{DEQUANTIZE}+{m}+{QUANTIZE}" not in compared}
    if lacking:
        print("no model was compared of", ", ".join(sorted(lacking)))
    return bool(lacking)


ALL = list(schemas())

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
