"""The signatures of operators: the combinations of data types that their kernels exist for."""

import itertools
from collections.abc import Collection

from lists.data_types import DATA_TYPES, FEATURE_LEVELS
from lists.declarations import Operator, Signature, by_name
from lists.operators import OPERATORS

DATA_TYPE = by_name(DATA_TYPES)
# The operators that have kernels of their own.
KERNEL_OPERATORS = [operator for operator in OPERATORS if not operator.kernels]


def signatures_of(operator: Operator, levels: Collection[str] = FEATURE_LEVELS) -> list[Signature]:
    """The signatures of the operator's kernels: every combination of the types that the newest of
    these feature levels allows, without the types whose elements are converted for the kernels:
    sub-byte types, and `as_f32`."""
    level = next((level for level in operator.levels if level.name in levels), None)
    if level is None or operator.kernels:
        return []
    types = [
        [
            DATA_TYPE[word]
            for word in level.words(operator.typed(name))
            if DATA_TYPE[word].bits >= 8
            and word not in operator.as_f32.split()
            and not (operator.wraps and DATA_TYPE[word].kind == "u")
        ]
        for name in operator.signature
    ]
    signatures = [Signature(combination) for combination in itertools.product(*types)]
    if operator.one_width:
        signatures = [one for one in signatures if len({t.bits for t in one.types}) == 1]
    return signatures
