"""Every refusal names the argument and the rule, and writes nothing."""

import pickle

import hewn
import numpy as np
import pytest

X = np.linspace(-3, 3, 24, dtype=np.float32).reshape(2, 3, 4)
Q = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
READ_ONLY = np.zeros((2, 3, 4), np.uint8)
READ_ONLY.flags.writeable = False
BYTES = np.zeros(41, np.uint8)
RECORDS = np.zeros(3, [("a", "u1"), ("b", "f4")])
FINITE = "a scale must be finite and not 0"
SHARED = np.zeros(40, np.float32)
ONE = (Q, 0.1, 3, Q, 0.1, 3, 0.2, 3)


def quantize(x=X, scale=0.1, zero_point=None, **keywords):
    return lambda: hewn.quantize_linear(x, scale, zero_point, **keywords)


def add1(**keywords):
    return lambda: hewn.add1(X, X, **keywords)


REFUSED = [
    # The array that is given.
    (quantize([1, 2]), "x: is a list; expected an array, whose type and sizes the others follow"),
    (quantize((1, 2)), "follow: np.array(x, np.float32)"),
    (lambda: hewn.dequantize_linear([1, 2], 0.1), "follow: np.array(x, np.uint8)"),
    (quantize("text"), "x: is no array (<class 'str'>)"),
    (quantize(None), "x: is None, and not optional"),
    (quantize(1.5), "x: is a number; expected an array"),
    (quantize(scale=None), "scale: is None, and not optional"),
    (quantize(scale="0.1"), "scale: is no array"),
    (quantize(out=[1]), "out: is no array"),
    (quantize(out=READ_ONLY), "out: is read-only"),
    (quantize(np.zeros((1,) * 9, np.float32)), "x: has 9 dimensions, more than 8"),
    (quantize(X[::-1]), "x: has the negative stride -12 in dimension 0; copy it: x.copy()"),
    (quantize(scale=X[0, 0, ::-1]), "scale: has the negative stride -1 in dimension 0; copy it: s"),
    (quantize(out=Q.copy()[:, ::-1]), "out: has the negative stride -4 in dimension 1; give anoth"),
    (quantize(RECORDS["b"]), "x: has a stride that is no multiple of an element's bytes; copy it"),
    (quantize(BYTES[1:].view("f4")), "x: is misaligned: its address is no multiple of an element'"),
    (quantize(X.astype(">f4")), "x: hewn cannot read >f4"),
    # Types.
    (
        quantize(X.astype("f8")),
        "x: is float64; the operator takes float32, float16, int32, bfloat16; use x.astype(np.float32)",
    ),
    (quantize(X.astype("c8")), "x: hewn has no type complex64"),
    (quantize(X > 0), "x: hewn has no type bool8"),
    (
        quantize(scale=np.ones((), "f8")),
        "scale: is float64; the operator takes float32, float16, float8_e8m0fnu, bfloat16; use scale.astype(np.floa",
    ),
    (
        lambda: hewn.dequantize_linear(Q, np.ones(3), axis=1),
        "scale: is float64; the operator takes float32, float16, float8_e8m0fnu, bfloat16; use scale.astype(np.floa",
    ),
    (quantize(scale=np.ones(3, "i8"), axis=1), "scale: is int64; the operator takes float32, floa"),
    (lambda: hewn.quantized_linear_add(Q, np.ones(1), *ONE[2:]), "use a_scale.astype(np.float32)"),
    (quantize(zero_point=np.zeros(3, "i8"), axis=1), "int2; use zero_point.astype(np.uint8)"),
    (quantize(zero_point=np.zeros(()), dtype="int8"), "int2; use zero_point.astype(np.int8)"),
    (lambda: hewn.dequantize_linear(X, 0.1), "x: is float32; the operator takes uint32, uint16"),
    (lambda: hewn.add(X, np.ones(4)), "b: is float64; the operator takes"),
    (quantize(zero_point=np.int8(1), dtype="uint8"), "zero_point: data type is INT8, must"),
    (quantize(dtype="float32"), "out: FLOAT32 is not supported"),
    (quantize(dtype="float8_e4m3"), "dtype: hewn has no type float8_e4m3"),
    (quantize(dtype=float), "dtype: hewn has no type float"),
    (quantize(dtype="int8", out=Q.copy()), "dtype: is int8, and out is uint8"),
    (lambda: hewn.add(X, Q), "b: data type is UINT8, must be FLOAT32: a's"),
    (
        lambda: hewn.dequantize_linear(Q, np.float32(1), dtype="float64"),
        "dtype: is float64; the output is float32, as scale",
    ),
    (
        lambda: hewn.dequantize_linear(Q, 0.1, dtype="int8"),
        "dtype: is int8; the output is float32, as scale",
    ),
    (
        lambda: hewn.dequantize(Q, np.float32(1), dtype="float16"),
        "dtype: is float16; the output is float32, as scale",
    ),
    (
        lambda: hewn.add(X, X, out=np.empty(X.shape, "f2")),
        "out: is float16; the output is float32, as a",
    ),
    # Numbers.
    (quantize(scale=1e39), "scale: 1e+39 becomes infinite in float32; " + FINITE),
    (quantize(scale=-(10**39)), "becomes infinite in float32; " + FINITE),
    (quantize(scale=10**400), "becomes infinite in float32; " + FINITE),
    (quantize(scale=1e-46), "scale: 1e-46 becomes 0 in float32; " + FINITE),
    (quantize(X.astype("f2"), scale=1e5), "scale: 100000.0 becomes infinite in float16; " + FINITE),
    (quantize(X.astype("f2"), scale=2e-8), "scale: 2e-08 becomes 0 in float16; " + FINITE),
    (quantize(scale=0), "scale: is 0; " + FINITE),
    (quantize(scale=-0.0), "scale: is -0.0; " + FINITE),
    (quantize(scale=float("inf")), "scale: is inf; " + FINITE),
    (quantize(scale=np.float64("nan")), "scale: is nan; " + FINITE),
    (lambda: hewn.dequantize_linear(Q, 1e-46), "scale: 1e-46 becomes 0 in float32; " + FINITE),
    (lambda: hewn.dequantize_linear(Q, 1e-46, dtype="float16"), "becomes 0 in float16; " + FINITE),
    (lambda: hewn.quantized_linear_add(Q, 0.1, 3, Q, 0.0, *ONE[5:]), "b_scale: is 0.0; " + FINITE),
    (lambda: hewn.add(X, 1e39), "b: 1e+39 is beyond float32"),
    (lambda: hewn.add(X.astype("f2"), -65520), "b: -65520 is beyond float16"),
    (lambda: hewn.add(X, 10**400), " is beyond float32"),
    (lambda: hewn.add(np.zeros(1, "u8"), 2**64), "b: 18446744073709551616 is no uint64"),
    (lambda: hewn.add(np.zeros(1, "u8"), -1), "b: -1 is no uint64"),
    (lambda: hewn.add(np.zeros(1, "i8"), 2**63), "b: 9223372036854775808 is no int64"),
    (quantize(zero_point=256), "zero_point: 256 is no uint8"),
    (quantize(zero_point=-1), "zero_point: -1 is no uint8"),
    (quantize(zero_point=2**80), "zero_point: 1208925819614629174706176 is no uint8"),
    (quantize(zero_point=1.5), "zero_point: 1.5 is no uint8"),
    (quantize(zero_point=-129, dtype="int8"), "zero_point: -129 is no int8"),
    (quantize(zero_point=float("nan")), "zero_point: nan is no uint8"),
    (quantize(zero_point=float("inf")), "zero_point: inf is no uint8"),
    # Lists.
    (quantize(scale=[0.1, 0, 0.2], axis=1), "scale[1]: is 0; " + FINITE),
    (quantize(scale=[[0.1], [1e-46], [1]]), "scale[1][0]: 1e-46 becomes 0 in float32; " + FINITE),
    (quantize(scale=[0.1, 0.2, 1e39], axis=1), "scale[2]: 1e+39 becomes infinite in float32; "),
    (quantize(scale=[0.1, float("nan"), 1], axis=1), "scale[1]: is nan; " + FINITE),
    (quantize(scale=[0.1, "0.2", 1], axis=1), "scale[1]: is no number (<class 'str'>)"),
    (quantize(scale=[0.1, None, 1], axis=1), "scale[1]: is no number (<class 'NoneType'>)"),
    (quantize(scale=[0.1, 1j, 1], axis=1), "scale[1]: is no number (<class 'complex'>)"),
    (quantize(scale=[np.ones(2), 1, 1], axis=1), "scale[0]: is no number (<class 'numpy.ndarray'"),
    (quantize(scale=[0.1, [1], 1], axis=1), "scale[1]: is a list; a number is before it"),
    (quantize(scale=[[0.1], 1, 1]), "scale[1]: is no list; a list is before it"),
    (quantize(scale=[[0.1, 1], (1,)]), "scale[1]: has length 1; expected 2, the length of the lis"),
    (quantize(scale=[0.1, 0.2], axis=1), "scale: [2], and there are 3 along the axis"),
    (quantize(scale=[]), "scale: [0] cannot be broadcast to [2, 3, 4]"),
    (quantize(scale=[[[[[[[[[0.1]]]]]]]]]), "scale: has more than 8 dimensions"),
    (quantize(zero_point=[1, 256, 3], axis=1), "zero_point[1]: 256 is no uint8"),
    (quantize(zero_point=[1, 2, 3.5], axis=1), "zero_point[2]: 3.5 is no uint8"),
    (quantize(zero_point=[1, "2", 3], axis=1), "zero_point[1]: is no number (<class 'str'>)"),
    (lambda: hewn.quantized_linear_add(Q, [0.1, 0.2], *ONE[2:]), "a_scale: has 2 elements"),
    # Shapes.
    (lambda: hewn.add(X, X[..., :2]), "b: [2, 3, 2] cannot be broadcast with [2, 3, 4]"),
    (
        quantize(scale=np.ones(3, "f4")),
        "scale: [3] cannot be broadcast to [2, 3, 4]; axis says which dimension",
    ),
    (quantize(scale=np.ones(3, "f4"), axis=2), "scale: [3], and there are 4 along the axis"),
    (quantize(scale=np.ones((2, 2, 3, 4), "f4")), "scale: [2, 2, 3, 4] cannot be broadcast to"),
    (quantize(out=np.empty((2, 3), "u1")), "out: is [2, 3]; the result is [2, 3, 4]"),
    (quantize(out=np.broadcast_to(READ_ONLY, (2, 3, 4))), "out: is read-only"),
    (lambda: hewn.quantized_linear_add(Q, Q.astype("f4"), *ONE[2:]), "a_scale: has 24 elements"),
    # Axis and blocks.
    (quantize(axis=3), "axis: 3, and x has 3 dimensions"),
    (quantize(axis=-4), "axis: -4, and x has 3 dimensions"),
    (quantize(axis=1.5), "axis: is no integer"),
    (quantize(block_size=2), "block_size: needs an axis"),
    (quantize(axis=1, block_size=0), "block_size: 0, expected at least 1"),
    (
        quantize(scale=np.ones((2, 3, 4), "f4"), axis=2, block_size=2),
        "cannot be broadcast to [2, 3, 2]; with block_size the axis counts blocks",
    ),
    # Attributes.
    (quantize(precision="float64"), "precision: is float64; expected one of float32, float16, bfloat16"),
    (lambda: hewn.compile("add", X, X, precision="f16"), "precision: add has no such attribute"),
    (add1(activation="leaky_relu"), "alpha: is missing; activation leaky_relu needs it"),
    (add1(activation="leaky_relu", alpha="1"), "alpha: is no number (<class 'str'>)"),
    (add1(activation="leaky_relu", alpha=np.nan), "ADD1: alpha is NaN, must be a number"),
    (add1(activation="relu", alpha=1), "ADD1: alpha is not 0, but activation RELU does not have it"),
    (add1(activation="tanh"), "ADD1: activation TANH is not supported, because no standard says how"),
    (add1(activation="relu7"), "activation: is relu7; expected one of identity, linear, relu, leaky_relu,"),
    # The rest.
    (quantize(threads=0), "threads: is 0; expected 1 to 2147483647"),
    (quantize(threads=2**70), "threads: is 1180591620717411303424; expected 1 to 2147483647"),
    (quantize(threads=1.5), "threads: is no integer (<class 'float'>)"),
    (quantize(axis=-(2**70)), "axis: -9223372036854775807, and x has 3 dimensions"),
    (quantize(variant="\ud800"), r"variant: is '\ud800'; expected no surrogate and no NUL"),
    (quantize(variant="a\0b"), r"variant: is 'a\x00b'; expected no surrogate and no NUL"),
    (quantize(variant=5), "variant: is no str (<class 'int'>)"),
    (quantize(variant="\x1b[31m"), "forced variant ' [31m' is neither a target nor a variant"),
    (quantize(variant="é" * 300), "forced variant 'ééé"),
    (quantize(dtype="uint8\0x"), "dtype: hewn has no type uint8 x"),
    (quantize(dtype="\x1b[31m\n"), "dtype: hewn has no type  [31m "),
    (quantize(dtype="\ud800"), r"dtype: hewn has no type \ud800"),
    (quantize(variant="x86_128"), "forced variant 'x86_128' is neither a target nor a variant"),
    (lambda: hewn.add(SHARED[:-8], SHARED[8:], out=SHARED[8:]), "out: overlaps"),
    (lambda: hewn.compile("multiply", X), "operator: there is no multiply"),
    (lambda: hewn.compile("add", X, X, X), "add: has 2 inputs"),
    (lambda: hewn.verify("no such kernel"), "no kernel that runs here has no such kernel"),
]


