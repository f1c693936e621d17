"""Tests of other packages' arrays: PyTorch's and ml_dtypes', where these are installed, and objects
that have DLPack."""

import hewn
import numpy as np
import pytest
from hewn._verify import reference, same_bits

X = np.linspace(-3, 3, 24, dtype=np.float32).reshape(2, 3, 4)


class OnlyDLPack:
    """An object that has nothing but the protocol."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack():
    out = np.empty(X.shape, np.uint8)
    wrapped = OnlyDLPack(out)
    assert hewn.quantize_linear(OnlyDLPack(X), 0.1, 3, out=wrapped) is wrapped
    np.testing.assert_array_equal(out, hewn.quantize_linear(X, 0.1, 3))
    assert isinstance(hewn.quantize_linear(OnlyDLPack(X.T), 0.1, 3), np.ndarray)


def test_a_framework_s_own_refusal_is_told():
    class Refuses(OnlyDLPack):
        def __dlpack__(self, **keywords):
            raise BufferError("use detach()")

    with pytest.raises(hewn.Error, match=r"x: .*use detach\(\)"):
        hewn.quantize_linear(Refuses(X), 0.1)


def test_subclasses_of_numpy():
    got = hewn.quantize_linear(X.view(np.recarray), 0.1, 3)
    np.testing.assert_array_equal(got, hewn.quantize_linear(X, 0.1, 3))


@pytest.fixture
def bfloat16():
    if ("add", "bf16") not in {(v.operator, v.signature) for v in hewn.variants()}:
        pytest.skip("this build has no such kernel")
    return pytest.importorskip("ml_dtypes").bfloat16


def test_bfloat16_of_numpy(bfloat16):
    """In its own memory, also if that is strided. Numbers are rounded once."""
    a, b = X.astype(bfloat16), (X * 3).astype(bfloat16)[:, ::-1].copy()
    wide = np.zeros((*X.shape, 2), bfloat16)
    out = wide[..., 0]
    assert hewn.add(a, b, out=out) is out
    np.testing.assert_array_equal(out, a + b)
    assert not wide[..., 1].any()
    got = hewn.add(a, b)
    assert got.dtype == bfloat16
    np.testing.assert_array_equal(got, a + b)
    # A number between 1 and the next bfloat16. By way of float32 it would be a tie, which rounds to
    # 1.
    above = 1 + 2**-8 + 2**-40
    assert float(hewn.add(np.zeros((), bfloat16), above)) == 1 + 2**-7
    assert float(hewn.add(np.zeros((), bfloat16), -(1 + 2**-8))) == -1
    with pytest.raises(hewn.Error, match="b: 1e.39 is beyond bfloat16"):
        hewn.add(a, 1e39)
    with pytest.raises(hewn.Error, match="b: data type is BFLOAT16, must be FLOAT32"):
        hewn.add(X, b)
    a.flags.writeable = False
    with pytest.raises(hewn.Error, match="out: is read-only"):
        hewn.add(b, b, out=a)


def test_bfloat16_is_quantized(bfloat16):
    """In its own memory, with scales of other floats too. A number gets the input's type."""
    x = np.zeros((*X.shape, 2), bfloat16)[..., 1]
    x[...] = X
    scales = np.array([0.1, 0.03, 7], bfloat16)
    wide = scales.astype("f4")[:, None]
    for of_x, of_scale in ((bfloat16, bfloat16), (bfloat16, "f4"), (bfloat16, "f2"), ("f4", bfloat16),
                           ("f2", bfloat16)):
        given, scale = x.astype(of_x) if of_x != bfloat16 else x, scales.astype(of_scale)
        got = hewn.quantize_linear(given, scale, 3, axis=1)
        expected = reference("quantize_linear", [given, scale[:, None], np.uint8(3)])
        np.testing.assert_array_equal(got, expected)
    numbers = hewn.quantize_linear(x, scales.astype(float).tolist(), 3, axis=1)
    np.testing.assert_array_equal(numbers, reference("quantize_linear", [x, wide, np.uint8(3)]))
    # By way of float32, the scale would be 1.
    above = 1 + 2**-8 + 2**-40
    many = np.array([200], bfloat16)
    assert hewn.quantize_linear(many, above) == np.rint(200 / (1 + 2**-7))
    with pytest.raises(hewn.Error, match="scale: 1e-41 becomes 0 in bfloat16"):
        hewn.quantize_linear(x, 1e-41)
    rounded = hewn.quantize_linear(x, scales, 3, axis=1, precision="bfloat16")
    quotients = (x.astype("f4") / wide).astype(bfloat16).astype("f4")
    np.testing.assert_array_equal(
        rounded, reference("quantize_linear", [quotients, np.float32(1), np.uint8(3)]))
    for got, due in zip(hewn.dynamic_quantize_linear(x),
                        reference("dynamic_quantize_linear", [x, "uint8"])):
        np.testing.assert_array_equal(got, due)
    with pytest.raises(hewn.Error, match="x: is bfloat16; the operator takes float32, float16; use"):
        hewn.quantize(x, 0.1)


