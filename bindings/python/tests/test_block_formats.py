"""Tests of mx_quantize, mx_dequantize, nvfp4_quantize and nvfp4_dequantize."""

import hewn
import ml_dtypes
import numpy as np
import pytest
from hewn._operators import OPERATORS
from hewn._verify import reference, same_bits

KERNELS = {f"{v.operator}_{v.signature}" for v in hewn.variants()}
NEEDED = {"mx_quantize_f32_i8", "mx_quantize_f32_f8", "nvfp4_quantize_f32_f8", "dequantize_linear_f8_f32"}
pytestmark = pytest.mark.skipif(not NEEDED <= KERNELS, reason="no such kernel in this build")
TYPES = OPERATORS["mx_quantize"].types[1]
MODES = OPERATORS["mx_quantize"].choices["scale_mode"]


@pytest.fixture
def random():
    return np.random.default_rng(1)


def normal(random, shape):
    """Rows of very different magnitudes."""
    return (random.standard_normal(shape) * 10.0 ** random.integers(-9, 9, (shape[0], 1))).astype("float32")


def check(got, expected):
    got, expected = (x if isinstance(x, tuple) else (x,) for x in (got, expected))
    assert len(got) == len(expected)
    for array, due in zip(got, expected):
        assert (array.dtype, array.shape) == (due.dtype, due.shape)
        assert same_bits(np.ascontiguousarray(array), np.ascontiguousarray(due)).all()


@pytest.mark.parametrize("dtype", TYPES)
def test_mx(random, dtype):
    for mode in MODES:
        for block in (32, 16, 7, 100):
            x = normal(random, (5, 70))
            with np.errstate(over="ignore"):
                half = x.astype("float16")  # some are infinite
            for data in (x, half, x.astype(ml_dtypes.bfloat16), x[::2, ::3]):
                expected = reference("mx_quantize", [data, dtype], scale_mode=mode, block_size=block)
                check(hewn.mx_quantize(data, dtype, block_size=block, scale_mode=mode), expected)
            q, scale = expected
            back = reference("mx_dequantize", [q, scale], block_size=block)
            check(hewn.mx_dequantize(q, scale, block_size=block), back)


def test_defaults(random):
    x = normal(random, (3, 64))
    q, scale = hewn.mx_quantize(x, "f8e4m3fn")
    assert (q.dtype, scale.shape) == (np.dtype("float8_e4m3fn"), (3, 2))
    check((q, scale), hewn.mx_quantize(x, ml_dtypes.float8_e4m3fn, axis=1, block_size=32, scale_mode="floor"))
    assert hewn.mx_dequantize(q, scale).dtype == np.float32
    q, scale, tensor_scale = hewn.nvfp4_quantize(x)
    assert (q.dtype, scale.shape, tensor_scale.shape) == (np.dtype("float4_e2m1fn"), (3, 4), ())
    assert hewn.nvfp4_dequantize(q, scale, tensor_scale).dtype == np.float32


def test_nvfp4(random):
    for block in (16, 5, 100):
        for x in (normal(random, (5, 70)), random.standard_normal((5, 70)).astype("float16")):
            expected = reference("nvfp4_quantize", [x], block_size=block)
            check(hewn.nvfp4_quantize(x, block_size=block), expected)
            for given in (np.float32(0.37), np.float32(1e-30), expected[2]):
                q, scale = reference("nvfp4_quantize", [x, np.asarray(given)], block_size=block)
                check(hewn.nvfp4_quantize(x, given, block_size=block), (q, scale))
                check(hewn.nvfp4_quantize(x, float(given), block_size=block), (q, scale))
                back = reference("nvfp4_dequantize", [q, scale, given], block_size=block)
                check(hewn.nvfp4_dequantize(q, scale, given, block_size=block), back)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_dequantized_types(random, dtype):
    x = normal(random, (3, 64))
    q, scale = hewn.mx_quantize(x, "float6_e2m3fn")
    check(hewn.mx_dequantize(q, scale, dtype=dtype), reference("mx_dequantize", [q, scale, dtype]))
    q, scale, tensor_scale = hewn.nvfp4_quantize(x)
    check(hewn.nvfp4_dequantize(q, scale, tensor_scale, dtype=dtype),
          reference("nvfp4_dequantize", [q, scale, tensor_scale, dtype]))  # fmt: skip


