"""What the generated functions of the operators share: their error, the types of their arguments
and the rows of the operator table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ._operators import Status

# An array of NumPy or of a framework with DLPack or the buffer protocol, a number, or a list of
# numbers.
Tensor = Any
# A name ("uint8"), a type or a dtype of NumPy's or of another framework.
DType = Any


class Error(ValueError):
    """A call that hewn refuses. The message names the argument and the rule; `status`, a member of
    hewn.Status, is the kind of rule. The call has written nothing."""

    status: Status

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> tuple[type[Error], tuple[Status, str]]:
        return type(self), (self.status, str(self))


class Operator(NamedTuple):
    """A row of the operator table. Inputs in order, the outputs last."""

    number: int
    command: str
    formula: str
    names: tuple[str, ...]
    roles: tuple[str, ...]
    optional: tuple[bool, ...]
    like: tuple[tuple[int, str], ...]  # the tensor whose type it has, -1: none; for integers' this
    mixed: tuple[bool, ...]  # whether it may be another float than that tensor
    types: tuple[tuple[str, ...], ...]  # of a tensor that is like no other
    signature: tuple[int, ...]  # the tensors whose types name a kernel
    block_size: int  # of the operator's format; 0: it has none
    keywords: tuple[str, ...]
    attributes: tuple[str, ...]
    choices: dict[str, tuple[str, ...]]  # the values of each attribute that is a choice
    parameters_of: dict[str, tuple[str, ...]]  # the values that need each other attribute, a number

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.names[: self.roles.index("output")]
