"""Arrays of the caller's framework."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy

_DTYPES = {
    name: numpy.dtype(name)
    for kind in ("int", "uint", "float")
    for name in (f"{kind}{bits}" for bits in (8, 16, 32, 64) if (kind, bits) != ("float", 8))
}
_OF_TORCH = frozenset(
    [*_DTYPES, "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"]
)

def _dtype(name: str) -> Any:
    """NumPy's; bfloat16, the floats of at most 8 bits and the integers of 4 and 2 bits are the
    package ml_dtypes'."""
    if name not in _DTYPES:
        _DTYPES[name] = numpy.dtype(getattr(importlib.import_module("ml_dtypes"), name))
    return _DTYPES[name]

def empty(like: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """A contiguous array of `like`'s framework; NumPy's if it makes none."""
    if type(like) is numpy.ndarray:
        return numpy.empty(shape, _dtype(dtype))
    framework = sys.modules.get(type(like).__module__.partition(".")[0])
    if framework is not None and framework.__name__ == "torch" and dtype in _OF_TORCH:
        made = getattr(framework, dtype, None)  # older versions have no float8
        if made is not None:
            return framework.empty(shape, dtype=made, device=like.device)
    return numpy.empty(shape, _dtype(dtype))
