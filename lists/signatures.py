"""The signatures of operators: the combinations of data types that their kernels exist for."""

import itertools
from collections.abc import Collection

from lists.data_types import CODES, DATA_TYPES, FEATURE_LEVELS
from lists.declarations import DataType, Level, Operator, Signature, by_name
from lists.operators import OPERATORS

DATA_TYPE = by_name(DATA_TYPES)
# The operators that have kernels of their own.
KERNEL_OPERATORS = [operator for operator in OPERATORS if not operator.kernels]


def signatures_of(operator: Operator, levels: Collection[str] = FEATURE_LEVELS) -> list[Signature]:
    """The signatures of the operator's kernels: every combination of its kernels' types, by the newest
    of these feature levels. Integers have no kernels to small floats: they are converted to f32."""
    level = next((level for level in operator.levels if level.name in levels), None)
    if level is None or operator.kernels:
        return []
    types = [kernel_types(operator, level, operator.typed(name)) for name in operator.signature]
    signatures = [Signature(combination) for combination in itertools.product(*types)]
    signatures = [one for one in signatures if one.output != CODES or one.input.kind == "f"]
    if operator.one_width:
        signatures = [one for one in signatures if len({t.bits for t in one.types}) == 1]
    return signatures


def kernel_types(operator: Operator, level: Level, tensor: str) -> list[DataType]:
    """The types of a tensor that have kernels of their own. Others are converted: those of `as_f32`, and
    sub-byte types. Kernels take small floats as codes."""
    types: dict[DataType, None] = {}
    for word in level.words(tensor):
        data_type = DATA_TYPE[word]
        if word in operator.as_f32.split() or (operator.wraps and data_type.kind == "u"):
            continue
        if data_type.small_float:
            types[CODES] = None
        elif data_type.bits >= 8:
            types[data_type] = None
    return list(types)
