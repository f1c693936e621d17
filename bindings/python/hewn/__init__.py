"""Quantization operators whose results are the same on every CPU, bit for bit.

Each operator is a function, such as quantize_linear(); help() of a function describes its
arguments. compile() prepares an operator for many calls. info(), variants() and verify() say which
kernels run here, and check them.

The functions take arrays of NumPy, of PyTorch and of everything else that has the buffer protocol
or DLPack, in the CPU's memory. They read the arrays in place. Strides may be any that are not
negative. Arrays of 4-bit and 2-bit types (ml_dtypes) are copied.

Functions may be called from any thread. A call whose arrays have more than 16 KiB together releases
the GIL. Error, a ValueError, is raised for whatever hewn refuses."""

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
    """A set of CPU features, or a kind of GPU, for which kernels are compiled.

    priority: among the supported targets that have a kernel, the one of the highest priority is
    used. supported: whether this package can run the target's kernels on this machine; `missing`
    says what it lacks if not. GPUs are never supported, because the package runs on CPUs only.
    device: "cpu", or the kind of GPU: "cuda", "opencl" or "d3d12"."""

    name: str
    priority: int
    supported: bool
    missing: str
    device: str


class Variant(NamedTuple):
    """A kernel for one target: an operator, for one signature of types ("f32_u8").

    supported: whether its target is supported. picked: whether calls on this machine use it, unless
    another variant is forced. device: as of Target."""

    name: str
    operator: str
    signature: str
    target: str
    supported: bool
    picked: bool
    device: str


class Info(NamedTuple):
    """The version, the targets and the kernels of this package."""

    version: str
    targets: list[Target]
    variants: list[Variant]


def variants() -> list[Variant]:
    """All kernels of this package, one for each operator, signature and target."""
    return [Variant(*row) for row in _hewn.variants()]


def info() -> Info:
    """The version, the targets and the kernels of this package, and which of them run here."""
    return Info(__version__, [Target(*row) for row in _hewn.targets()], variants())


def compile(
    operator: str | Callable[..., Any],
    *inputs: Tensor,
    axis: int | None = None,
    block_size: int | None = None,
    dtype: DType | None = None,
    scale_dtype: DType | None = None,
    out: Any = None,
    threads: int | None = None,
    variant: str | None = None,
    constants: bool = True,
    **attributes: DType | float | None,
) -> Operator:
    """Prepares an operator for many calls: returns an Operator, and computes nothing.

    operator: the function (hewn.quantize_linear) or its name ("quantize_linear").
    inputs: arrays like those of the later calls, which must have the same types, shapes and
        strides. Their contents matter for constants only.
    axis, block_size, dtype, scale_dtype, threads, variant, attributes: as of the function, whose
        defaults None stands for.
    out: an array like the `out` of later calls; by default `out` is contiguous.
    constants: whether scales and zero points that are arrays are constants, which is faster:
        they are copied now, and calls do not take them. If not, calls take them. Numbers and
        lists of numbers are always constants.

    Raises hewn.Error, as the function does."""
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
    if row.block_size:
        axis = -1 if axis is None else axis
        block_size = row.block_size if block_size is None else block_size
    values = tuple(attributes.get(word) for word in row.attributes)
    options = (axis, block_size, dtype, scale_dtype, out, threads, variant, values)
    return Operator(
        _operators.library, row.number, inputs + missing * (None,), options, constants
    )
