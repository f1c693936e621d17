"""Compares the kernels with NumPy on this machine: hewn.verify(). FORMULAS has the operators'
formulas, written with NumPy."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from . import _hewn, _operators
from ._operators import OPERATORS, TYPES
from ._table import Error

Values = NDArray[Any]
# The types that the kernels take as codes, which their signatures call f8. f8e8m0 is only for scales,
# which are converted before.
CODES = [name for word, name in TYPES.items() if word[:2] in ("f8", "f6", "f4") and word != "f8e8m0"]
ELEMENTS = 4099
f32 = numpy.float32


class Verified(NamedTuple):
    """A kernel, the number of elements that it computed, and how many of them were wrong: differed
    in a bit from NumPy's."""

    variant: str
    elements: int
    wrong: int


# ---- The formulas (docs/numerics.md): each written operation rounds once, to float32 ----


def _requantized(values: Values, zero_point: Values) -> Values:
    """Rounded to the zero point's type, ties to even. NaN is the zero point."""
    limits = numpy.iinfo(zero_point.dtype)
    shifted = numpy.rint(values).astype(numpy.float64) + zero_point
    known = numpy.where(numpy.isnan(shifted), zero_point.astype(numpy.float64), shifted)
    return numpy.clip(known, limits.min, limits.max).astype(zero_point.dtype)


def _rounded(values: Values, dtype: Any, saturate: bool) -> Values:
    """Rounded to a float of at most 8 bits by ml_dtypes, which does not saturate float8. Floats of
    fewer bits have no NaN, and get their largest number for it."""
    largest = importlib.import_module("ml_dtypes").finfo(dtype).max.astype(f32)
    has_nan = numpy.dtype(dtype).name.startswith("float8")
    if saturate or not has_nan:
        values = numpy.clip(values, -largest, largest)
    if not has_nan:
        values = numpy.where(numpy.isnan(values), largest, values)
    return values.astype(dtype)


def _difference(x: Values, zero_point: Values) -> Values:
    if is_float(x.dtype):  # it has no zero point but 0
        return x.astype(f32)
    return (x.astype(numpy.int64) - zero_point.astype(numpy.int64)).astype(f32)


def _quantize_linear(x: Values, scale: Values, zero_point: Values, saturate: bool = True) -> Values:
    quotients = x.astype(f32) / scale.astype(f32)
    if is_float(zero_point.dtype):
        return _rounded(quotients, zero_point.dtype, saturate)
    return _requantized(quotients, zero_point)


def _dequantize_linear(x: Values, scale: Values, zero_point: Values, dtype: str = "") -> Values:
    product: Values = _difference(x, zero_point) * scale.astype(f32)
    return product.astype(dtype or scale.dtype)


def _quantized_linear_add(
    a: Values, a_scale: Values, a_zero_point: Values, b: Values, b_scale: Values,
    b_zero_point: Values, output_scale: Values, output_zero_point: Values,
    activation: str = "none",
) -> Values:  # fmt: skip
    total = _difference(a, a_zero_point) * a_scale + _difference(b, b_zero_point) * b_scale
    result = _requantized(total / output_scale, output_zero_point)
    bounds = {"none": (), "relu": (0,), "relu6": (0, 6), "relu_n1_to_1": (-1, 1)}[activation]
    for bound, limited in zip(bounds, (numpy.maximum, numpy.minimum)):
        result = limited(result, _requantized(f32(bound) / output_scale, output_zero_point))
    return result


def _quantized_linear_mul(
    a: Values, a_scale: Values, a_zero_point: Values, b: Values, b_scale: Values,
    b_zero_point: Values, output_scale: Values, output_zero_point: Values,
) -> Values:  # fmt: skip
    product = _difference(a, a_zero_point) * _difference(b, b_zero_point)
    return _requantized(product * (a_scale * b_scale / output_scale), output_zero_point)


def _requantize(
    x: Values, input_scale: Values, input_zero_point: Values, output_scale: Values,
    output_zero_point: Values,
) -> Values:  # fmt: skip
    return _quantize_linear(_dequantize_linear(x, input_scale, input_zero_point), output_scale,
                            output_zero_point)  # fmt: skip


