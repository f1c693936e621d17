"""Tests of the floats of 8, 6 and 4 bits, whose arrays are those of ml_dtypes: all codes, all numbers
next to which rounding changes, and scales of float8_e8m0fnu."""

import hewn
import numpy as np
import pytest
from hewn._verify import CODES, same_bits
from test_exporters import Exporter

ml_dtypes = pytest.importorskip("ml_dtypes")
if "quantize_linear_f32_f8" not in {f"{v.operator}_{v.signature}" for v in hewn.variants()}:
    pytest.skip("this build has no kernels of small floats", allow_module_level=True)
f32 = np.float32
SCALE = np.dtype(ml_dtypes.float8_e8m0fnu)
SCALES = np.arange(256, dtype=np.uint8).view(SCALE)
DLPACK = {  # the numbers of DLPack's types
    "float8_e4m3fn": 10, "float8_e4m3fnuz": 11, "float8_e5m2": 12, "float8_e5m2fnuz": 13,
    "float8_e8m0fnu": 14, "float6_e2m3fn": 15, "float6_e3m2fn": 16, "float4_e2m1fn": 17,
}  # fmt: skip


def bits_of(dtype):
    return int(dtype.name[len("float")])


def codes(dtype):
    """All elements that the type has."""
    return np.arange(1 << bits_of(dtype), dtype=np.uint8).view(dtype)


def magnitudes(dtype):
    """The finite numbers that are not negative, in ascending order: their indices are their codes."""
    numbers = codes(dtype)[: 1 << bits_of(dtype) - 1].astype(np.float64)
    return numbers[np.isfinite(numbers)]


def code_of_overflow(dtype, saturate):
    if saturate or bits_of(dtype) < 8:
        return len(magnitudes(dtype)) - 1
    return {"float8_e4m3fn": 0x7F, "float8_e5m2": 0x7C}.get(dtype.name, 0x80)


def rounded(q, dtype, saturate=True):
    """The nearest element of the type, found by search. If two are equally near, it has an even code.
    The number after the largest one, which the type lacks, takes part in this."""
    numbers, q = magnitudes(dtype), np.asarray(q, np.float64)
    beyond, negative = len(numbers), 1 << bits_of(dtype) - 1
    numbers = np.append(numbers, 2 * numbers[-1] - numbers[-2])
    magnitude = np.minimum(np.abs(q), numbers[-1])
    low = np.clip(np.searchsorted(numbers, magnitude, "right") - 1, 0, beyond - 1)
    down, up = magnitude - numbers[low], numbers[low + 1] - magnitude
    code = low + ((up < down) | ((up == down) & (low % 2 == 1)))
    code = np.where(code == beyond, code_of_overflow(dtype, saturate), code)
    without_negative_zero = dtype.name.endswith("fnuz")
    sign = np.where(np.signbit(q) & ~(without_negative_zero & (code == 0)), negative, 0)
    code = code | sign
    nan = 0x7F if not without_negative_zero else 0x80
    code = np.where(np.isnan(q), nan if bits_of(dtype) == 8 else beyond - 1, code)
    return code.astype(np.uint8).view(dtype)


def check(got, expected):
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    assert same_bits(np.ascontiguousarray(got), np.ascontiguousarray(expected)).all()


@pytest.fixture(params=CODES)
def dtype(request):
    return np.dtype(getattr(ml_dtypes, request.param))


@pytest.fixture
def x(dtype):
    """The numbers of the type, those in the middle between two, the neighbours of all these in
    float32, numbers beyond the largest one, and special numbers."""
    numbers = magnitudes(dtype)
    numbers = np.append(numbers, 2 * numbers[-1] - numbers[-2])
    middles = (numbers[1:] + numbers[:-1]) / 2
    exact = np.concatenate([numbers, middles, numbers / 4, [1e30, 1e-40, np.inf, np.nan]]).astype(f32)
    near = [np.nextafter(exact, f32(to)) for to in (-np.inf, np.inf)]
    some = np.concatenate([exact, *near])
    return np.concatenate([some, -some, np.random.default_rng(1).standard_normal(999).astype(f32)])


@pytest.mark.parametrize("saturate", [None, True, False, np.True_, np.False_])
def test_quantize(dtype, x, saturate):
    given = {} if saturate is None else {"saturate": saturate}
    expected = rounded(x, dtype, saturate is None or saturate)
    check(hewn.quantize_linear(x, 1, dtype=dtype, **given), expected)
    check(hewn.compile("quantize_linear", x, 1, dtype=dtype, **given)(x), expected)


