"""Random calls of every function. Well-formed calls must give the bits of NumPy's formulas,
whatever the layout, the exporter and the form of the parameters. Any others must end in hewn.Error
or TypeError, and must have written nothing. conftest.py says how many calls there are."""

import contextlib
import ctypes
import decimal
import fractions

import hewn
import numpy as np
import pytest
from hewn._operators import OPERATORS
from hewn._verify import CODES, _attributes, _types, reference, same_bits
from hypothesis import assume, given, strategies as st
from test_exporters import Exporter, ctypes_array

ml_dtypes = pytest.importorskip("ml_dtypes")
NARROW = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}
SIGNATURES = sorted({(v.operator, v.signature) for v in hewn.variants() if v.device == "cpu"})
if len(SIGNATURES) < 30:
    pytest.skip("a build of few kernels, where most calls are refused", allow_module_level=True)
FLOATS = ["float32", "float16", "bfloat16"]
SCALE = "float8_e8m0fnu"
SPECIAL = [0.0, -0.0, 0.5, -1.5, 6e-8, 65504, 3e38, np.inf, -np.inf, np.nan]


# ---- Arrays ----


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name) if name in NARROW else name)


def values(random, shape, name):
    return np.asarray(values_or_one(random, shape, name))


def values_or_one(random, shape, name):
    """Random values. NumPy gives a number instead of an array if there are no dimensions."""
    if name in NARROW:
        low, high = NARROW[name]
        return random.integers(low, high, shape, endpoint=True).astype(dtype_of(name))
    if name in CODES or name == SCALE:
        bits = int(name[len("float")])
        return np.asarray(random.integers(0, 1 << bits, shape, np.uint8)).view(name)
    if "float" in name:
        array = np.asarray(random.standard_normal(shape) * 30, name)
        at = random.random(shape) < 0.1
        with np.errstate(over="ignore"):
            return np.where(at, random.choice(SPECIAL, shape).astype(name), array)
    limits = np.iinfo(name)
    return random.integers(limits.min, limits.max, shape, name, endpoint=True)


@st.composite
def layouts(draw, array):
    """The same elements with other strides, none of which is negative."""
    if not array.ndim:
        return array
    order = draw(st.permutations(range(array.ndim)))
    steps = draw(st.lists(st.integers(1, 3), min_size=array.ndim, max_size=array.ndim))
    sizes = [array.shape[d] * steps[d] + draw(st.integers(0, 2)) for d in order]
    base = np.zeros(sizes, array.dtype).transpose(np.argsort(order))
    view = base[tuple(slice(0, size * step, step) for size, step in zip(array.shape, steps))]
    view[...] = array
    return view


