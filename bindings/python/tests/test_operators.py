"""Compares every operator's bits with NumPy's: types, layouts, axes, blocks, outputs."""

import functools
import itertools

import hewn
import numpy as np
import pytest
from hewn._operators import OPERATORS, TYPES
from hewn._verify import CODES, _codes, _types, is_float, reference, same_bits
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

SIGNATURES = sorted({(v.operator, v.signature) for v in hewn.variants()})
# With each of the types that the kernels take as codes, if the signature has codes.
CASES = [
    (operator, signature, of_codes)
    for operator, signature in SIGNATURES
    for of_codes in _codes(operator, signature.split("_"))
]
FLOATS = ["float32", "float16", "bfloat16"]
WORDS = {dtype: word for word, dtype in TYPES.items()}


def dequantized(x, scale, zero_point=0):
    return ((x.astype(np.int64) - zero_point).astype(np.float32) * np.float32(scale)).astype("f4")


def quantized(x, scale, zero_point=0, dtype="uint8"):
    zero_points = np.asarray(zero_point).astype(dtype)
    return reference("quantize_linear", [x, np.asarray(scale, x.dtype), zero_points])


def bfloat16(values):
    """The values rounded to bfloat16, to the nearest, ties to even."""
    bits = values.view(np.uint32)
    upper = (bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)
    return upper.view(np.float32)


def check(got, expected):
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    assert same_bits(np.ascontiguousarray(got), np.ascontiguousarray(expected)).all()


def values(random, shape, dtype):
    if dtype in CODES:
        bits = int(dtype[len("float")])
        return random.integers(0, 1 << bits, shape, np.uint8).view(dtype)
    if is_float(dtype):
        return (random.standard_normal(shape) * 30).astype(dtype)
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def needs(operator, *types):
    """Skips the test if the build lacks the kernel. Builds may have few kernels."""
    if (operator, "_".join(WORDS[dtype] for dtype in types)) not in SIGNATURES:
        pytest.skip("this build has no such kernel")


@pytest.fixture
def x():
    return values(np.random.default_rng(1), (3, 8, 10), "float32")


def test_verify_runs_every_kernel_that_can_run():
    results = hewn.verify()
    able = {v.name for v in hewn.variants() if v.supported and v.device == "cpu"}
    assert {result.variant for result in results} == able
    assert [result for result in results if result.wrong] == []
    assert min(result.elements for result in results) > 4096


def test_verify_tells_a_wrong_kernel(monkeypatch):
    from hewn import _verify

    wrong = lambda a, b: a + b + (np.arange(a.size) == 7).astype(a.dtype)
    monkeypatch.setitem(_verify.FORMULAS, "add", wrong)
    assert {result.wrong for result in hewn.verify("add_f32__")} == {1}


@pytest.mark.parametrize("operator, signature, of_codes", CASES)
def test_types(operator, signature, of_codes):
    """Calls the function of each signature that the library was built with, on strided arrays."""
    random, row = np.random.default_rng(2), OPERATORS[operator]
    inputs = []
    for _, role, dtype in zip(row.inputs, row.roles, _types(operator, signature, of_codes)):
        if role == "data":
            inputs.append(values(random, (7, 12, 6), dtype)[::2, 1:, ::3].transpose(1, 2, 0))
        else:
            inputs.append(np.asarray(0.25 if role == "scale" else 3, dtype))
    dtype = _dtype(operator, signature, of_codes)
    modes = {"mode": "symmetric"} if "mode" in row.choices else {}
    got = getattr(hewn, operator)(*inputs, **dtype, **modes)
    if "zero_point" not in row.roles:
        inputs += dtype.values()
    expected = reference(operator, inputs, **modes)
    if not isinstance(expected, tuple):
        got, expected = (got,), (expected,)
    assert len(got) == len(expected)
    for array, due in zip(got, expected):
        check(array, due)


def _dtype(operator, signature, of_codes):
    asked = TYPES.get(signature.split("_")[-1], of_codes)
    return {"dtype": asked} if "dtype" in OPERATORS[operator].keywords else {}