@pytest.mark.parametrize("call, words", REFUSED, ids=[words for _, words in REFUSED])
def test_refused(call, words):
    with pytest.raises(hewn.Error) as caught:
        call()
    assert words in str(caught.value)
    assert isinstance(caught.value.status, hewn.Status)
    assert isinstance(caught.value, ValueError)


def test_a_list_of_more_numbers_than_memory():
    """A list contains another one 256 times, 8 levels deep: 2^64 numbers."""
    endless = [1.0]
    for _ in range(8):
        endless = endless * 256 if endless == [1.0] else [endless] * 256
    with pytest.raises(hewn.Error, match=r"scale: has more than 2\^63 bytes"):
        quantize(scale=endless)()


def test_a_list_that_contains_itself():
    endless = [0.1]
    endless[0] = endless
    with pytest.raises(hewn.Error, match="scale: has more than 8 dimensions"):
        quantize(scale=endless)()


def test_exceptions_of_the_callers_own_numbers():
    """An exception of the caller's own class reaches the caller unchanged, if it does not mean that
    the value is no number."""

    class Number:
        def __float__(self):
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        quantize(scale=[Number(), 1, 1], axis=1)()
    with pytest.raises(LookupError, match="mine"):
        quantize(zero_point=[Number(), 1, 1], axis=1)()