def with_strides(array, version=None):
    return Exporter(array, version, strides=[size // array.itemsize for size in array.strides])


EXPORTERS = [lambda array: array] * 3 + [
    memoryview, with_strides, lambda array: with_strides(array, (1, 1)), ctypes_array,
]  # fmt: skip


@st.composite
def exported(draw, array):
    """The array as another owner of memory lends it, if that owner has the type."""
    view, exporter = draw(layouts(array)), draw(st.sampled_from(EXPORTERS))
    of_ml_dtypes = array.dtype.name in (*NARROW, *CODES, SCALE, "bfloat16")
    if of_ml_dtypes or (exporter is ctypes_array and array.dtype == np.float16):
        return view
    return exporter(view)


# ---- Calls that are well-formed ----


class Call:
    """The arguments of a function, and NumPy's result."""

    def __init__(self, function, inputs, keywords, expected):
        self.function, self.inputs, self.keywords = function, inputs, keywords
        self.expected = expected if isinstance(expected, tuple) else (expected,)


def wide(array):
    """The array in a type that NumPy's formulas accept."""
    return array.astype(np.int32) if array.dtype.name in NARROW else array


@st.composite
def parameters(draw, random, shape, types, whole):
    """Parameters of these types that vary alike along an axis or by blocks, as arrays, lists or
    numbers. Returns them with their values for each element, and with the keywords that describe
    them."""
    keywords, own = {}, ()
    form = draw(st.sampled_from(["one", "axis", "blocks", "broadcast"] if shape else ["one"]))
    index = np.ix_(*(range(size) for size in shape)) if shape else ()
    if form in ("axis", "blocks"):
        axis = draw(st.integers(0, len(shape) - 1))
        keywords["axis"] = axis - draw(st.sampled_from([0, len(shape)]))
        block = 1
        if form == "blocks":
            sizes = range(1, shape[axis] + 3)
            block = draw(st.sampled_from([b for b in sizes if not whole or shape[axis] % b == 0]
                                         or [1]))  # fmt: skip
            keywords["block_size"] = block
        count = -(-shape[axis] // block)
        own = (count,)
        along = np.arange(shape[axis]).reshape([-1 if d == axis else 1 for d in range(len(shape))])
        index = (along // block,)
    elif form == "broadcast":
        own = tuple(draw(st.sampled_from([1, size])) for size in shape)
        index = tuple(i if size > 1 else i * 0 for i, size in zip(index, own))
    given_, each = [], []
    for name in types:
        if name is None:
            given_.append(None)
            each.append(None)
            continue
        array = values(random, own, name)
        if name in FLOATS:
            array = np.asarray(np.abs(array))
        each.append(np.broadcast_to(array[index] if own else array, shape))
        given_.append(draw(exported(array)))
        finite = name not in FLOATS or (np.isfinite(array) & (array != 0)).all()
        if finite and array.size and name != SCALE and draw(st.booleans()):
            numbers = np.zeros(own) if name in CODES else array  # the only zero points of floats
            given_[-1] = numbers.astype(float if "float" in name else object).tolist()
    return given_, each, keywords


def is_scale(numbers, kind):
    """Whether the numbers are scales in that type, even if the tensor has no elements for them."""
    with np.errstate(over="ignore"):
        values = np.asarray(numbers, np.float64).astype(kind)
    return np.isfinite(values).all() and (values != 0).all()


@st.composite
def calls(draw):
    operator, signature = draw(st.sampled_from(SIGNATURES))
    row, types = OPERATORS[operator], _types(operator, signature, draw(st.sampled_from(CODES)))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = tuple(draw(st.lists(st.integers(0, 7), max_size=4)))
    x = values(random, shape, types[0])
    threads = {"threads": draw(st.sampled_from([None, 1, 2]))}
    if operator == "add":
        b = values(random, shape, types[0])
        with np.errstate(all="ignore"):
            return Call(hewn.add, [draw(exported(x)), draw(exported(b))], threads, x + b)
    if operator == "add1":
        b = values(random, shape, types[0])
        attributes = draw(st.sampled_from([*_attributes(operator, types[-1])]))
        return Call(hewn.add1, [draw(exported(x)), draw(exported(b))], {**attributes, **threads},
                    reference(operator, [x, b], **attributes))  # fmt: skip
    if operator == "dynamic_quantize":
        return draw(dynamic_quantizations(random, x, types[row.roles.index("output")], threads))
    if operator in ("mx_quantize", "nvfp4_quantize"):
        return draw(block_formats(operator, random, shape, types[row.roles.index("output")], threads))
    if operator == "dynamic_quantize_linear":
        x = draw(with_bfloat16(random, x))
        x = np.where(np.isinf(x), np.asarray(1, x.dtype), x)
        name = types[row.roles.index("output")]
        return Call(hewn.dynamic_quantize_linear, [draw(exported(x))], {"dtype": name, **threads},
                    reference(operator, [x, name]))  # fmt: skip
    if operator not in ("quantize_linear", "dequantize_linear"):  # scales have one element
        arrays = [
            values(random, shape if role == "data" else (), name)
            for role, name in zip(row.roles, types) if role != "output"
        ]  # fmt: skip
        arrays = [np.asarray(np.abs(a)) if a.dtype.kind == "f" else a for a in arrays]
        inputs = [draw(exported(array)) for array in arrays]
        attributes = draw(st.sampled_from([*_attributes(operator, types[-1])]))
        return Call(getattr(hewn, operator), inputs, {**attributes, **threads},
                    reference(operator, arrays, **attributes))  # fmt: skip
    return draw(quantizations(operator, types, random, x, threads))


@st.composite
def with_bfloat16(draw, random, x):
    """Other values of bfloat16 instead of some of float32. The kernels of float32 compute them."""
    instead = x.dtype == np.float32 and draw(st.booleans())
    return values(random, x.shape, "bfloat16") if instead else x


@st.composite
def dynamic_quantizations(draw, random, x, dtype, threads):
    """Calls of DYNAMIC_QUANTIZE, with a scale for the whole array. test_dynamic_quantize.py has those
    with blocks."""
    if x.dtype == np.float32:
        x = values(random, x.shape, draw(st.sampled_from(FLOATS)))
    if dtype not in ("int8", "uint8"):
        dtype = draw(st.sampled_from(["float8_e4m3fn", "float8_e5m2"]))
    mode = draw(st.sampled_from([*_attributes("dynamic_quantize", dtype)]))
    y, *parameters = reference("dynamic_quantize", [x, dtype], **mode)
    if x.size == 0:  # no block, and no scale
        parameters = [np.empty([min(1, size) for size in x.shape], p.dtype) for p in parameters]
    return Call(hewn.dynamic_quantize, [draw(exported(x))], {"dtype": dtype, **mode, **threads},
                (y, *parameters))  # fmt: skip


@st.composite
def block_formats(draw, operator, random, shape, dtype, threads):
    """Calls of MX_QUANTIZE and NVFP4_QUANTIZE, with blocks along the last dimension.
    test_block_formats.py has those along others."""
    x = values(random, shape or (1,), draw(st.sampled_from(FLOATS)))
    x = x.repeat(draw(st.integers(1, 9)), axis=-1)
    types = OPERATORS[operator].types[OPERATORS[operator].roles.index("output")]
    block = draw(st.sampled_from([None, 1, 4, 16, 32]))
    scale, attributes, size, typed = [], {}, {} if block is None else {"block_size": block}, {}
    if operator == "mx_quantize":
        typed = {"dtype": dtype if dtype in types else draw(st.sampled_from(types))}
        attributes = draw(st.sampled_from([*_attributes(operator, dtype)]))
    elif draw(st.booleans()):
        scale = [np.asarray(np.abs(values(random, (), "float32")))]
    return Call(getattr(hewn, operator), [draw(exported(x)), *scale],
                {**typed, **attributes, **size, **threads},
                reference(operator, [x, *scale, *typed.values()], **attributes, **size))  # fmt: skip


@st.composite
def quantizations(draw, operator, types, random, x, threads):
    """Calls of QUANTIZE_LINEAR and DEQUANTIZE_LINEAR, and of DirectML's pair, which allows less."""
    quantizes, shape = operator == "quantize_linear", x.shape
    integers = types[-1] if quantizes else types[0]  # or floats of at most 8 bits
    directml = draw(st.booleans()) and types[1] in types[::2] and integers in ("int8", "uint8")
    if integers in ("int8", "uint8"):
        bits = draw(st.sampled_from(["8", "4"] if directml else ["8", "4", "2"]))
        integers = integers[:-1] + bits
    floats = types[1] if directml else draw(st.sampled_from([*FLOATS, SCALE]))
    if not quantizes:
        x = values(random, shape, integers)
    elif not directml:
        x = draw(with_bfloat16(random, x))
    zero_point = integers if draw(st.booleans()) else None
    (scale, zero), (scales, zeros), keywords = draw(
        parameters(random, shape, [floats, zero_point], directml))  # fmt: skip
    number = not hasattr(scale, "shape") and isinstance(scale, (float, list))
    if zeros is None:
        middle = 1 << int(integers[-1]) - 1 if directml and integers.startswith("u") else 0
        zeros = np.asarray(middle, np.int32)
    function = getattr(hewn, operator.removesuffix("_linear") if directml else operator)
    if quantizes:
        keywords["dtype"], saturate = integers, True
        if not directml:
            keywords["saturate"] = draw(st.sampled_from([None, True, False]))
            saturate = keywords["saturate"] is not False
        if number:  # it gets x's type
            kind = "float32" if x.dtype.kind == "i" else x.dtype.name
            assume(is_scale(scale, kind))
            scales = np.asarray(scales, kind)
        expected = reference(operator, [x, scales, wide(zeros).astype(np.int32)
                                        if integers in NARROW else zeros.astype(integers), saturate])
        if integers in NARROW:
            expected = expected.clip(*NARROW[integers])
        expected = np.broadcast_to(expected, shape).astype(dtype_of(integers))
    else:
        dtype = floats if directml else draw(st.sampled_from([*FLOATS, None]))
        keywords["dtype"] = dtype
        if dtype is None and floats == SCALE:
            dtype = "float32"
        if number:  # it gets the output's type
            assume(is_scale(scale, dtype or "float32"))
            scales = np.asarray(scales, dtype or "float32")
        expected = reference(operator, [wide(x), scales, wide(zeros), dtype or scales.dtype.name])
    return Call(function, [draw(exported(x)), scale, zero], {**keywords, **threads}, expected)


def check(got, expected):
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    if got.dtype.name in NARROW:
        got, expected = got.astype(np.int8), expected.astype(np.int8)
    assert same_bits(np.ascontiguousarray(got), np.ascontiguousarray(expected)).all()


@given(calls(), st.data())
def test_well_formed_calls(call, data):
    way = data.draw(st.sampled_from(["call", "out", "compile", "bind"]))
    several = len(call.expected) > 1
    if way == "out" and not several:
        out = data.draw(layouts(np.zeros_like(call.expected[0])))
        assert call.function(*call.inputs, out=out, **call.keywords) is out
        return check(out, call.expected[0])
    if way in ("compile", "bind"):
        constants = data.draw(st.booleans())
        op = hewn.compile(call.function, *call.inputs, constants=constants, **call.keywords)
        names = OPERATORS[call.function.__name__].inputs
        free = [x for name, x in zip(names, call.inputs) if name in op.inputs]
        copied = [*NARROW, *(name for name in CODES if not name.startswith("float8"))]
        narrow = any(getattr(getattr(x, "dtype", None), "name", "") in copied
                     for x in [*free, *call.expected])  # fmt: skip
        got = op.bind(*free)() if way == "bind" and not narrow else op(*free)
    else:
        got = call.function(*call.inputs, **call.keywords)
    for array, due in zip(got if several else (got,), call.expected):
        check(array, due)


# ---- Any calls ----


class Odd:
    """An object whose attributes say what is not true."""

    dtype = "float32"
    shape = (3,)
    name = property(lambda self: 1 / 0)


NUMBERS = [0, 1, -1, 3, 255, 256, -129, 2**31, 2**63, 2**64, -(2**63), 2**70, 10**400, -(10**400),
           0.5, -0.0, 1e-46, 1e39, float("inf"), float("-inf"), float("nan"), 1j, True,
           decimal.Decimal("0.5"), fractions.Fraction(1, 3), np.float64(0.1), np.int64(-5),
           np.float16("inf"), np.longdouble(1), np.datetime64("2020-01-01")]  # fmt: skip
TEXTS = ["", "uint8", "int4", "uint4", "int2", "float16", "float32", "bfloat16", *CODES, SCALE,
         "f8e5m2", "x\0y", "uint8\0y", "\ud800", "x86_64_avx2", "x86_128", "\x1b[31m", "é" * 300,
         b"uint8"]  # fmt: skip
ARRAYS = ["float32", "float16", "float64", "int8", "uint8", "int16", "int32", "uint64", "bool",
          "complex64", ">f4", "U3", "O", "M8[s]", "int4", "uint4", "uint2", "bfloat16",
          "float8_e4m3fn", "float8_e8m0fnu", "float8_e4m3", "float6_e2m3fn", "float4_e2m1fn"]  # fmt: skip


@st.composite
def odd_arrays(draw):
    name = draw(st.sampled_from(ARRAYS))
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    shape = draw(st.sampled_from([(), (3,), (2, 3), (2, 3), (2, 3), (0,), (1,) * 9, (4, 2, 3)]))
    array = np.ones(shape, dtype)
    change = draw(st.sampled_from(["", "", "", "read-only", "backwards", "masked", "memoryview",
                                   "misaligned", "ctypes"]))  # fmt: skip
    with contextlib.suppress(Exception):
        if change == "read-only":
            array.flags.writeable = False
        if change == "backwards":
            array = array[::-1]
        if change == "masked":
            array = np.ma.masked_array(array)
        if change == "memoryview":
            array = memoryview(array)
        if change == "misaligned":
            memory = np.zeros(array.nbytes + 1, np.uint8)
            array = memory[1:].view(array.dtype).reshape(array.shape)
        if change == "ctypes":
            array = ctypes_array(array)
    return array


things = st.one_of(
    st.none(), st.sampled_from(NUMBERS), st.sampled_from(TEXTS), odd_arrays(), odd_arrays(),
    st.lists(st.sampled_from(NUMBERS), max_size=3), st.just([[1], [2, 3]]),
    st.just((ctypes.c_bool * 3)()), st.just((ctypes.c_float * 3)()), st.builds(Odd),
    st.builds(object), st.sampled_from([dict, np.uint8, np.dtype("int8"), ml_dtypes.int4, len]),
)  # fmt: skip


@given(st.data())
def test_any_calls(data):
    name = data.draw(st.sampled_from(sorted(OPERATORS)))
    row = OPERATORS[name]
    usual = {
        "axis": st.sampled_from([None, 0, 1, -1]), "block_size": st.sampled_from([None, 1, 2]),
        "dtype": st.sampled_from([None, "uint8", "int8", "uint4"]), "threads": st.just(1),
        "scale_dtype": st.sampled_from([None, "float16", "bfloat16"]),
        "variant": st.none(), "out": st.none(),
    }  # fmt: skip
    usual |= {word: st.sampled_from([None, *values]) for word, values in row.choices.items()}
    usual |= dict.fromkeys(row.parameters_of, st.sampled_from([None, 0, 0.5, -1]))
    plain = st.sampled_from([np.ones((2, 3), "f4"), np.ones((2, 3), "u1"), 0.5, 3, [1, 2, 3]])
    inputs = [data.draw(st.one_of(plain, plain, things)) for _ in row.inputs]
    words = data.draw(st.lists(st.sampled_from([*row.keywords, *row.attributes]), unique=True))
    keywords = {w: data.draw(st.one_of(usual[w], usual[w], things)) for w in words}
    if data.draw(st.booleans()):
        inputs = inputs[: data.draw(st.integers(0, len(inputs)))]
    arrays = [x for x in [*inputs, *keywords.values()] if isinstance(x, np.ndarray)]
    before = [array.tobytes() for array in arrays]
    try:
        if data.draw(st.booleans()):
            getattr(hewn, name)(*inputs, **keywords)
        else:
            op = hewn.compile(name, *inputs, **keywords)
            op(*data.draw(st.lists(st.one_of(plain, things), max_size=len(row.inputs))))
    except (hewn.Error, TypeError) as error:
        assert str(error)
        assert [array.tobytes() for array in arrays] == before
