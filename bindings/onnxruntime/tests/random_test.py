"""Random models of one node, run on hewn and compared with the formulas bit for bit. They are also
compared with ONNX Runtime's CPU provider, whose faults are named here one by one: random_test.py
COUNT"""

import collections
import concurrent.futures
import dataclasses
import math
import sys

import common
import ml_dtypes
import numpy as np
import onnxruntime as ort
from onnx import helper

F32, F16, U8, I8, U16, I16, I32, U32, I64, U64 = map(
    np.dtype, "f4 f2 u1 i1 u2 i2 i4 u4 i8 u8".split()
)
BF16 = common.BF16
E8M0, F4, FLOAT8 = common.E8M0, common.F4, common.FLOAT8
U4, I4 = np.dtype(ml_dtypes.uint4), np.dtype(ml_dtypes.int4)
PACKED = (U4, I4, F4)  # ONNX Runtime takes and gives no arrays of these
DYNAMIC = "DynamicQuantizeLinear"
SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 33]
ODDS = [0.02] + [0.098] * 10


@dataclasses.dataclass
class Case:
    op: str
    inputs: dict  # name: array, or None if it is absent
    output: np.dtype
    opset: int
    attributes: dict = dataclasses.field(default_factory=dict)
    shown: tuple = ("y",)  # the graph's outputs; nobody reads others

    @property
    def must_be_constant(self):
        return [name for name, value in self.present.items() if value.dtype in PACKED]

    @property
    def present(self):
        return {name: value for name, value in self.inputs.items() if value is not None}

    def model(self, constants, dynamic):
        """The model with `constants` as initializers, and the feeds of the other inputs."""
        domain = common.MICROSOFT if self.op.startswith("QLinear") else ""
        names = [name if value is not None else "" for name, value in self.inputs.items()]
        outputs = ["y", "y_scale", "y_zero_point"] if self.op == DYNAMIC else ["y"]
        node = helper.make_node(self.op, names, outputs, domain=domain, **self.attributes)
        feeds = {name: v for name, v in self.present.items() if name not in constants}
        inputs = [(n, v.dtype, [None] * v.ndim if dynamic else v.shape) for n, v in feeds.items()]
        initializers = {name: self.inputs[name] for name in constants}
        nodes = [node]
        shown = [(n, F32 if n == "y_scale" else self.output, None) for n in self.shown]
        if self.output in PACKED:
            initializers["one"] = np.ones((), F32)
            nodes.append(helper.make_node("DequantizeLinear", ["y", "one"], ["unpacked"]))
            shown = [("unpacked", F32, None)]
        return common.model(nodes, inputs, shown, initializers, self.opset), feeds

    def __str__(self):
        shapes = {name: (v.dtype.name, v.shape) for name, v in self.present.items()}
        return f"{self.op}, opset {self.opset}, {shapes}, {self.attributes}"


def ends(dtype):
    info = ml_dtypes.iinfo(dtype)
    return info.min, info.max


def values(rng, shape, dtype):
    if dtype in common.SMALL:
        return np.asarray(rng.choice(common.codes_of(dtype), shape))
    if not common.is_float(dtype):
        type_drawn = np.dtype("i1") if dtype in (U4, I4) else dtype
        numbers = rng.integers(*ends(dtype), shape, dtype=type_drawn, endpoint=True)
        return np.asarray(numbers).astype(dtype)
    x = np.asarray(rng.standard_normal(shape) * 10.0 ** rng.integers(-2, 4), dtype)
    if x.size and rng.random() < 0.5:
        x.reshape(-1)[rng.integers(0, x.size, 3)] = [np.inf, -np.inf, 0.5]
    return x


def scales(rng, shape, dtype):
    base = rng.choice([0.1, 0.25, 0.007, 1.0, 3.0], shape)
    return np.asarray(base * rng.uniform(0.9, 1.1, shape), dtype)


def random_shape(rng, most=5):
    while True:
        shape = tuple(int(n) for n in rng.choice(SIZES, rng.integers(0, most + 1), p=ODDS))
        if math.prod(max(n, 1) for n in shape) < 1 << 17:  # a 0 may be broadcast from a 1
            return shape


