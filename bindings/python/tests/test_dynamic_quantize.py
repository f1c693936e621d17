"""Tests of dynamic_quantize, which chooses a scale for each block of its input."""

import hewn
import ml_dtypes
import numpy as np
import pytest
from hewn._verify import reference, same_bits

KERNELS = {v.signature for v in hewn.variants() if v.operator == "dynamic_quantize"}
pytestmark = pytest.mark.skipif(
    not {"f32_i8", "f32_u8", "f32_f8"} <= KERNELS, reason="no such kernel in this build"
)
MODES = ["asymmetric", "symmetric", "full"]


@pytest.fixture
def x():
    return np.random.default_rng(1).standard_normal((4, 6, 40)).astype("float32")


def blocks_of(x, axis, block_size):
    """The blocks, each with its index in the array of scales."""
    if axis is None:
        yield (), x, (...,)
        return
    axis %= x.ndim
    size = block_size or x.shape[axis]
    count = -(-x.shape[axis] // size)
    for index in np.ndindex(*(count if d == axis else n for d, n in enumerate(x.shape))):
        at = tuple(
            slice(i * size, (i + 1) * size) if d == axis else slice(i, i + 1)
            for d, i in enumerate(index)
        )
        yield index, x[at], at


def check(got, x, axis=None, block_size=None, dtype="uint8", mode="asymmetric", min_scale=0.0):
    """Compares with the formula, block by block."""
    y, scale, *zero_point = got
    assert (y.shape, y.dtype) == (x.shape, np.dtype(dtype))
    assert len(zero_point) == (mode == "asymmetric")
    for index, block, at in blocks_of(x, axis, block_size):
        due, *parameters = reference(
            "dynamic_quantize", [block, dtype], mode=mode, min_scale=min_scale
        )
        assert same_bits(np.ascontiguousarray(y[at]), np.ascontiguousarray(due)).all()
        for array, parameter in zip([scale, *zero_point], parameters):
            assert same_bits(np.ascontiguousarray(array[index]), parameter).all()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("axis, block_size", [(None, None), (-1, None), (1, None), (0, None), (2, 16), (1, 4)])
def test_blocks(x, axis, block_size, dtype, mode):
    keywords = {"axis": axis, "block_size": block_size, "dtype": dtype, "mode": mode}
    for data in (x, x.astype("float16"), x.astype(ml_dtypes.bfloat16), x[::2, :, ::3].transpose(2, 0, 1)):
        check(hewn.dynamic_quantize(data, **keywords), data, **keywords)
        op = hewn.compile("dynamic_quantize", data, **keywords)
        check(op(data), data, **keywords)
        bound = op.bind(data)
        check(bound(), data, **keywords)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_float8(x, dtype):
    for axis in (None, -1):
        got = hewn.dynamic_quantize(x, axis=axis, dtype=dtype, mode="symmetric")
        check(got, x, axis=axis, dtype=dtype, mode="symmetric")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_4_bits(x, dtype, mode):
    """An array of ml_dtypes, whose elements have a byte each. QUANTIZE_LINEAR gives the same by the
    scales that were written."""
    y, scale, *zero_point = hewn.dynamic_quantize(
        x, axis=-1, block_size=32, dtype=dtype, mode=mode
    )
    assert (y.dtype, y.shape, scale.shape) == (np.dtype(dtype), x.shape, (4, 6, 2))
    if zero_point:
        (z,) = zero_point
        assert (z.dtype, z.shape) == (y.dtype, scale.shape)
    else:
        z = np.full(scale.shape, 8 if dtype == "uint4" else 0).astype(dtype)
    due = hewn.quantize_linear(x, scale, z, axis=-1, block_size=32)
    assert (y.astype("int8") == due.astype("int8")).all()


def test_scale_dtype(x):
    for name in ("float16", "bfloat16"):
        y, scale, zero_point = hewn.dynamic_quantize(x, axis=-1, scale_dtype=name)
        whole, _, _ = x, *reference("dynamic_quantize", [x, "uint8"])[1:]
        assert scale.dtype == np.dtype(name)
        due = hewn.quantize_linear(whole, scale.astype("float32"), zero_point)
        assert (y == due).all()


def test_min_scale():
    x = np.zeros((2, 3), "float32")
    x[1] = 1e-6
    for mode in ("asymmetric", "symmetric"):
        got = hewn.dynamic_quantize(x, axis=-1, mode=mode, min_scale=0.5)
        check(got, x, axis=-1, mode=mode, min_scale=0.5)
        assert (got[1] == 0.5).all()


def test_special_numbers_and_empty_arrays():
    for values in ([0, 0], [np.nan, 1, -2], [np.inf, 1], [1e-45, -1e-45], [5], [-5]):
        x = np.array([values, values], "float32")
        check(hewn.dynamic_quantize(x, axis=-1), x, axis=-1)
    y, scale, zero_point = hewn.dynamic_quantize(np.empty((0, 4), "float32"), axis=-1)
    assert (y.shape, scale.shape, zero_point.shape) == ((0, 4), (0, 1), (0, 1))
    y, scale, zero_point = hewn.dynamic_quantize(np.empty((3, 0), "float32"))
    assert (y.shape, scale.shape, zero_point.shape) == ((3, 0), (1, 0), (1, 0))


def test_back_again(x):
    y, scale, zero_point = hewn.dynamic_quantize(x, axis=-1)
    assert np.abs(hewn.dequantize_linear(y, scale, zero_point) - x).max() <= scale.max() * 0.51


def test_refused(x):
    for keywords, message in (
        ({"dtype": "int16"}, "out: INT16 is not supported"),
        ({"dtype": "float8_e4m3fn"}, "out: is FLOAT8E4M3FN; floats take the mode SYMMETRIC only"),
        ({"mode": "half"}, "mode: is half; expected one of asymmetric, symmetric, full"),
        ({"mode": "full", "min_scale": 1}, "min_scale is not 0, but mode FULL does not have it"),
        ({"min_scale": -1}, "min_scale is negative, expected 0 or more"),
        ({"scale_dtype": "int8"}, "scale_dtype: is int8; expected one of float32, float16, bfloat16"),
        ({"axis": 3}, "axis: 3, and x has 3 dimensions"),
        ({"block_size": 4}, "block_size: needs an axis"),
        ({"axis": 0, "block_size": 0}, "block_size: 0, expected at least 1"),
    ):
        with pytest.raises(hewn.Error, match=message):
            hewn.dynamic_quantize(x, **keywords)
    with pytest.raises(hewn.Error, match="x: is int32"):
        hewn.dynamic_quantize(x.astype("int32"))
