"""Tests of dynamic_quantize_linear, which makes three new outputs each time."""

import hewn
import numpy as np
import pytest
from hewn._verify import reference, same_bits

KERNELS = {v.signature for v in hewn.variants() if v.operator == "dynamic_quantize_linear"}
pytestmark = pytest.mark.skipif("f32_u8" not in KERNELS, reason="no such kernel in this build")


def check(got, x, dtype="uint8"):
    expected = reference("dynamic_quantize_linear", [x, dtype])
    assert isinstance(got, tuple) and len(got) == 3
    for array, due in zip(got, expected):
        assert (array.dtype, array.shape) == (due.dtype, due.shape)
        assert same_bits(array, due).all()


@pytest.fixture
def x():
    return np.random.default_rng(1).standard_normal((3, 8, 10)).astype("float32")


def test_outputs(x):
    got = hewn.dynamic_quantize_linear(x)
    check(got, x)
    y, scale, zero_point = got
    assert (y.shape, scale.shape, zero_point.shape) == (x.shape, (), ())
    back = hewn.dequantize_linear(y, scale, zero_point) if "dequantize_linear" in {
        v.operator for v in hewn.variants() if v.signature == "u8_f32"
    } else (y.astype("f4") - zero_point) * scale
    assert np.abs(back - x).max() <= scale * 0.51


def test_views_and_special_numbers(x):
    check(hewn.dynamic_quantize_linear(x[::2, 1:, ::3].transpose(2, 0, 1)),
          x[::2, 1:, ::3].transpose(2, 0, 1))
    for values in ([0, 0], [np.nan, 1, -2], [np.inf, 1], [1e-45, -1e-45], [5], [-5], []):
        given = np.array(values, "float32")
        check(hewn.dynamic_quantize_linear(given), given)


def test_compiled_and_bound(x):
    op = hewn.compile("dynamic_quantize_linear", x, dtype="uint8")
    other = x[::-1].copy()
    first, second = op(x), op(other)
    check(first, x)
    check(second, other)
    bound = op.bind(x)
    got = bound()
    check(got, x)
    x *= 2
    assert bound() is got
    check(got, x)


def test_refused(x):
    with pytest.raises(TypeError):
        hewn.dynamic_quantize_linear(x, out=np.empty(x.shape, "uint8"))
    with pytest.raises(hewn.Error, match="x: is int32"):
        hewn.dynamic_quantize_linear(x.astype("int32"))
    with pytest.raises(hewn.Error, match="out: INT16 is not supported"):
        hewn.dynamic_quantize_linear(x, dtype="int16")