def parameter_shape(rng, shape, opset, attributes):
    """The shape of a scale, which has one element, one for each index of an axis, or blocks."""
    choice = rng.random()
    if choice < 0.3 or not shape or 0 in shape:
        return () if rng.random() < 0.5 else (1,)
    axis = int(rng.integers(len(shape)))
    attributes["axis"] = axis - len(shape) if rng.random() < 0.3 else axis
    if opset < 21 or choice < 0.65:
        return (shape[axis],)
    attributes["block_size"] = block = int(rng.integers(1, shape[axis] + 1))
    return shape[:axis] + (-(-shape[axis] // block),) + shape[axis + 1 :]


def linear(rng):
    quantizes = rng.random() < 0.5
    opset = int(rng.choice([13, 19, 21, 23, 25, 28]))
    float_type = scale_type = F32
    if opset >= 19 and rng.random() < 0.4:
        float_type = scale_type = F16 if rng.random() < 0.5 else BF16
    if opset >= 24 and rng.random() < 0.3:
        scale_type = E8M0
    shape, attributes = random_shape(rng), {}
    scale = scales(rng, parameter_shape(rng, shape, opset, attributes), scale_type)
    types = [U8, I8] + ([U16, I16, U4, I4] if opset >= 21 else []) + ([] if quantizes else [I32])
    types += (FLOAT8 if opset >= 19 else []) + ([F4] if opset >= 23 else [])
    quantized = types[rng.integers(len(types))]
    if quantized in common.SMALL:
        zero_point = np.zeros(scale.shape, quantized)
    else:
        zero_point = values(rng, scale.shape, quantized)
    if quantizes and opset >= 19 and rng.random() < 0.5:
        attributes["saturate"] = int(rng.integers(2))
    if not quantizes and scale_type == E8M0:  # by default the output would have the scale's type
        attributes["output_dtype"] = common.number_of(float_type)
    if quantized == I32 or rng.random() < 0.2:
        zero_point = None
        quantized = U8 if quantizes else quantized
    op, x_type, output = (
        ("QuantizeLinear", float_type, quantized)
        if quantizes
        else ("DequantizeLinear", quantized, float_type)
    )
    inputs = {"x": values(rng, shape, x_type), "scale": scale, "zero_point": zero_point}
    return Case(op, inputs, output, opset, attributes)


def broadcastable(rng, most):
    shape = random_shape(rng, most)

    def part():
        first = int(rng.integers(0, len(shape) + 1)) if rng.random() < 0.3 else 0
        return tuple(1 if rng.random() < 0.3 else n for n in shape)[first:]

    return part(), part()


def add(rng):
    a, b = broadcastable(rng, 5 if rng.random() < 0.8 else 10)
    types = [F32, I64, I32, U32, U64, U8, I8, U16, I16]
    dtype = types[rng.integers(len(types))]
    inputs = {"a": values(rng, a, dtype), "b": values(rng, b, dtype)}
    return Case("Add", inputs, dtype, int(rng.choice([14, 21])))


def quantized(rng):
    a, b = broadcastable(rng, 4)
    dtype = (U8, I8)[rng.integers(2)]
    inputs = {}
    for name, shape in (("a", a), ("b", b), ("y", None)):
        if shape is not None:
            inputs[name] = values(rng, shape, dtype)
        inputs[name + "_scale"] = scales(rng, (), F32)
        inputs[name + "_zero_point"] = values(rng, (), dtype)
    op = "QLinearAdd" if rng.random() < 0.5 else "QLinearMul"
    return Case(op, inputs, dtype, 21)


def dynamic(rng):
    """An input whose range is infinite, finite, or smaller than f32's least numbers."""
    x = values(rng, random_shape(rng, 10 if rng.random() < 0.2 else 5), F32)
    if rng.random() < 0.6:
        x = np.where(np.isfinite(x), x, F32.type(np.nan))
    if rng.random() < 0.2:
        x = x * F32.type(1e-45)
    names = ("y", "y_scale", "y_zero_point")
    shown = tuple(n for n, is_shown in zip(names, rng.random(3) < 0.6) if is_shown)
    return Case(DYNAMIC, {"x": np.asarray(x)}, U8, 11, shown=shown or names)


def spread(case, name):
    """A scale or zero point for each element of x."""
    value, x = case.inputs[name], case.inputs["x"]
    if value is None or value.size == 1:
        return np.asarray(0 if value is None else value.reshape(()), F32)
    axis = case.attributes["axis"] % x.ndim
    if "block_size" in case.attributes:
        value = np.repeat(value, case.attributes["block_size"], axis)
        return np.take(value, range(x.shape[axis]), axis).astype(F32)
    return value.astype(F32).reshape([-1 if k == axis else 1 for k in range(x.ndim)])


def clamp(y, dtype):
    return np.clip(y, *ends(dtype)).astype(F32 if dtype in PACKED else dtype)


def quantized_by(case, rounding, is_old=False):
    """QuantizeLinear with this rounding of the quotient. From opset 23 on the quotient has the
    scale's type, unless `is_old` is set."""
    dtype = case.inputs["scale"].dtype if case.opset >= 23 and not is_old else F32
    dtype = F32 if dtype == E8M0 else dtype
    quotient = (case.inputs["x"].astype(dtype) / spread(case, "scale").astype(dtype)).astype(F32)
    if case.output in common.SMALL:
        y = common.rounded(quotient, case.output, case.attributes.get("saturate", 1))
        return y.astype(F32) if case.output in PACKED else y
    return clamp(rounding(quotient) + spread(case, "zero_point"), case.output)


def dynamic_by_formula(case, unknown_zero_point=0, unknown=None):
    """DynamicQuantizeLinear by the formula. `unknown` is the result for a quotient that is NaN;
    None stands for the zero point."""
    x = case.inputs["x"]
    numbers = x[~np.isnan(x)]
    high, low = (extreme(numbers, initial=F32.type(0)) for extreme in (np.max, np.min))
    scale = F32.type(1) if high == low else (high - low) / F32.type(255)
    zero_point = np.clip(F32.type(0) - low / scale, 0, 255)
    zero_point = F32.type(unknown_zero_point) if np.isnan(zero_point) else np.rint(zero_point)
    y = np.clip(np.rint(x / scale) + zero_point, 0, 255)
    y = np.where(np.isnan(y), zero_point if unknown is None else F32.type(unknown), y)
    outputs = {"y": y.astype(U8), "y_scale": np.asarray(scale),
               "y_zero_point": np.asarray(zero_point).astype(U8)}
    return [outputs[name] for name in case.shown]


def by_formula(case, zero_point_last=True):
    """The right result: by the formula, with each operation rounded to f32."""
    v = case.inputs
    if case.op == "Add":
        return v["a"] + v["b"]
    if case.op == "QuantizeLinear":
        return quantized_by(case, np.rint)
    if case.op == "DequantizeLinear":
        exact = v["x"].astype(np.float64) - spread(case, "zero_point")
        return (exact.astype(F32) * spread(case, "scale")).astype(case.output)
    a, b = (v[n].astype(F32) - F32.type(v[n + "_zero_point"]) for n in "ab")
    if case.op == "QLinearAdd":
        y = (a * v["a_scale"] + b * v["b_scale"]) / v["y_scale"]
    else:
        y = a * b * (v["a_scale"] * v["b_scale"] / v["y_scale"])
    zero_point = F32.type(v["y_zero_point"])
    y = np.rint(y) + zero_point if zero_point_last else np.rint(y + zero_point)
    return clamp(y, case.output)


def is_range_of_a_part(case, cpu, expected):
    """Whether the CPU provider may have missed numbers because of NaN in lanes of 4: the scale, if
    it is shown, is smaller than expected, or NaN."""
    x = case.inputs["x"]
    scales = [(y, t) for name, y, t in zip(case.shown, cpu, expected) if name == "y_scale"]
    return x.size > 4 and np.isnan(x).any() and not any(y > t for y, t in scales)


def is_known_fault(case, cpu, expected):
    """Whether the difference is a fault that ONNX Runtime's CPU provider is known to have, up to
    1.32.0:
    - QLinearAdd is off by one, because it multiplies by reciprocals and fuses operations.
    - QLinearMul adds the zero point before it rounds, not after it.
    - QuantizeLinear with saturate=0 makes the largest number of some numbers that are too large for
      float8e4m3fn, and NaN of some for which float8e5m2 has infinity.
    - DynamicQuantizeLinear makes 0 of NaN, not the zero point. Where the zero point would be NaN,
      it is the greatest number, not the least. A NaN in a lane of a vector hides the numbers
      before it in that lane, or makes the range NaN.
    Before 1.32 also:
    - QuantizeLinear from f16, to 4 bits or with blocks gives the wrong end of the range for
      quotients that an integer cannot hold.
    - QuantizeLinear of opset 23 divides f16 in f32.
    - QuantizeLinear from f16 cuts off the quotient's fraction (only 1.24.1)."""
    if case.op == DYNAMIC:
        return equal(cpu, dynamic_by_formula(case, 255, 0)) or is_range_of_a_part(case, cpu, expected)
    [cpu], [expected] = cpu, expected
    differs = cpu != expected
    if case.op == "QLinearAdd":
        return np.all(np.abs(cpu.astype(int) - expected)[differs] == 1)
    if case.op == "QLinearMul":
        return common.equal(cpu, by_formula(case, zero_point_last=False))
    if case.output in FLOAT8:
        saturates = case.attributes.get("saturate", 1)
        return not saturates and is_fault_beyond_float8(case.output, cpu, expected)
    if case.op != "QuantizeLinear" or common.VERSION >= (1, 32):
        return False
    is_f16 = case.inputs["x"].dtype == F16
    may_end_wrong = is_f16 or case.output in (U4, I4) or "block_size" in case.attributes
    at_end = np.isin(expected, ends(case.output))
    cut = is_f16 & (cpu == quantized_by(case, np.trunc, is_old=True))
    in_f32 = is_f16 & (cpu == quantized_by(case, np.rint, is_old=True))
    return np.all((at_end & may_end_wrong | cut | in_f32)[differs])


def is_fault_beyond_float8(dtype, cpu, expected):
    """Whether two arrays of float8 differ only where one number is too large for the type."""
    differs = common.differing(cpu, expected)
    wrong, due = cpu[differs], expected[differs]
    if dtype == FLOAT8[0]:
        return bool((np.isnan(due) & (np.abs(wrong.astype(F32)) == 448)).all())
    return dtype == FLOAT8[2] and bool((np.isinf(due) & np.isnan(wrong)).all())


def result(make_session, made, feeds):
    try:
        return common.run(make_session(made), feeds)
    except Exception as error:  # ONNX Runtime has many
        return error


def equal(some, others):
    return all(map(common.same, some, others))


def why_the_cpu_provider_refuses(case):
    """What the CPU provider is known to refuse; "" if it should run the case."""
    types = {case.output, *(value.dtype for value in case.present.values())}
    for dtype in (BF16, E8M0, F4):
        if dtype in types:
            return common.name_of(dtype)
    if case.opset >= 28:
        return "opset 28"
    is_one_block = case.attributes.get("block_size") and case.inputs["scale"].shape == (1,)
    return "one block of one dimension" if is_one_block else ""


def judge(case, hewn, cpu):
    """The verdict in words. It is a failure if it begins with FAILED."""
    failed = [isinstance(y, Exception) for y in (hewn, cpu)]
    if all(failed):
        return "both refuse"
    if failed[0]:
        return f"FAILED: only hewn refuses: {hewn}"
    if failed[1]:
        known = why_the_cpu_provider_refuses(case)
        if not known:
            return f"FAILED: only the CPU provider refuses: {cpu}"
    expected = dynamic_by_formula(case) if case.op == DYNAMIC else [by_formula(case)]
    if not equal(hewn, expected):
        return f"FAILED: {[int((y != t).sum()) for y, t in zip(hewn, expected)]} differ"
    if failed[1]:
        return f"equal; the CPU provider refuses {known}"
    if equal(cpu, expected):
        return "equal"
    known = is_known_fault(case, cpu, expected)
    return "the CPU provider's known fault" if known else "FAILED: an unknown fault of the CPU's"


def random_models(count):
    rng = np.random.default_rng(1)
    tally = collections.Counter()
    for _ in range(count):
        case = (linear, linear, add, quantized, dynamic)[rng.integers(5)](rng)
        parameters = [name for name in case.present if name not in ("x", "a", "b")]
        constants = parameters if rng.random() < 0.5 else []
        constants = list(dict.fromkeys([*constants, *case.must_be_constant]))
        if "b" in case.inputs and rng.random() < 0.3:
            constants.append("b")
        made, feeds = case.model(constants, dynamic=rng.random() < 0.5)
        level = common.session_options(common.Level.ORT_DISABLE_ALL)
        cpu = result(lambda m: common.on_cpu(m, level), made, feeds)
        verdict = judge(case, result(common.alone, made, feeds), cpu)
        tally[case.op, verdict.split(":")[0]] += 1
        if verdict.startswith("FAILED"):
            print(verdict, "|", case)
    for key in sorted(tally):
        print(*key, tally[key])
    return sum(n for (_, verdict), n in tally.items() if verdict == "FAILED")


def many_shapes():
    """Tests one session on four threads, with more shapes than the provider keeps plans of."""
    case = Case("Add", {n: np.zeros((2, 3), F32) for n in "ab"}, F32, 14)
    session = common.alone(case.model([], dynamic=True)[0])

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(150):
            a = values(rng, (int(rng.integers(1, 40)), int(rng.integers(1, 12))), F32)
            b = values(rng, a.shape if rng.random() < 0.5 else (1, a.shape[1]), F32)
            if not common.equal(session.run(None, {"a": a, "b": b})[0], a + b):
                return False
        return True

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return not all(pool.map(work, range(4)))


def main(count):
    failed = random_models(count)
    differ = many_shapes()
    print(f"ONNX Runtime {ort.__version__}; many shapes at once: {'DIFFER' if differ else 'equal'}")
    return failed > 0 or differ


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