def _dynamic_quantize(
    x: Values, dtype: str, mode: str = "asymmetric", min_scale: float = 0
) -> tuple[Values, ...]:
    """With one scale for all elements."""
    values = x.astype(f32)
    low = numpy.fmin.reduce(values, axis=None, initial=f32(0))
    high = numpy.fmax.reduce(values, axis=None, initial=f32(0))
    if is_float(dtype):
        largest = {"float8_e4m3fn": 448, "float8_e5m2": 57344}[dtype]
        scale = max(high, -low) / f32(largest)
    else:
        limits = numpy.iinfo(dtype)
        middle = 0 if limits.min < 0 else (int(limits.max) + 1) // 2
        extent, steps = {
            "asymmetric": (high - low, limits.max - limits.min),
            "symmetric": (max(high, -low), limits.max - middle),
            "full": (high if high > -low else low, limits.min - middle),
        }[mode]
        scale = extent / f32(steps)
    if min_scale > 0:
        scale = max(scale, f32(min_scale))
    elif low == high:
        scale = f32(1)
    if is_float(dtype):
        return _rounded(values / scale, numpy.dtype(dtype), True), numpy.asarray(scale)
    if mode != "asymmetric":
        return _requantized(values / scale, numpy.asarray(middle, dtype)), numpy.asarray(scale)
    shifted = f32(limits.min) - low / scale
    zero_point = numpy.asarray(
        numpy.rint(numpy.clip(limits.min if numpy.isnan(shifted) else shifted,
                              limits.min, limits.max)), dtype)  # fmt: skip
    return _requantized(values / scale, zero_point), numpy.asarray(scale), zero_point


def _dynamic_quantize_linear(x: Values, dtype: str) -> tuple[Values, ...]:
    return _dynamic_quantize(x, dtype)