def test_activations():
    needs("add1", "float32")
    x, zero = np.array([-3, -0.0, 0.5, 9, np.nan], np.float32), np.float32(-0.0)
    for keywords, due in (
        ({}, x),
        ({"activation": "relu"}, [0, 0, 0.5, 9, np.nan]),
        ({"activation": "leaky_relu", "alpha": 0.5}, [-1.5, -0.0, 0.5, 9, np.nan]),
        ({"activation": "shrink", "bias": 1, "threshold": 2}, [-2, 0, 0, 8, 0]),
        ({"activation": "clip", "min": -1, "max": np.inf}, [-1, -0.0, 0.5, 9, np.nan]),
    ):
        check(hewn.add1(x, zero, **keywords), np.asarray(due, np.float32))
        check(hewn.compile("add1", x, zero, **keywords)(x, zero), np.asarray(due, np.float32))
        check(reference("add1", [x, zero], **keywords), np.asarray(due, np.float32))


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_the_limits_of_64_bits(dtype):
    needs("add", "int64")
    limits = np.iinfo(dtype)
    for number in (limits.min, limits.max, limits.max // 2 + 1):
        assert hewn.add(np.zeros(1, dtype), number) == number


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_unsigned_types_of_signed_kernels(dtype):
    needs("add", dtype[1:])
    a, b = values(np.random.default_rng(3), (2, 40), dtype)
    check(hewn.add(a, b), a + b)


# ---- Scales and zero points ----


def test_a_number_is_rounded_once():
    needs("quantize_linear", "float16", "int16")
    tie = 1 + 2**-11 + 2**-30
    assert np.float16(np.float32(tie)) != np.float16(tie)  # by way of float32
    x = np.array([1000.0], np.float16)
    expected = hewn.quantize_linear(x, np.float16(tie), dtype="int16")
    check(hewn.quantize_linear(x, tie, dtype="int16"), expected)


def test_lists_of_numbers_are_converted(x):
    """A list becomes an array of the right type and shape. So do tuples, and NumPy's numbers in
    them."""
    scales, zeros = [0.1, 0.25, 1], [0, 3, 255]
    arrays = np.array(scales, np.float32), np.array(zeros, np.uint8)
    expected = quantized(x, *(array[:, None, None] for array in arrays))
    check(hewn.quantize_linear(x, scales, zeros, axis=0), expected)
    check(hewn.quantize_linear(x, tuple(scales), tuple(zeros), axis=0), expected)
    check(hewn.quantize_linear(x, np.array(scales).tolist(), list(arrays[1]), axis=0), expected)
    check(hewn.quantize_linear(x, list(np.array(scales)), zeros, axis=0), expected)
    check(hewn.quantize_linear(x, list(arrays[0]), [0.0, np.float16(3), 255], axis=0),
          expected)  # fmt: skip
    check(hewn.quantize_linear(x, [[[s]] for s in scales], [[[z]] for z in zeros]), expected)
    check(hewn.quantize_linear(x, scales, arrays[1], axis=0), expected)
    check(hewn.quantize_linear(x, [0.1], [3]), quantized(x, 0.1, 3))
    back = hewn.dequantize_linear(expected, scales, zeros, axis=0)
    check(back, dequantized(expected, *(array[:, None, None] for array in arrays)))
    blocks = hewn.quantize_linear(x, [[[0.5] * 10, [0.25] * 10]] * 3, axis=1, block_size=4)
    check(blocks, quantized(x, np.repeat(np.float32([0.5, 0.25]), 4)[:, None]))


def test_the_type_of_a_list(x):
    """A list does not choose the output's type, as an array of zero points does."""
    needs("quantize_linear", "float32", "int8")
    zeros = [-128, 0, 127]
    expected = quantized(x, 0.5, np.array(zeros)[:, None, None], "int8")
    check(hewn.quantize_linear(x, 0.5, zeros, axis=0, dtype="int8"), expected)
    out = np.empty(x.shape, np.int8)
    check(hewn.quantize_linear(x, 0.5, zeros, axis=0, out=out), expected)
    with pytest.raises(hewn.Error, match=r"zero_point\[0\]: -128 is no uint8"):
        hewn.quantize_linear(x, 0.5, zeros, axis=0)


def test_lists_are_rounded_once():
    needs("quantize_linear", "float16", "int16")
    tie = 1 + 2**-11 + 2**-30
    x = np.array([1000.0, 1000.0], np.float16)
    expected = hewn.quantize_linear(x, np.float16([tie, 65504]), axis=0, dtype="int16")
    check(hewn.quantize_linear(x, [tie, 65519], axis=0, dtype="int16"), expected)


def test_a_list_that_changes_while_it_is_read(x):
    """The list is read as it was before."""

    class Number:
        def __float__(self):
            scales.clear()
            return 0.25

    scales = [Number(), 0.5, 0.5]
    expected = quantized(x, np.float32([0.25, 0.5, 0.5])[:, None, None])
    check(hewn.quantize_linear(x, scales, axis=0), expected)
    assert scales == []


@pytest.fixture
def floats():
    """The types float32, float16 and bfloat16. NumPy knows the last one from ml_dtypes."""
    pytest.importorskip("ml_dtypes")


@pytest.mark.usefixtures("floats")
@pytest.mark.parametrize("given, asked", [*itertools.permutations(FLOATS, 2)])
def test_another_float(given, asked):
    """The result is computed in float32, and rounded once."""
    needs("dequantize_linear", "uint8", "float32")
    x = values(np.random.default_rng(5), (3, 8, 10), "uint8")
    scales, zeros = np.array([0.1, 3e-6, 700], given), np.array([0, 7, 255], np.uint8)
    wide = [array[:, None, None] for array in (scales, zeros)]
    expected = reference("dequantize_linear", [x, *wide, asked])
    assert np.isinf(expected).any() == (asked == "float16")
    check(hewn.dequantize_linear(x, scales, zeros, axis=0, dtype=asked), expected)
    out = np.zeros((8, 10, 6), asked).transpose(2, 0, 1)[::2]
    assert hewn.dequantize_linear(x, scales, zeros, axis=0, out=out) is out
    check(out, expected)
    for constants in (True, False):
        op = hewn.compile("dequantize_linear", x, scales, zeros, axis=0, dtype=asked,
                          constants=constants)  # fmt: skip
        check(op(x) if constants else op(x, scales, zeros), expected)
    # A number gets the output's type, while an array keeps its own.
    number = np.asarray(0.1, asked)
    check(hewn.dequantize_linear(x, 0.1, 3, dtype=asked),
          reference("dequantize_linear", [x, number, np.uint8(3)]))  # fmt: skip


@pytest.mark.usefixtures("floats")
@pytest.mark.parametrize("given, other", [*itertools.permutations(FLOATS, 2)])
def test_a_scale_of_another_float(x, given, other):
    needs("quantize_linear", "float32", "uint8")
    x, scales = x.astype(given), np.array([0.1, 0.03, 7], other)
    wide = scales.astype("f4")[:, None, None]
    expected = reference("quantize_linear", [x.astype("f4"), wide, np.uint8(3)])
    check(hewn.quantize_linear(x, scales, 3, axis=0), expected)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_axis(x, axis):
    size = x.shape[axis]
    scales = np.linspace(0.1, 0.9, size).astype(np.float32)
    zeros = np.arange(size, dtype=np.uint8)
    shape = [1, 1, 1]
    shape[axis] = size
    expected = quantized(x, scales.reshape(shape), zeros.reshape(shape))
    check(hewn.quantize_linear(x, scales, zeros, axis=axis), expected)
    check(hewn.quantize_linear(x, scales.reshape(shape), zeros.reshape(shape)), expected)
    back = hewn.dequantize_linear(expected, scales, zeros, axis=axis)
    check(back, dequantized(expected, scales.reshape(shape), zeros.reshape(shape)))


def test_without_axis_parameters_broadcast_as_numpy_does(x):
    scales = np.linspace(0.1, 0.9, x.shape[-1]).astype(np.float32)
    check(hewn.quantize_linear(x, scales), quantized(x, scales))
    scales = np.abs(x) + np.float32(0.5)  # one for each element
    check(hewn.quantize_linear(x, scales), quantized(x, scales))


@pytest.mark.parametrize("axis, block", [(1, 2), (1, 4), (2, 5), (0, 3), (-1, 10), (1, 3), (2, 1)])
def test_blocks(x, axis, block):
    random = np.random.default_rng(4)
    shape = list(x.shape)
    shape[axis] = -(-shape[axis] // block)
    scales = random.uniform(0.1, 0.9, shape).astype(np.float32)
    zeros = random.integers(0, 255, shape, np.uint8)
    every = range(x.shape[axis])
    wide = [np.repeat(p, block, axis).take(every, axis) for p in (scales, zeros)]
    expected = quantized(x, *wide)
    check(hewn.quantize_linear(x, scales, zeros, axis=axis, block_size=block), expected)
    out = np.empty((10, 3, 8), np.uint8).transpose(1, 2, 0)
    hewn.quantize_linear(x, scales, zeros, axis=axis, block_size=block, out=out)
    check(out, expected)
    got = hewn.dequantize_linear(expected, scales, zeros, axis=axis, block_size=block)
    check(got, dequantized(expected, *wide))


def test_one_scale_for_each_block_along_an_axis(x):
    scales = np.array([0.5, 0.25], np.float32)
    got = hewn.quantize_linear(x, scales, axis=1, block_size=4)
    check(got, quantized(x, np.repeat(scales, 4)[:, None]))


@pytest.mark.parametrize("precision", [None, "float32", "float16", np.float16, "bfloat16"])
def test_precision(x, precision):
    scale = np.float32(0.3)
    rounded = {"float16": lambda a: a.astype(np.float16).astype(np.float32), "bfloat16": bfloat16}
    to = rounded.get(getattr(precision, "__name__", precision), lambda a: a)
    expected = quantized(to(to(x) / to(np.asarray([scale]))), 1.0)
    check(hewn.quantize_linear(x, scale, precision=precision), expected)
    check(hewn.compile("quantize_linear", x, scale, precision=precision)(x), expected)


@pytest.mark.parametrize("dtype, middle", [("uint8", 128), ("int8", 0)])
def test_an_absent_zero_point_of_directmls_pair_is_the_middle(x, dtype, middle):
    needs("quantize_linear", "float32", dtype)
    needs("dequantize_linear", dtype, "float32")
    scales = np.array([0.5, 0.25], np.float32)
    wide = np.repeat(scales, 4)[:, None]
    expected = quantized(x, wide, middle, dtype)
    check(hewn.quantize(x, scales, dtype=dtype, axis=1, block_size=4), expected)
    check(hewn.quantize(x, scales, 3, dtype=dtype, axis=1, block_size=4),
          quantized(x, wide, 3, dtype))  # fmt: skip
    back = hewn.dequantize(expected, scales, axis=1, block_size=4)
    check(back, dequantized(expected, wide, middle))
    with pytest.raises(hewn.Error, match="does not divide"):
        hewn.quantize(x, scales[[0, 1, 0]], dtype=dtype, axis=1, block_size=3)


# ---- Types that follow ----


def test_the_output_type(x):
    needs("quantize_linear", "float32", "int8")
    default, from_zero = hewn.quantize_linear(x, 0.5), hewn.quantize_linear(x, 0.5, np.int8(-3))
    check(default, quantized(x, 0.5))
    check(from_zero, quantized(x, 0.5, -3, "int8"))
    for dtype in ("int8", np.int8, np.dtype("int8")):
        check(hewn.quantize_linear(x, 0.5, -3, dtype=dtype), quantized(x, 0.5, -3, "int8"))
    out = np.empty(x.shape, np.int8)
    check(hewn.quantize_linear(x, 0.5, -3, out=out), quantized(x, 0.5, -3, "int8"))
    assert hewn.quantize_linear(np.arange(4, dtype=np.int32), 0.5).dtype == np.uint8


def test_quantized_linear_add_follows_its_first_input():
    a, b = np.arange(20, dtype=np.uint8), np.arange(20, dtype=np.uint8)[::2].repeat(2)
    got = hewn.quantized_linear_add(a, 0.1, 3, b, 0.3, None, 0.2)
    parameters = [np.float32(0.1), np.uint8(3)], [np.float32(0.3), np.uint8(0)]
    last = [np.float32(0.2), np.uint8(0)]
    check(got, reference("quantized_linear_add", [a, *parameters[0], b, *parameters[1], *last]))


def test_data_inputs_broadcast_and_may_be_numbers():
    a, b = np.arange(12, dtype=np.float32).reshape(3, 4), np.arange(3, dtype=np.float32)[:, None]
    check(hewn.add(a, b), a + b)
    check(hewn.add(b, a), a + b)
    check(hewn.add(a[:, :1], a[0]), a[:, :1] + a[0])
    check(hewn.add(a, 2.5), a + np.float32(2.5))
    check(hewn.add(a, 2), a + np.float32(2))
    check(hewn.add(a, [1, 2.5, 3, 1e-50]), a + np.float32([1, 2.5, 3, 0]))
    check(hewn.add(a, [[1], [2], [np.inf]]), a + np.float32([[1], [2], [np.inf]]))


# ---- Layouts and outputs ----

LAYOUTS = {
    "transposed": lambda x: x.T,
    "steps": lambda x: x[::2, 1:, ::3],
    "one axis": lambda x: x[1, :, 3],
    "Fortran": np.asfortranarray,
    "no axis": lambda x: x[0, 0, 0:1].reshape(()),
    "empty": lambda x: x[:, :0],
    "one element, backwards": lambda x: x[:1, :1, :1][::-1],
    "broadcast": lambda x: np.broadcast_to(x[0], (4, *x.shape[1:])),
    "8 dimensions": lambda x: x.reshape(3, 2, 2, 2, 5, 2, 1, 1),
    "a field": lambda x: np.ones((5, 3), [("a", "f4"), ("b", "f4")])["b"],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(x, layout):
    view = LAYOUTS[layout](x)
    check(hewn.quantize_linear(view, 0.1, 3), quantized(view, 0.1, 3))


def test_read_only_inputs(x):
    x.flags.writeable = False
    check(hewn.quantize_linear(x, 0.1, 3), quantized(x, 0.1, 3))


def test_other_buffers():
    from array import array

    for given_ in (array("f", [1, 2, 3]), memoryview(array("f", [1, 2, 3]))):
        got = hewn.quantize_linear(given_, 0.5)
        assert isinstance(got, np.ndarray)
        assert got.tolist() == [2, 4, 6]


def test_out_is_returned_and_only_its_elements_are_written(x):
    memory = np.full((6, 8, 20), 99, np.uint8)
    out = memory[::2, :, ::2]
    assert hewn.quantize_linear(x, 0.1, 3, out=out) is out
    check(out, quantized(x, 0.1, 3))
    assert (memory[1::2] == 99).all() and (memory[:, :, 1::2] == 99).all()


def test_in_place(x):
    expected = x + x
    assert hewn.add(x, x, out=x) is x
    check(x, expected)


@st.composite
def views(draw):
    """Arrays of 1 to 5 dimensions that are cut, stepped over and transposed. Strides are not
    negative."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=5, min_side=0, max_side=7))
    base = np.arange(max(1, int(np.prod(shape))), dtype=np.float32)[: int(np.prod(shape))]
    view = (base * np.float32(0.37) - 90).reshape(shape)
    cut = [slice(draw(st.integers(0, 2)), None, draw(st.integers(1, 3))) for _ in shape]
    view = view[tuple(cut)].transpose(draw(st.permutations(range(len(shape)))))
    return np.broadcast_to(view, (2, *view.shape)) if draw(st.booleans()) else view


@settings(max_examples=200, deadline=None, database=None, derandomize=True)
@given(views(), st.data())
def test_any_layout(view, data):
    check(hewn.quantize_linear(view, 0.5, 7), quantized(view, 0.5, 7))
    axis = data.draw(st.integers(-view.ndim, view.ndim - 1))
    scales = np.linspace(0.2, 0.7, view.shape[axis]).astype(np.float32)
    wide = np.moveaxis(np.broadcast_to(scales, np.moveaxis(view, axis, -1).shape), -1, axis)
    check(hewn.quantize_linear(view, scales, axis=axis), quantized(view, wide))
    check(hewn.add(view, view), view + view)


# ---- ONNX's reference ----


@functools.cache
def onnx_model(operator, dtype, axis):
    pytest.importorskip("onnx")
    from onnx import helper as h
    from onnx.reference import ReferenceEvaluator

    node = h.make_node(operator, ["x", "s", "z"], ["y"], **({} if axis is None else {"axis": axis}))
    types = {"x": "float32", "s": "float32", "z": dtype, "y": dtype}
    if operator == "DequantizeLinear":
        types = {"x": dtype, "s": "float32", "z": dtype, "y": "float32"}
    of = lambda name: h.make_tensor_value_info(
        name, h.np_dtype_to_tensor_dtype(np.dtype(types[name])), None
    )
    graph = h.make_graph([node], "g", [of(n) for n in "xsz"], [of("y")])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 21)])
    return ReferenceEvaluator(model)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16"])
@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_onnx(x, dtype, axis):
    """ONNX has the same formula. Its axis is 1 by default, and always one dimension."""
    needs("quantize_linear", "float32", dtype)
    needs("dequantize_linear", dtype, "float32")
    scales, zeros = np.float32(0.25), np.asarray(5, dtype)
    if axis is not None:
        scales = np.linspace(0.1, 0.9, x.shape[axis]).astype(np.float32)
        zeros = np.arange(x.shape[axis]).astype(dtype)
    feeds = {"x": x, "s": np.asarray(scales), "z": zeros}
    expected = onnx_model("QuantizeLinear", dtype, axis).run(None, feeds)[0]
    check(hewn.quantize_linear(x, scales, zeros, axis=axis), expected)
    feeds["x"] = expected
    back = onnx_model("DequantizeLinear", dtype, axis).run(None, feeds)[0]
    check(hewn.dequantize_linear(expected, scales, zeros, axis=axis), back)