def test_a_refused_call_has_written_nothing():
    out = np.full(X.shape, 77, np.uint8)
    for bad in (
        {"scale": np.ones(3, "f4")},
        {"scale": [0.1, 0, 1], "axis": 1},
        {"zero_point": 300},
        {"variant": "x86_128"},
    ):
        with pytest.raises(hewn.Error):
            quantize(**{"out": out, **bad})()
    assert (out == 77).all()


def test_status():
    with pytest.raises(hewn.Error) as caught:
        quantize(X.astype("f8"))()
    assert caught.value.status is hewn.Status.UNSUPPORTED == 2
    with pytest.raises(hewn.Error) as caught:
        quantize(variant="x86_128")()
    assert caught.value.status is hewn.Status.NO_VARIANT
    copied = pickle.loads(pickle.dumps(caught.value))
    assert (copied.status, str(copied)) == (caught.value.status, str(caught.value))


def test_types_of_arguments():
    with pytest.raises(TypeError):
        hewn.quantize_linear(X)  # without a scale
    with pytest.raises(TypeError):
        hewn.quantize_linear(X, 0.1, None, 1)  # axis by position
    with pytest.raises(TypeError):
        hewn.add(X, X, axis=1)


def test_variant_of_the_environment(monkeypatch):
    """The variable is read anew for each call."""
    quantize()()
    monkeypatch.setenv("HEWN_VARIANT", "x86_128")
    with pytest.raises(hewn.Error, match="x86_128"):
        quantize()()
    monkeypatch.delenv("HEWN_VARIANT")
    quantize()()