@pytest.mark.parametrize("of_x", ["float32", "float16", "bfloat16", "int32"])
@pytest.mark.parametrize("of_scale", ["float32", "float16", "bfloat16", "float8_e8m0fnu"])
def test_quantize_of_any_floats(dtype, x, of_x, of_scale):
    with np.errstate(all="ignore"):
        x = np.nan_to_num(x).astype(of_x) if of_x == "int32" else x.astype(of_x)
        scale = np.asarray(0.3, of_scale)
        expected = rounded(x.astype(f32) / scale.astype(f32), dtype)
    check(hewn.quantize_linear(x, scale, dtype=dtype), expected)


@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
def test_precision(dtype, x, precision):
    with np.errstate(all="ignore"):
        to = lambda array: array.astype(precision).astype(f32)
        expected = rounded(to(to(x) / to(f32([0.3]))), dtype)
    check(hewn.quantize_linear(x, 0.3, dtype=dtype, precision=precision), expected)


@pytest.mark.parametrize("of_scale", ["float32", "float16", "bfloat16", "float8_e8m0fnu"])
@pytest.mark.parametrize("asked", [None, "float32", "float16", "bfloat16"])
def test_dequantize(dtype, of_scale, asked):
    """All codes. The result is computed in float32, and rounded once."""
    scale, output = np.asarray(0.3, of_scale), asked or of_scale
    if output == "float8_e8m0fnu":
        output = "float32"
    with np.errstate(all="ignore"):
        expected = (codes(dtype).astype(f32) * scale.astype(f32)).astype(output)
    check(hewn.dequantize_linear(codes(dtype), scale, dtype=asked), expected)
    out = np.zeros((expected.size, 2), output)[:, 1]
    assert hewn.dequantize_linear(codes(dtype), scale, out=out) is out
    check(out, expected)


def test_scales_of_float8_e8m0fnu(dtype):
    """All of them, NaN included, along an axis and in blocks."""
    random = np.random.default_rng(2)
    x = (random.standard_normal((256, 96)) * 30).astype(f32)
    with np.errstate(all="ignore"):
        wide = SCALES.astype(f32)
        big = x * wide[:, None]
        check(hewn.quantize_linear(big, SCALES, axis=0, dtype=dtype), rounded(big / wide[:, None], dtype))
        check(hewn.dequantize_linear(np.tile(codes(dtype), (256, 1)), SCALES, axis=0),
              codes(dtype).astype(f32) * wide[:, None])  # fmt: skip
        # The blocks of MXFP4.
        scales = random.choice(SCALES, (256, 3))
        blocks = np.repeat(scales.astype(f32), 32, axis=1)
        got = hewn.quantize_linear(x, scales, axis=1, block_size=32, dtype=dtype)
        check(got, rounded(x / blocks, dtype))
        check(hewn.dequantize_linear(got, scales, axis=1, block_size=32), got.astype(f32) * blocks)


def test_zero_points_are_0(dtype, x):
    """Numbers must be 0. Arrays are not read, but decide the output's type."""
    expected = rounded(x, dtype)
    for zero_point in (0, -0.0, [0] * 3, [[0.0], [0], [0]]):
        many = np.tile(x, (3, 1))
        axis = {"axis": 0} if isinstance(zero_point, list) else {}
        got = hewn.quantize_linear(many, 1, zero_point, dtype=dtype, **axis)
        check(got, np.tile(expected, (3, 1)))
    for array in (codes(dtype)[-1], codes(dtype)[-3::-1][:1].copy(), codes(dtype)[3:7:2]):
        shape = (2, x.size)
        wide = np.broadcast_to(x, shape)
        axis = {"axis": 0} if array.size > 1 else {}
        check(hewn.quantize_linear(wide, 1, np.asarray(array), **axis), np.broadcast_to(expected, shape))
        back = hewn.dequantize_linear(np.broadcast_to(codes(dtype), (2, codes(dtype).size)), f32(0.3),
                                      np.asarray(array), **axis)  # fmt: skip
        check(back, np.broadcast_to(codes(dtype).astype(f32) * f32(0.3), back.shape))
    for call in (lambda: hewn.quantize_linear(x, 1, 3, dtype=dtype),
                 lambda: hewn.dequantize_linear(codes(dtype), 1, 3)):  # fmt: skip
        with pytest.raises(hewn.Error, match=f"zero_point: is 3; {dtype.name} has no zero point but 0"):
            call()
    with pytest.raises(hewn.Error, match=r"zero_point\[1\]: is nan; "):
        hewn.quantize_linear(np.tile(x, (2, 1)), 1, [0, float("nan")], axis=0, dtype=dtype)
    with pytest.raises(hewn.Error, match=r"zero_point\[1\]: is no number"):
        hewn.quantize_linear(np.tile(x, (2, 1)), 1, [0, "0"], axis=0, dtype=dtype)
    with pytest.raises(hewn.Error, match="zero_point: data type is UINT8, must be FLOAT"):
        hewn.quantize_linear(x, 1, np.uint8(0), dtype=dtype)