def test_axis(random):
    """Blocks along another dimension are those of the transposed array."""
    x = random.standard_normal((3, 70, 4)).astype("float32")
    turned = np.ascontiguousarray(x.transpose(0, 2, 1))
    for dtype in ("int8", "float8_e5m2", "float4_e2m1fn"):
        expected = reference("mx_quantize", [turned, dtype])
        q, scale = hewn.mx_quantize(x, dtype, axis=1)
        check((q, scale), tuple(array.transpose(0, 2, 1) for array in expected))
        check(hewn.mx_dequantize(q, scale, axis=1),
              reference("mx_dequantize", list(expected)).transpose(0, 2, 1))  # fmt: skip
    q, scale, tensor_scale = reference("nvfp4_quantize", [turned])
    check(hewn.nvfp4_quantize(x, axis=-2), (q.transpose(0, 2, 1), scale.transpose(0, 2, 1), tensor_scale))


def test_special_numbers_and_empty_arrays():
    for values in ([0, -0.0], [np.nan, 1], [np.inf, 1], [1e-45, -1e-45], [3e38, -3e38], [5.9, 6.1]):
        x = np.zeros((3, 40), "float32")
        x[1, :2] = values
        for dtype in TYPES:
            for mode in MODES:
                expected = reference("mx_quantize", [x, dtype], scale_mode=mode)
                check(hewn.mx_quantize(x, dtype, scale_mode=mode), expected)
        check(hewn.nvfp4_quantize(x), reference("nvfp4_quantize", [x]))
    empty = np.empty((0, 40), "float32")
    assert [a.shape for a in hewn.mx_quantize(empty, "int8")] == [(0, 40), (0, 2)]
    q, scale, tensor_scale = hewn.nvfp4_quantize(empty)
    assert (q.shape, scale.shape, tensor_scale) == ((0, 40), (0, 3), 1)


def test_compiled(random):
    x, y = normal(random, (2, 64)), normal(random, (2, 64))
    op = hewn.compile("mx_quantize", x, dtype="float8_e5m2", scale_mode="ceil")
    check(op(y), reference("mx_quantize", [y, "float8_e5m2"], scale_mode="ceil"))
    op = hewn.compile(hewn.mx_quantize, x, dtype="int8", block_size=16)
    check(op(y), reference("mx_quantize", [y, "int8"], block_size=16))
    check(hewn.compile("nvfp4_quantize", x)(y), reference("nvfp4_quantize", [y]))
    check(hewn.compile("nvfp4_quantize", x, 0.5)(y), reference("nvfp4_quantize", [y, np.float32(0.5)]))


def test_torch(random):
    torch = pytest.importorskip("torch")
    x = normal(random, (2, 64))
    q, scale = hewn.mx_quantize(torch.from_numpy(x), torch.float8_e4m3fn)
    assert (q.dtype, scale.dtype) == (torch.float8_e4m3fn, torch.float8_e8m0fnu)
    due = reference("mx_quantize", [x, "float8_e4m3fn"])
    assert (q.view(torch.uint8).numpy() == due[0].view("u1")).all()
    assert (scale.view(torch.uint8).numpy() == due[1].view("u1")).all()
    assert (hewn.mx_dequantize(q, scale).numpy() == reference("mx_dequantize", list(due))).all()


def test_refused(random):
    x = normal(random, (2, 64))
    mx, nvfp4 = hewn.mx_quantize, hewn.nvfp4_quantize
    for call, message in (
        (lambda: mx(x, None), "dtype: is missing; expected one of int8, float4_e2m1fn, float6"),
        (lambda: hewn.compile("mx_quantize", x), "dtype: is missing"),
        (lambda: mx(x, "uint8"), "out: UINT8 is not supported"),
        (lambda: mx(x, "int8", scale_mode="up"), "scale_mode: is up; expected one of floor, ceil, even"),
        (lambda: mx(x, "int8", axis=2), "axis: 2, and x has 2 dimensions"),
        (lambda: mx(x, "int8", block_size=0), "block_size: 0, expected at least 1"),
        (lambda: mx(x, "int8", axis=None, block_size=None), "has blocks along 2 dimensions"),
        (lambda: mx(x.astype("int32"), "int8"), "x: is int32"),
        (lambda: hewn.compile("mx_quantize", x, dtype="int8", scale_dtype="float32"),
         "scale_dtype: is float32; expected one of float8_e8m0fnu"),
        (lambda: nvfp4(x, x[:1, :2]), "tensor_scale: has 2 elements, expected 1"),
        (lambda: nvfp4(x, np.float16([1])), "tensor_scale: is float16; the operator takes float32"),
        (lambda: nvfp4(x, 0), "tensor_scale: "),
        (lambda: hewn.mx_dequantize(x.astype("int8"), x[:, :2]),
         r"scale: is float32; the operator takes float8_e8m0fnu; use scale.astype\(ml_dtypes.float8_e8m0fnu\)"),
    ):  # fmt: skip
        with pytest.raises(hewn.Error, match=message):
            call()
    with pytest.raises(TypeError, match="dtype"):
        hewn.mx_quantize(x)
