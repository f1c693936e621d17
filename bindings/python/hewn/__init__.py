"""Quantization operators with the same bits on every CPU: hewn's kernels, for arrays of NumPy, of
PyTorch and of whatever has DLPack or the buffer protocol, without copies.

Each operator is a function; compile() prepares one for many calls. Strides are any that are not
negative; new outputs are contiguous. Functions may be called from any thread, and release the GIL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from . import _hewn, _operators
from ._hewn import BoundOperator, Operator
from ._operators import *  # noqa: F403  the table's functions
from ._operators import OPERATORS, Status
from ._table import DType, Error, Tensor
from ._verify import Verified, verify

__version__ = _hewn.version()
__all__ = [
    "BoundOperator", "Error", "Info", "Operator", "Status", "Target", "Variant", "Verified",
    "compile", "info", "variants", "verify", *OPERATORS,
]  # fmt: skip


class Target(NamedTuple):
    """A set of CPU features, or a kind of GPU, that kernels are compiled for. `supported`: this
    package can run them on this machine; else `missing` is what it lacks. It runs none on GPUs."""

    name: str
    rank: int
    supported: bool
    missing: str
    device: str


class Variant(NamedTuple):
    """A kernel: operator x signature x target. `supported`: its target is. `picked`: taken here if
    nothing is forced."""

    name: str
    operator: str
    signature: str
    target: str
    supported: bool
    picked: bool
    device: str


class Info(NamedTuple):
    """What this build is, and what this machine can run of it."""

    version: str
    targets: list[Target]
    variants: list[Variant]


def variants() -> list[Variant]:
    """The kernels of this build."""
    return [Variant(*row) for row in _hewn.variants()]


def info() -> Info:
    """The version, the targets and the kernels of this build."""
    return Info(__version__, [Target(*row) for row in _hewn.targets()], variants())


def compile(
    operator: str | Callable[..., Any],
    *inputs: Tensor,
    axis: int | None = None,
    block_size: int | None = None,
    dtype: DType | None = None,
    out: Any = None,
    threads: int | None = None,
    variant: str | None = None,
    constants: bool = True,
    **attributes: DType | None,
) -> Operator:
    """An operator for arrays that lie like these, to be called on others: its function or name,
    then its inputs, keywords and attributes. Computes nothing.

    constants: arrays given as scales and zero points are copied and stay as they are, which is
    faster; a call does not take them. Without, it does. Numbers and lists of them always stay as
    they are.
    Raises hewn.Error."""
    name = operator if isinstance(operator, str) else operator.__name__
    if name not in OPERATORS:
        raise Error(Status.INVALID_ARGUMENT, f"operator: there is no {name}")
    row = OPERATORS[name]
    missing = len(row.inputs) - len(inputs)
    if missing < 0:
        raise Error(Status.INVALID_ARGUMENT, f"{name}: has {len(row.inputs)} inputs")
    for word in attributes:
        if word not in row.attributes:
            raise Error(Status.INVALID_ARGUMENT, f"{word}: {name} has no such attribute")
    values = tuple(attributes.get(word) for word in row.attributes)
    options = (axis, block_size, dtype, out, threads, variant, values)
    return Operator(
        _operators.library, row.number, inputs + missing * (None,), options, constants
    )