def test_layouts(dtype, x):
    memory = codes(dtype)[np.random.default_rng(3).integers(0, 1 << bits_of(dtype), (7, 12, 6))]
    view = memory[::2, 1:, ::3].transpose(1, 2, 0)
    check(hewn.dequantize_linear(view, f32(0.3)), view.astype(f32) * f32(0.3))
    back = np.broadcast_to(view[:, :, :1], view.shape)
    check(hewn.dequantize_linear(back, f32(0.3)), back.astype(f32) * f32(0.3))
    before = memory.copy()
    given = np.resize(x[np.abs(x) < 1e9], view.shape)
    assert hewn.quantize_linear(given, 0.3, out=view) is view
    check(view, rounded(given / f32(0.3), dtype))
    memory[::2, 1:, ::3] = before[::2, 1:, ::3]
    check(memory, before)  # no other element was written
    for shape in ((), (0,), (3, 0, 2)):
        assert hewn.quantize_linear(np.ones(shape, f32), 1, dtype=dtype).shape == shape
    view.flags.writeable = False
    with pytest.raises(hewn.Error, match="out: is read-only"):
        hewn.quantize_linear(given, 1, out=view)


@pytest.mark.parametrize("dtype", [name for name in CODES if name.startswith("float8")])
def test_float8_is_used_in_place(dtype):
    """Bound operators read and write the memory of arrays, so these are not copied."""
    x, q = np.linspace(-3, 3, 24, dtype=f32), np.zeros((24, 2), dtype)[:, 1]
    bound = hewn.compile("quantize_linear", x, 0.1, out=q).bind(x, out=q)
    for shift in (0, 1):
        x += f32(shift)
        bound()
        check(q, rounded(x / f32(0.1), q.dtype))
    back = hewn.compile("dequantize_linear", q, 0.1).bind(q)
    q[...] = q[::-1].copy()
    check(back(), q.astype(f32) * f32(0.1))


@pytest.mark.parametrize("dtype", [name for name in CODES if not name.startswith("float8")])
def test_types_below_8_bits_are_copied(dtype):
    x = np.linspace(-3, 3, 24, dtype=f32)
    op = hewn.compile("quantize_linear", x, 0.1, dtype=dtype)
    check(op(x), hewn.quantize_linear(x, 0.1, dtype=dtype))
    with pytest.raises(hewn.Error, match=f"out: is {dtype}, copied at each call, and cannot be bound"):
        op.bind(x)


@pytest.mark.parametrize("name, word", [
    ("float8_e4m3fn", "f8e4m3fn"), ("float8_e4m3fnuz", "f8e4m3fnuz"), ("float8_e5m2", "f8e5m2"),
    ("float8_e5m2fnuz", "f8e5m2fnuz"), ("float6_e2m3fn", "f6e2m3"), ("float6_e3m2fn", "f6e3m2"),
    ("float4_e2m1fn", "f4e2m1"),
])  # fmt: skip
def test_names(name, word):
    for given in (name, word, getattr(ml_dtypes, name), np.dtype(name)):
        assert hewn.quantize_linear(np.ones(1, f32), 1, dtype=given).dtype == np.dtype(name)


