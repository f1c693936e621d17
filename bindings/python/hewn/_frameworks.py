"""Arrays of the caller's framework."""

from __future__ import annotations

import sys
from typing import Any

import numpy

_DTYPES = {
    name: numpy.dtype(name)
    for kind in ("int", "uint", "float")
    for name in (f"{kind}{bits}" for bits in (8, 16, 32, 64) if (kind, bits) != ("float", 8))
}

def empty(like: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """A packed array of `like`'s framework; NumPy's if it makes none."""
    if type(like) is numpy.ndarray:
        return numpy.empty(shape, _DTYPES[dtype])
    framework = sys.modules.get(type(like).__module__.partition(".")[0])
    if framework is not None and framework.__name__ == "torch":
        return framework.empty(shape, dtype=getattr(framework, dtype), device=like.device)
    return numpy.empty(shape, dtype)