def test_dequantized_to_bfloat16(bfloat16):
    """The product is rounded to float32, and then to bfloat16."""
    x, zero_point = np.arange(24, dtype=np.uint8).reshape(2, 3, 4), np.uint8(3)
    third = np.float32(1 / 3)

    def check(got, scale, dtype):
        due = reference("dequantize_linear", [x, scale, zero_point, dtype])
        assert got.dtype == due.dtype
        assert same_bits(got, due).all()

    for scale in (third, np.float16(third), bfloat16(third)):
        scale = np.asarray(scale)
        check(hewn.dequantize_linear(x, scale, 3), scale, scale.dtype)
        for dtype in (bfloat16, "float32", "float16"):
            check(hewn.dequantize_linear(x, scale, 3, dtype=dtype), scale, dtype)
    wide = np.zeros((*x.shape, 2), bfloat16)
    out = wide[..., 1]
    assert hewn.dequantize_linear(x, third, 3, out=out) is out
    check(np.ascontiguousarray(out), third, bfloat16)
    assert not wide[..., 0].any()
    # A number becomes bfloat16 if the result does.
    check(hewn.dequantize_linear(x, 1 / 3, 3, dtype="bfloat16"), bfloat16(third), bfloat16)
    with pytest.raises(hewn.Error, match="dtype: is bfloat16; the output is float32, as scale"):
        hewn.dequantize(x, third, dtype="bfloat16")


NARROW = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}


@pytest.fixture(params=NARROW)
def narrow(request):
    return getattr(pytest.importorskip("ml_dtypes"), request.param), *NARROW[request.param]


def test_quantize_to_4_and_2_bits(narrow):
    dtype, low, high = narrow
    x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 0.25, 0.75, -0.25, *X.ravel()], np.float32)
    for zero_point in (low, 1, high):
        got = hewn.quantize_linear(x, 0.5, zero_point, dtype=dtype)
        wide = hewn.quantize_linear(x, 0.5, zero_point, dtype="int8").astype(int)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got.astype(int), np.clip(wide, low, high))
    zeros = np.array(low, dtype)
    assert hewn.quantize_linear(x, 0.5, zeros).dtype == dtype
    out = np.zeros((2 * x.size, 2), dtype)
    assert hewn.quantize_linear(x, 0.5, zeros, out=out[::2, 1]).base is out
    np.testing.assert_array_equal(out[::2, 1], hewn.quantize_linear(x, 0.5, zeros))
    assert not out[1::2].astype(int).any() and not out[:, 0].astype(int).any()


def test_dequantize_from_4_and_2_bits(narrow):
    dtype, low, high = narrow
    x = np.arange(low, high + 1).astype(dtype)
    for zero_point in (None, high, np.array(low, dtype)):
        zero = np.float32(0 if zero_point is None else zero_point)
        got = hewn.dequantize_linear(x, 0.1, zero_point)
        np.testing.assert_array_equal(got, (x.astype(np.float32) - zero) * np.float32(0.1))
    blocks = hewn.dequantize_linear(x[:4], np.float32([0.5, 2]), axis=0, block_size=2)
    np.testing.assert_array_equal(blocks, x[:4].astype(np.float32) * np.float32([0.5, 0.5, 2, 2]))


def test_4_bits_in_compiled_operators(narrow):
    dtype, low, high = narrow
    x = np.arange(low, high + 1).astype(dtype)
    op = hewn.compile("dequantize_linear", x, np.float32(0.1), np.array(low, dtype))
    np.testing.assert_array_equal(op(x), hewn.dequantize_linear(x, 0.1, low))
    back = hewn.compile("quantize_linear", op(x), 0.1, low, dtype=dtype)
    np.testing.assert_array_equal(back(op(x)), x)
    for bind, name in ((lambda: op.bind(x), "x"), (lambda: back.bind(op(x)), "out")):
        with pytest.raises(hewn.Error, match=f"{name}: is {dtype.__name__}, copied at each call"):
            bind()


def test_4_bits_refused(narrow):
    dtype, low, high = narrow
    x = np.zeros(3, dtype)
    for operator in (hewn.add, lambda x, y: hewn.quantize_linear(x, 0.1)):
        with pytest.raises(hewn.Error, match=f"(x|a): is {dtype.__name__}"):
            operator(x, x)
    with pytest.raises(hewn.Error, match=f"zero_point: {high + 1} is no {dtype.__name__}"):
        hewn.dequantize_linear(x, 0.1, high + 1)
    out = np.zeros(3, dtype)
    out.flags.writeable = False
    with pytest.raises(hewn.Error, match="out: is read-only"):
        hewn.quantize_linear(np.ones(3, np.float32), 0.1, out=out)