def test_dlpack():
    """float8 in place, by the numbers that DLPack gives these types. DLPack packs the others."""
    x = np.linspace(-3, 3, 24, dtype=f32)
    for name, code in DLPACK.items():
        array = np.zeros(24, name)
        lent = Exporter(array.view(np.uint8), (1, 1), code=code)
        if name in CODES and name.startswith("float8"):
            assert hewn.quantize_linear(x, 0.1, out=lent) is lent
            check(array, hewn.quantize_linear(x, 0.1, dtype=name))
            check(hewn.dequantize_linear(lent, 0.1), hewn.dequantize_linear(array, 0.1))
        packed = Exporter(array.view(np.uint8), (1, 1), code=code, bits=4, lanes=2)
        with pytest.raises(hewn.Error, match=f"x: hewn has no type {name} in vectors of 2"):
            hewn.dequantize_linear(packed, 0.1)
    array[...] = 0.5
    scales = Exporter(np.asarray(0.5, SCALE).reshape(1).view(np.uint8), code=DLPACK["float8_e8m0fnu"])
    check(hewn.quantize_linear(x, scales, 3), hewn.quantize_linear(x, 0.5, 3))
    with pytest.raises(hewn.Error, match="x: hewn has no type float4_e2m1fn$"):
        hewn.dequantize_linear(Exporter(array.view(np.uint8), code=17, bits=4), 0.1)
    with pytest.raises(hewn.Error, match="x: hewn has no type DLPack's type 99"):
        hewn.dequantize_linear(Exporter(array.view(np.uint8), code=99), 0.1)


def test_refused():
    x, q = np.ones(3, f32), np.ones(3, "float8_e4m3fn")
    calls = {
        "a: is float8_e4m3fn; the operator takes": lambda: hewn.add(q, q),
        "x: is float8_e4m3fn; the operator takes float32, float16, int32, bfloat16; use x.ast":
            lambda: hewn.quantize_linear(q, 0.1),
        "x: is float8_e8m0fnu; the operator takes": lambda: hewn.dequantize_linear(SCALES, 0.1),
        "out: FLOAT8E8M0 is not supported": lambda: hewn.quantize_linear(x, 0.1, dtype=SCALE),
        "out: FLOAT8E5M2 is not supported": lambda: hewn.quantize(x, 0.1, dtype="float8_e5m2"),
        "out: FLOAT8E4M3FN is not supported":
            lambda: hewn.dynamic_quantize_linear(x, dtype="float8_e4m3fn"),
        "scale: is float8_e8m0fnu; the operator takes": lambda: hewn.quantize(x, SCALES[:1]),
        "scale: is float8_e4m3fn; the operator takes": lambda: hewn.quantize_linear(x, q[:1]),
        "dtype: is float8_e8m0fnu; the output is float32": lambda:
            hewn.dequantize_linear(q, SCALES[:1], dtype=SCALE),
        "dtype: is float8_e4m3fn; the output is float32, as scale": lambda:
            hewn.dequantize_linear(q, 0.1, dtype="float8_e4m3fn"),
        "saturate: is 5; expected one of True, False": lambda:
            hewn.quantize_linear(x, 0.1, dtype="float8_e5m2", saturate=5),
        "dtype: hewn has no type float8_e4m3b11fnuz": lambda:
            hewn.quantize_linear(x, 0.1, dtype=ml_dtypes.float8_e4m3b11fnuz),
        "x: hewn cannot read float8_e4m3:": lambda:
            hewn.dequantize_linear(np.ones(3, ml_dtypes.float8_e4m3), 0.1),
    }  # fmt: skip
    for words, call in calls.items():
        with pytest.raises(hewn.Error) as caught:
            call()
        assert words in str(caught.value)


def test_integers_saturate_in_any_case():
    x = f32([1e9, -1e9, np.nan])
    check(hewn.quantize_linear(x, 1, 3, saturate=False), np.uint8([255, 0, 3]))


# ---- PyTorch ----


@pytest.mark.parametrize("name", [name for name in CODES if name.startswith("float8")])
def test_torch(name):
    torch = pytest.importorskip("torch")
    if not hasattr(torch, name):
        pytest.skip("this PyTorch is older than the type")
    x = np.linspace(-3, 3, 24, dtype=f32)
    got = hewn.quantize_linear(torch.from_numpy(x), 0.1, dtype=getattr(torch, name))
    assert got.dtype == getattr(torch, name)
    check(got.view(torch.uint8).numpy().view(name), hewn.quantize_linear(x, 0.1, dtype=name))
    out = torch.empty_like(got)
    address = out.data_ptr()
    assert hewn.quantize_linear(torch.from_numpy(x), 0.1, out=out) is out
    assert out.data_ptr() == address and torch.equal(out.view(torch.uint8), got.view(torch.uint8))
    back = hewn.dequantize_linear(got, torch.tensor(0.1))
    assert torch.equal(back, got.float() * torch.tensor(0.1))
