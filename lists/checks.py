"""Checks of what the declarations in the lists say about each other. A declaration by itself is
checked when it is made (lists/declarations.py)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lists.chips import CHIPS
from lists.data_types import DATA_TYPES, FEATURE_LEVELS
from lists.declarations import Constraint, Declaration, Knob, Target, by_name
from lists.knobs import CONSTRAINTS, KNOBS
from lists.onnx_nodes import ONNX_NODES
from lists.operators import OPERATORS
from lists.pass_kernels import PASS_KERNELS
from lists.signatures import KERNEL_OPERATORS, signatures_of
from lists.targets import TARGETS
from lists.transpositions import TRANSPOSITIONS


def check_lists() -> None:
    """Fails at the first declaration that contradicts another one, or names one that does not exist."""
    for declarations in (DATA_TYPES, OPERATORS, TARGETS, KNOBS, CHIPS, PASS_KERNELS, TRANSPOSITIONS):
        by_name(declarations)
    check_unique(DATA_TYPES, "number")
    check_unique(OPERATORS, "number")
    check_unique(OPERATORS, "command")
    check_operators()
    check_forms()
    check_targets()
    check_chips()
    check_knobs()
    check_helpers()


def check_unique(declarations: Sequence[Declaration], member: str) -> None:
    seen: dict[object, Declaration] = {}
    for one in declarations:
        other = seen.setdefault(getattr(one, member), one)
        if other is not one:
            one.fail(f"{other.where} has the same {member}")


def check_operators() -> None:
    types = by_name(DATA_TYPES)
    nodes = {f"{node.domain}.{node.name}" for node in ONNX_NODES}
    for operator in OPERATORS:
        operator.must_be("an operator with forms", filter(None, [operator.kernels]), by_name(KERNEL_OPERATORS))
        operator.must_be("a node of lists/onnx_nodes.py", filter(None, [operator.onnx]), nodes)
        operator.must_be("a data type", operator.as_f32.split(), types)
        for tensor in operator.tensors:
            tensor.must_be("a data type", [*filter(None, [tensor.integers]), *tensor.others.split()], types)
            tensor.must_be("a feature level", filter(None, [tensor.optional]), FEATURE_LEVELS)
        for attribute in operator.attributes:
            levels = filter(None, [attribute.since, *attribute.newer.values()])
            attribute.must_be("a feature level", levels, FEATURE_LEVELS)
        newer = len(FEATURE_LEVELS)
        for level in operator.levels:
            level.must_be("a feature level", [level.name], FEATURE_LEVELS)
            level.must_be("a data type", " ".join(level.types.values()).split(), types)
            if FEATURE_LEVELS.index(level.name) >= newer:
                level.fail("levels stand with the newest first")
            newer = FEATURE_LEVELS.index(level.name)
    for node in ONNX_NODES:
        node.must_be("an operator", [node.operator], by_name(OPERATORS))


def check_forms() -> None:
    operators = by_name(OPERATORS)
    features = {feature for target in TARGETS for feature in target.all_features}
    for operator in KERNEL_OPERATORS:
        names = possible_kernels(operator.name)
        for form in operator.forms:
            form.must_be("a feature level", filter(None, [form.since]), FEATURE_LEVELS)
            form.must_be("a feature of a target", filter(None, [form.needs, *form.without]), features)
            form.must_be("an operator", filter(None, [form.of]), operators)
            if form.of:
                form.must_be(f"a form of {form.of}", [form.name], operators[form.of].form)
                other = operators[form.of].form[form.name]
                if (other.layouts, other.without, other.gpu) != (form.layouts, form.without, form.gpu):
                    form.fail(f"its layouts, features and kind of device must be those at {other.where}")
            kernels = [name for name in names if name.endswith(f"__{form.name}")]
            if not kernels:
                form.fail("no kernel has it: no target and signature fit what it needs")
            # What llvm_args' expressions must match: <signature>__<target> of each kernel.
            compiled = [name.rpartition("__")[0].removeprefix(f"{operator.name}_") for name in kernels]
            for expression in form.llvm_args:
                if not any(re.search(expression, name) for name in compiled):
                    form.fail(f"llvm_args: '{expression}' matches no kernel")


def possible_kernels(operator_name: str = "") -> list[str]:
    """<operator>_<signature>__<target>__<form> of all kernels that a build may have, for one operator
    or, without a name, for all. `plan` counts as one more form."""
    names = []
    for operator in KERNEL_OPERATORS:
        if operator_name not in ("", operator.name):
            continue
        for signature in signatures_of(operator):
            for target in TARGETS:
                if target.only and not target.only(operator.name, signature):
                    continue
                variant = f"{operator.name}_{signature}__{target.name}"
                names.append(f"{variant}__plan")
                for form in operator.forms:
                    if target.can_have(form) and (not form.only or form.only(signature)):
                        names.append(f"{variant}__{form.name}")
    return names


def check_targets() -> None:
    """Fails unless priorities ascend among the targets between which dispatch may choose."""
    highest: dict[str, Target] = {}
    for target in TARGETS:
        lower = highest.get(target.arch or target.device)
        if lower and lower.priority >= target.priority:
            target.fail(f"its priority is not above that of {lower.name}, which stands before it")
        highest[target.arch or target.device] = target


def check_chips() -> None:
    for chip in CHIPS[:-1]:
        first, last = chip.amd
        if not first:
            chip.fail("it is for every chip, so that the rows after it are never used")
        if isinstance(last, int) and last < first:
            chip.fail(f"no family is between {first:#x} and {last:#x}")
    if CHIPS[-1].amd[0]:
        CHIPS[-1].fail("the last row must be for every chip")


def check_knobs() -> None:
    kernels = possible_kernels()
    expressions: list[Knob | Constraint] = [*KNOBS, *CONSTRAINTS]
    for limited in expressions:
        if not any(re.search(limited.kernels, kernel) for kernel in kernels):
            limited.fail(f"no kernel matches '{limited.kernels}'")
    knobs = by_name(KNOBS)
    for constraint in CONSTRAINTS:
        constraint.must_be("a knob", constraint.knobs, knobs)
        texts = [value for value in constraint.values if isinstance(value, str)]
        constraint.must_be("a value of its knobs", texts, [w for name in constraint.knobs for w in knobs[name].words])


def check_helpers() -> None:
    for kernel in PASS_KERNELS:
        for word in kernel.operators:
            operator_name, _, level_name = word.partition("=")
            kernel.must_be("an operator with forms", [operator_name], by_name(KERNEL_OPERATORS))
            kernel.must_be("a feature level", filter(None, [level_name]), FEATURE_LEVELS)
    targets = by_name(TARGETS)
    for transposition in TRANSPOSITIONS:
        transposition.must_be("a data type", [transposition.element], by_name(DATA_TYPES))
        transposition.must_be("a target", filter(None, [transposition.target]), targets)
    priorities = [targets[one.target].priority if one.target else 0 for one in TRANSPOSITIONS]
    for i in range(1, len(priorities)):
        if priorities[i] < priorities[i - 1]:
            TRANSPOSITIONS[i].fail("transpositions stand in ascending priority")