def test_the_library_s_rules_of_4_and_2_bits(narrow):
    """The library refuses these types where it refuses 8 bits, and its message names them."""
    dtype, low, high = narrow
    name, unsigned = dtype.__name__, low == 0
    x = np.linspace(-9, 9, 37, dtype=np.float32)
    if name.endswith("4"):
        middle = 8 if unsigned else 0
        got = hewn.quantize(x, 0.5, dtype=dtype)
        np.testing.assert_array_equal(got, hewn.quantize_linear(x, 0.5, middle, dtype=dtype))
        back = hewn.dequantize(got, 0.5)
        np.testing.assert_array_equal(back, (got.astype("f4") - middle) * np.float32(0.5))
    else:
        with pytest.raises(hewn.Error, match=f"out: {name.upper()} is not supported"):
            hewn.quantize(x, 0.5, dtype=dtype)
        with pytest.raises(hewn.Error, match=f"x: is {name}; the operator takes"):
            hewn.dequantize(x.astype(dtype), 0.5)
    wide = np.uint8 if unsigned else np.int8
    with pytest.raises(hewn.Error, match=f"zero_point: data type is U?INT8, must be {name.upper()}"):
        hewn.quantize_linear(x, 0.5, wide(0), dtype=dtype)
    with pytest.raises(hewn.Error, match=f"zero_point: data type is {name.upper()}, must be"):
        hewn.quantize_linear(x, 0.5, np.array(0, dtype), dtype=wide)
    with pytest.raises(hewn.Error, match=f"out: {name.upper()} is not supported"):
        hewn.dynamic_quantize_linear(x, dtype=dtype)


# ---- PyTorch ----


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def test_torch(torch):
    x = torch.from_numpy(X.copy())
    got = hewn.quantize_linear(x, 0.1, 3)
    assert isinstance(got, torch.Tensor) and got.dtype == torch.uint8
    np.testing.assert_array_equal(got.numpy(), hewn.quantize_linear(X, 0.1, 3))
    turned = hewn.quantize_linear(x.permute(2, 0, 1), 0.1, 3).numpy()
    np.testing.assert_array_equal(turned, hewn.quantize_linear(X, 0.1, 3).transpose(2, 0, 1))
    scales = torch.linspace(0.1, 0.5, 3)
    got = hewn.quantize_linear(x, scales, torch.arange(3, dtype=torch.int8), axis=1).numpy()
    zeros = np.arange(3, dtype=np.int8)
    np.testing.assert_array_equal(got, hewn.quantize_linear(X, scales.numpy(), zeros, axis=1))
    assert hewn.quantize_linear(x, 0.1, dtype=torch.int8).dtype == torch.int8


def test_torch_writes_in_place(torch):
    x, out = torch.from_numpy(X.copy()), torch.empty(X.shape, dtype=torch.int8)
    address = out.data_ptr()
    assert hewn.quantize_linear(x, 0.1, out=out) is out
    assert out.data_ptr() == address
    np.testing.assert_array_equal(out.numpy(), hewn.quantize_linear(X, 0.1, dtype="int8"))


def test_torch_s_own_quantization(torch):
    x = torch.from_numpy(X.copy())
    theirs = torch.quantize_per_tensor(x, 0.125, 3, torch.quint8)  # a scale without rounding
    np.testing.assert_array_equal(hewn.quantize_linear(x, 0.125, 3), theirs.int_repr())


def test_bfloat16_of_torch(torch, bfloat16):
    a, b = torch.from_numpy(X.copy()).bfloat16(), torch.from_numpy(X * 3).bfloat16()
    got = hewn.add(a, b)
    assert got.dtype == torch.bfloat16
    assert torch.equal(got, a + b)
    out = torch.empty_like(a)
    assert hewn.add(a, b, out=out) is out
    assert torch.equal(out, a + b)
    scale, zero_point = torch.tensor(0.07).bfloat16(), torch.tensor(3, dtype=torch.int8)
    q = hewn.quantize_linear(a, scale, zero_point)
    assert q.dtype == torch.int8
    np.testing.assert_array_equal(
        q.numpy(), hewn.quantize_linear(a.float().numpy(), scale.float().numpy(), zero_point.numpy()))
    back = hewn.dequantize_linear(q, scale, zero_point)
    assert back.dtype == torch.bfloat16
    assert torch.equal(back, ((q.float() - 3) * scale.float()).bfloat16())
    assert hewn.dequantize_linear(q, scale, zero_point, out=out) is out
    assert torch.equal(out, back)
    assert hewn.dequantize_linear(q, 0.07, zero_point, dtype=torch.bfloat16).equal(back)
    wide = a.float().numpy()
    for got, due in zip(hewn.dynamic_quantize_linear(a), hewn.dynamic_quantize_linear(wide)):
        np.testing.assert_array_equal(got.numpy(), due)


def test_torch_refused(torch):
    for bad, words in (
        (torch.zeros(3).double(), "x: is float64; the operator takes"),
        (torch.zeros(3, requires_grad=True), "detach"),
    ):
        with pytest.raises(hewn.Error, match=words):
            hewn.quantize_linear(bad, 0.1)