def _in_blocks(x: Values, size: int) -> Values:
    """The elements as float32, with the last dimension cut into blocks. Zeros fill the last one."""
    count = -(-x.shape[-1] // size)
    padded = numpy.zeros((*x.shape[:-1], count * size), f32)
    padded[..., : x.shape[-1]] = x
    return padded.reshape(*x.shape[:-1], count, size)


def _joined(blocks: Values, shape: tuple[int, ...]) -> Values:
    """The array of this shape that was cut into these blocks."""
    joined = blocks.reshape(*shape[:-1], blocks.shape[-2] * blocks.shape[-1])
    return numpy.ascontiguousarray(joined[..., : shape[-1]])


def _largest(blocks: Values) -> NDArray[numpy.uint32]:
    """The largest magnitude of each block, as bits, in which NaN is larger than all numbers."""
    bits = numpy.ascontiguousarray(blocks).view(numpy.uint32) & numpy.uint32(0x7FFFFFFF)
    largest: NDArray[numpy.uint32] = bits.max(axis=-1, initial=numpy.uint32(0))
    return largest


def _mx_quantize(
    x: Values, dtype: str, scale_mode: str = "floor", block_size: int = 32
) -> tuple[Values, ...]:
    """With blocks along the last dimension."""
    blocks = _in_blocks(x, block_size)
    largest = _largest(blocks).astype(numpy.int64)
    if dtype == "int8":
        fraction_bits, emax, top = 6, 0, 0x7E0000
    else:
        about = importlib.import_module("ml_dtypes").finfo(dtype)
        mantissa, exponent_of_top = numpy.frexp(float(about.max))
        fraction_bits, emax = int(about.nmant), int(exponent_of_top) - 1
        top = int((2 * mantissa - 1) * 2**23)
    exponent, fraction = largest >> 23, largest & 0x7FFFFF
    if scale_mode == "ceil":
        leads = exponent > 0  # subnormal numbers have no leading 1
        exponent = exponent + numpy.where(leads, fraction > top, 2 * fraction > top + 2**23)
    elif scale_mode == "even":
        exponent = (largest + (1 << (22 - fraction_bits))) >> 23
    lost = largest >= 0x7F800000
    byte = numpy.where(lost, 255, numpy.clip(exponent - emax, 0, 254))
    scales = numpy.ldexp(1.0, numpy.minimum(byte, 254) - 127).astype(f32)[..., None]
    if dtype == "int8":
        elements = numpy.clip(numpy.rint(64 * (blocks / scales)), -127, 127)
        y = numpy.where(lost[..., None], 0, elements).astype(dtype)
    else:
        y = _rounded(blocks / scales, dtype, True)
        y[lost] = numpy.nan if dtype.startswith("float8") else 0
    return _joined(y, x.shape), byte.astype(numpy.uint8).view("float8_e8m0fnu")


def _mx_dequantize(x: Values, scale: Values, dtype: str = "float32", block_size: int = 32) -> Values:
    factors = scale.astype(f32)[..., None] * f32(1 / 64 if x.dtype == numpy.int8 else 1)
    return _joined(_in_blocks(x, block_size) * factors, x.shape).astype(dtype)


def _nvfp4_quantize(
    x: Values, tensor_scale: Values | None = None, block_size: int = 16
) -> tuple[Values, ...]:
    """With blocks along the last dimension."""
    blocks = _in_blocks(x, block_size)
    bits = _largest(blocks)
    lost, largest = bits >= 0x7F800000, bits.view(f32)
    chosen = tensor_scale is None
    if tensor_scale is None:
        most = numpy.where(lost, f32(0), largest).max(initial=f32(0))
        tensor_scale = numpy.asarray(most / f32(2688) if most > 0 else f32(1))
    tensor_scale = tensor_scale.reshape(())
    exact = numpy.where(largest == 0, f32(0), largest / f32(6) / tensor_scale)
    scale = _rounded(numpy.where(lost, f32(numpy.nan), exact), "float8_e4m3fn", True)
    factor = (scale.astype(f32) * tensor_scale)[..., None]
    y = _rounded(
        numpy.where(factor == 0, numpy.copysign(f32(0), blocks), blocks / factor), "float4_e2m1fn", True
    )
    y[numpy.isnan(scale)] = 0
    others = (scale, tensor_scale) if chosen else (scale,)
    return (_joined(y, x.shape), *others)


def _nvfp4_dequantize(
    x: Values, scale: Values, tensor_scale: Values, dtype: str = "float32", block_size: int = 16
) -> Values:
    factors = (scale.astype(f32) * tensor_scale)[..., None]
    return _joined(_in_blocks(x, block_size) * factors, x.shape).astype(dtype)


def _larger(a: Values, b: Values) -> Values:
    """The maximum of IEEE 754: NaN stays NaN, and +0 is larger than -0."""
    return numpy.where(a == b, numpy.where(numpy.signbit(a), b, a), numpy.maximum(a, b))


def _smaller(a: Values, b: Values) -> Values:
    return -_larger(-a, -b)


def _add1(
    a: Values, b: Values, activation: str = "identity", alpha: float = 0, beta: float = 0,
    bias: float = 0, threshold: float = 0, min: float = 0, max: float = 0,
) -> Values:  # fmt: skip
    x = numpy.add(a, b).astype(f32)
    zero, one = numpy.zeros((), f32), numpy.ones((), f32)
    activations: dict[str, Callable[[], Values]] = {
        "identity": lambda: x,
        "linear": lambda: x * f32(alpha) + f32(beta),
        "relu": lambda: _larger(zero, x),
        "leaky_relu": lambda: numpy.where(x >= 0, x, x * f32(alpha)),
        "thresholded_relu": lambda: numpy.where(x > f32(alpha), x, zero),
        "hard_sigmoid": lambda: _larger(zero, _smaller(x * f32(alpha) + f32(beta), one)),
        "softsign": lambda: x / (one + numpy.abs(x)),
        "shrink": lambda: numpy.where(
            x < -f32(threshold), x + f32(bias),
            numpy.where(x > f32(threshold), x - f32(bias), zero)),
        "clip": lambda: _smaller(_larger(x, f32(min) + zero), f32(max) + zero),
    }  # fmt: skip
    return activations[activation]().astype(a.dtype)


FORMULAS: dict[str, Callable[..., Any]] = {
    "add": numpy.add,
    "add1": _add1,
    "quantize_linear": _quantize_linear,
    "dequantize_linear": _dequantize_linear,
    "quantized_linear_add": _quantized_linear_add,
    "quantized_linear_mul": _quantized_linear_mul,
    "dynamic_quantize": _dynamic_quantize,
    "dynamic_quantize_linear": _dynamic_quantize_linear,
    "requantize": _requantize,
    "mx_quantize": _mx_quantize,
    "mx_dequantize": _mx_dequantize,
    "nvfp4_quantize": _nvfp4_quantize,
    "nvfp4_dequantize": _nvfp4_dequantize,
}


def reference(operator: str, inputs: list[Any], **attributes: Any) -> Any:
    """The operator's result by its formula, computed by NumPy; a tuple if there are several outputs.
    Zero points must be arrays. The last of the inputs of dynamic_quantize_linear, dynamic_quantize and
    mx_quantize is the output's type, and for dequantize_linear it may be. For quantize_linear it may
    be `saturate`. Attributes are those of the operator, and the block size of MX and NVFP4."""
    with numpy.errstate(all="ignore"):
        result = FORMULAS[operator](*inputs, **attributes)
    return result if isinstance(result, tuple) else numpy.asarray(result)


def is_float(dtype: Any) -> bool:
    """Whether it is a type of floating-point numbers, including those of ml_dtypes, whose kind NumPy
    calls void."""
    return "float" in numpy.dtype(dtype).name


def same_bits(a: Values, b: Values) -> NDArray[numpy.bool_]:
    """Which elements have the same bits. Any NaN equals any other."""
    bits = f"u{a.itemsize}"
    equal: NDArray[numpy.bool_] = a.view(bits) == b.view(bits)
    return equal | (numpy.isnan(a) & numpy.isnan(b)) if is_float(a.dtype) else equal


# ---- Values ----


def _data(random: numpy.random.Generator, dtype: str) -> Values:
    if dtype in CODES:
        bits = int(dtype[len("float")])
        return random.integers(0, 1 << bits, ELEMENTS, numpy.uint8).view(dtype)
    if not is_float(dtype):
        limits = numpy.iinfo(dtype)
        return random.integers(limits.min, limits.max, ELEMENTS, dtype, endpoint=True)
    values = (random.standard_normal(ELEMENTS) * 40).astype(dtype)
    special = [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, 6e-8, numpy.inf, -numpy.inf, numpy.nan]
    values[: len(special)] = special
    return values


def _inputs(
    random: numpy.random.Generator, roles: tuple[str, ...], types: list[str]
) -> Iterator[Values]:
    for role, dtype in zip(roles, types):
        if role == "output":
            return
        if role == "data":
            values = _data(random, dtype)
            # A scale that follows from the data should be finite.
            dynamic = roles.count("output") > 1
            yield numpy.where(numpy.isinf(values), 0, values) if dynamic else values
        elif role == "scale":
            yield numpy.asarray(0.011 + random.random() / 3, dtype)
        else:
            yield numpy.asarray(random.integers(0, 100), dtype)


def _types(operator: str, signature: str, of_codes: str = "") -> list[str]:
    """The types of the operator's tensors, for the signature of a kernel. `of_codes` is the type that
    the signature calls f8."""
    row, words = OPERATORS[operator], signature.split("_")
    types = ["" for _ in row.names]
    for tensor, word in zip(row.signature, words):
        types[tensor] = TYPES.get(word, of_codes)
    for _ in row.names:  # what is like a tensor that is like another
        for tensor, (like, integers) in enumerate(row.like):
            if not types[tensor] and like >= 0 and types[like]:
                whole = not is_float(types[like])
                types[tensor] = TYPES[integers] if integers and whole else types[like]
            if types[tensor] and like >= 0 and not types[like] and not integers:
                types[like] = types[tensor]
    return [dtype or "float32" for dtype in types]


def _attributes(operator: str, dtype: str) -> Iterator[dict[str, Any]]:
    """The attributes to verify with: each activation, if the operator has some, with parameters; each
    mode that the type of the output, `dtype`, has."""
    row = OPERATORS[operator]
    if "mode" in row.choices:
        yield from ({"mode": mode} for mode in row.choices["mode"] if mode == "symmetric" or not is_float(dtype))
        return
    if "scale_mode" in row.choices:
        yield from ({"scale_mode": mode} for mode in row.choices["scale_mode"])
        return
    values = {"alpha": 0.3, "beta": -0.7, "bias": 0.5, "threshold": 1.5, "min": -1.0, "max": 6.0}
    for activation in row.choices.get("activation", ()):
        needed = [word for word, of in row.parameters_of.items() if activation in of]
        yield {"activation": activation} | {word: values[word] for word in needed}
    if "activation" not in row.choices:
        yield {}


def _compared(got: Any, expected: Any) -> tuple[int, int]:
    """The number of elements, and how many differ. Both arguments are arrays, or tuples of arrays."""
    arrays, due = (x if isinstance(x, tuple) else (x,) for x in (got, expected))
    wrong = sum(int((~same_bits(a, b)).sum()) for a, b in zip(arrays, due))
    return sum(array.size for array in arrays), wrong


def _run(operator: str, types: list[str], variant: str, seed: int) -> Iterator[tuple[int, int]]:
    """Runs a kernel with tensors of these types, with each of _attributes(). Yields what _compared()
    returns."""
    random, row = numpy.random.default_rng(seed), OPERATORS[operator]
    inputs: list[Any] = list(_inputs(random, row.roles, types))
    # Where no zero point says the output's type.
    typed = "zero_point" not in row.roles and "dtype" in row.keywords
    dtype: list[Any] = [types[len(inputs)]] if typed else []
    # A scale that may be absent is then chosen.
    absent = [
        None if role == "scale" and optional else given
        for role, optional, given in zip(row.roles, row.optional, inputs)
    ]
    for attributes in _attributes(operator, types[len(inputs)]):
        keywords = {**dict(zip(["dtype"], dtype)), **attributes}
        for given in [inputs, absent] if any(i is None for i in absent) else [inputs]:
            got = getattr(_operators, operator)(*given, variant=variant, **keywords)
            yield _compared(got, reference(operator, given + dtype, **attributes))


def _codes(operator: str, words: list[str]) -> list[str]:
    """The types that f8 stands for in a signature of these words."""
    if "f8" not in words:
        return [""]
    row = OPERATORS[operator]
    types = row.types[row.signature[words.index("f8")]]
    return [name for name in CODES if name in types]


def verify(pattern: str = "", seed: int = 1) -> list[Verified]:
    """Checks the kernels for the CPU that can run on this machine: runs each on random and special
    values and counts the elements that differ in a bit from NumPy's. Any NaN equals any other.

    pattern: only kernels with this text in their name, such as "add_f32".
    seed: of the random values; the same seed gives the same values.

    Kernels of bfloat16 and of floats of at most 8 bits are left out if the package ml_dtypes, which
    gives NumPy these types, is not installed. Raises hewn.Error if no kernel that can run here has
    the pattern."""
    has_ml_dtypes = importlib.util.find_spec("ml_dtypes") is not None
    if has_ml_dtypes:
        importlib.import_module("ml_dtypes")
    results = []
    for name, operator, signature, _, supported, _, device in _hewn.variants():
        if not supported or device != "cpu" or pattern not in name:
            continue
        words = signature.split("_")
        if not has_ml_dtypes and ("bf16" in words or "f8" in words):
            continue
        counts = [
            count
            for of_codes in _codes(operator, words)
            for count in _run(operator, _types(operator, signature, of_codes), name, seed)
        ]
        results.append(Verified(name, *map(sum, zip(*counts))))
    if not results:
        raise Error(_operators.Status.NO_VARIANT, f"no kernel that runs here has {pattern}")
    return results
