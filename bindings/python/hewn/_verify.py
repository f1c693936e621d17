"""Compares the kernels with NumPy on this machine: hewn.verify(). FORMULAS has the operators'
formulas, written with NumPy."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from . import _hewn, _operators
from ._operators import OPERATORS
from ._table import Error

Values = NDArray[Any]
TYPES = {
    "f32": "float32", "f16": "float16", "i8": "int8", "u8": "uint8", "i16": "int16",
    "u16": "uint16", "i32": "int32", "u32": "uint32", "i64": "int64", "u64": "uint64",
    "bf16": "bfloat16",
}  # fmt: skip
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


def _difference(x: Values, zero_point: Values) -> Values:
    return (x.astype(numpy.int64) - zero_point.astype(numpy.int64)).astype(f32)


def _quantize_linear(x: Values, scale: Values, zero_point: Values) -> Values:
    return _requantized(x.astype(f32) / scale.astype(f32), zero_point)


def _dequantize_linear(x: Values, scale: Values, zero_point: Values, dtype: str = "") -> Values:
    product: Values = _difference(x, zero_point) * scale.astype(f32)
    return product.astype(dtype or scale.dtype)


def _quantized_linear_add(
    a: Values, a_scale: Values, a_zero_point: Values, b: Values, b_scale: Values,
    b_zero_point: Values, output_scale: Values, output_zero_point: Values,
) -> Values:  # fmt: skip
    total = _difference(a, a_zero_point) * a_scale + _difference(b, b_zero_point) * b_scale
    return _requantized(total / output_scale, output_zero_point)


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


def _dynamic_quantize_linear(x: Values, dtype: str) -> tuple[Values, Values, Values]:
    limits, values = numpy.iinfo(dtype), x.astype(f32)
    low = numpy.fmin.reduce(values, axis=None, initial=f32(0))
    high = numpy.fmax.reduce(values, axis=None, initial=f32(0))
    scale = (high - low) / f32(limits.max - limits.min) if high != low else f32(1)
    shifted = f32(limits.min) - low / scale
    zero_point = numpy.asarray(
        numpy.rint(numpy.clip(limits.min if numpy.isnan(shifted) else shifted,
                              limits.min, limits.max)), dtype)  # fmt: skip
    return _requantized(values / scale, zero_point), numpy.asarray(scale), zero_point


FORMULAS: dict[str, Callable[..., Any]] = {
    "add": numpy.add,
    "quantize_linear": _quantize_linear,
    "dequantize_linear": _dequantize_linear,
    "quantized_linear_add": _quantized_linear_add,
    "quantized_linear_mul": _quantized_linear_mul,
    "dynamic_quantize_linear": _dynamic_quantize_linear,
    "requantize": _requantize,
}


def reference(operator: str, inputs: list[Any]) -> Any:
    """The operator's result by its formula, computed by NumPy; a tuple if there are several outputs.
    Zero points must be arrays. The last of the inputs of dynamic_quantize_linear is the output's
    type, and for dequantize_linear it may be."""
    with numpy.errstate(all="ignore"):
        result = FORMULAS[operator](*inputs)
    return result if isinstance(result, tuple) else numpy.asarray(result)


def is_float(dtype: Any) -> bool:
    """Whether it is a type of floating-point numbers, including bfloat16, whose kind NumPy calls
    void."""
    return numpy.dtype(dtype).kind == "f" or str(dtype) == "bfloat16"


def same_bits(a: Values, b: Values) -> NDArray[numpy.bool_]:
    """Which elements have the same bits. Any NaN equals any other."""
    bits = f"u{a.itemsize}"
    equal: NDArray[numpy.bool_] = a.view(bits) == b.view(bits)
    return equal | (numpy.isnan(a) & numpy.isnan(b)) if is_float(a.dtype) else equal


# ---- Values ----


def _data(random: numpy.random.Generator, dtype: str) -> Values:
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


def _types(operator: str, signature: str) -> list[str]:
    """The types of the operator's tensors, for the signature of a kernel."""
    row, words = OPERATORS[operator], signature.split("_")
    types = ["" for _ in row.names]
    for tensor, word in zip(row.signature, words):
        types[tensor] = TYPES[word]
    for _ in row.names:  # what is like a tensor that is like another
        for tensor, (like, integers) in enumerate(row.like):
            if not types[tensor] and like >= 0 and types[like]:
                whole = not is_float(types[like])
                types[tensor] = TYPES[integers] if integers and whole else types[like]
            if types[tensor] and like >= 0 and not types[like] and not integers:
                types[like] = types[tensor]
    return [dtype or "float32" for dtype in types]


def _compared(variant: str, got: Any, expected: Any) -> Verified:
    """Counts the differing elements. Both arguments are arrays, or tuples of arrays."""
    arrays, due = (x if isinstance(x, tuple) else (x,) for x in (got, expected))
    wrong = sum(int((~same_bits(a, b)).sum()) for a, b in zip(arrays, due))
    return Verified(variant, sum(array.size for array in arrays), wrong)


def verify(pattern: str = "", seed: int = 1) -> list[Verified]:
    """Checks the kernels for the CPU that can run on this machine: runs each on random and special
    values and counts the elements that differ in a bit from NumPy's. Any NaN equals any other.

    pattern: only kernels with this text in their name, such as "add_f32".
    seed: of the random values; the same seed gives the same values.

    Kernels of bfloat16 are left out if the package ml_dtypes, which gives NumPy that type, is not
    installed. Raises hewn.Error if no kernel that can run here has the pattern."""
    has_bfloat16 = importlib.util.find_spec("ml_dtypes") is not None
    if has_bfloat16:
        importlib.import_module("ml_dtypes")
    results = []
    for name, operator, signature, _, supported, _, device in _hewn.variants():
        if not supported or device != "cpu" or pattern not in name:
            continue
        if "bf16" in signature.split("_") and not has_bfloat16:
            continue
        random, row = numpy.random.default_rng(seed), OPERATORS[operator]
        types = _types(operator, signature)
        inputs = list(_inputs(random, row.roles, types))
        # Where no zero point says the output's type.
        typed = "zero_point" not in row.roles and "dtype" in row.keywords
        dtype = [types[len(inputs)]] if typed else []
        got = getattr(_operators, operator)(*inputs, variant=name, **dict(zip(["dtype"], dtype)))
        results.append(_compared(name, got, reference(operator, inputs + dtype)))
    if not results:
        raise Error(_operators.Status.NO_VARIANT, f"no kernel that runs here has {pattern}")
    return results
