"""The tuned knobs: tuning/<target>.json, which tools/tune writes.

    {"halide": version, "target": name,
     "knobs": {<operator>[_<signature>]: {<form>: {<knob>: value}}}, ...}

The plan of an operator counts as one more form, named `plan`."""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from lists.declarations import Constraint, Form, Knob, Mistake, Operator, Signature, Target, by_name
from lists.knobs import CONSTRAINTS, KNOBS
from lists.signatures import KERNEL_OPERATORS, signatures_of

KNOB = by_name(KNOBS)


def kind_of(operator: Operator, form: str) -> str:
    """The kind of the knobs that a form has."""
    if form == "plan":
        return "plan"
    return "gpu" if operator.form[form].gpu else "kernel"


def space(kind: str, kernel: str) -> list[Knob]:
    """The knobs of this kind that a kernel has. `kernel`: <operator>_<signature>__<target>__<form>."""
    return [knob for knob in KNOBS if knob.kind == kind and re.search(knob.kernels, kernel)]


def constraints(kind: str, kernel: str) -> list[Constraint]:
    """The constraints that the knobs of this kind must fulfil for a kernel."""
    own = {knob.name for knob in space(kind, kernel)}
    return [one for one in CONSTRAINTS if re.search(one.kernels, kernel) and set(one.knobs) <= own]


class Tuning:
    """The tuned knobs of a target, from one file: its own, or else its family's, whose name is the
    longest beginning of the target's name: x86_64.json for x86_64_sse41. For GPUs the last one
    tried is gpu.json."""

    def __init__(self, folder: pathlib.Path, target: Target, halide: str, forms: Mapping[str, list[str]]):
        """`forms`: the names of the forms that each operator has on the target."""
        self.target = target
        self.file = find_file(folder, target)
        self.text = self.file.read_text(encoding="utf-8", errors="replace")
        try:
            whole = json.loads(self.text, object_pairs_hook=without_doubles)
            self.knobs: dict[str, dict[str, dict[str, int | str]]] = whole["knobs"]
            measured_with, written_for = whole["halide"], whole.get("target", self.file.stem)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Mistake(f"{self.file}: no tuning file: {error}") from error
        if measured_with != halide:
            raise Mistake(
                f"{self.file}: measured with Halide {measured_with}, this build uses {halide}: "
                f"set 'halide' to {halide} there, then tune again"
            )
        if written_for != self.file.stem:
            raise Mistake(f"{self.file}: tuned for the target {written_for}, not for {self.file.stem}")
        self._check(forms)

    def _check(self, forms: Mapping[str, list[str]]) -> None:
        """Fails unless every operator, signature, form, knob and value is in the lists, and every form is
        tuned where its knobs are read."""
        keys = {operator.name: operator for operator in KERNEL_OPERATORS}
        keys |= {f"{o.name}_{signature}": o for o in KERNEL_OPERATORS for signature in signatures_of(o)}
        # A family's file may tune forms that some of its targets lack.
        own = self.file.stem == self.target.name
        for key, tuned in self._members(self.knobs):
            if key not in keys:
                self._fail([key], "an operator or operator_signature", keys)
            operator = keys[key]
            known_forms = [*(forms[operator.name] if own else operator.form), "plan"]
            for form, knobs in self._members(tuned, key):
                if form not in known_forms:
                    owner = f"{operator.name} for {self.target.name}" if own else operator.name
                    self._fail([key, form], f"a form of {owner}", known_forms)
                if form != "plan" and operator.form[form].of:
                    self._fail_of_shared(key, operator, operator.form[form])
                known = {knob.name: knob for knob in KNOBS if knob.kind == kind_of(operator, form)}
                for knob, value in self._members(knobs, key, form):
                    if knob not in known:
                        self._fail([key, form, knob], f"a knob of {key} {form}", known)
                    if str(value) not in known[knob].words:
                        what = f"a value of the knob {knob} ({key} {form})"
                        self._fail([key, form, knob], what, known[knob].words, str(value))

    def _members(self, value: Any, *path: str) -> list[tuple[str, Any]]:
        """The members of `value`. Fails if it is not an object."""
        if not isinstance(value, dict):
            self._fail(path or ["knobs"], "an object", ["{...}"], json.dumps(value))
        return list(value.items())

    def _line(self, path: Sequence[str]) -> int:
        """The line of a member, by the names that lead to it. json gives no line numbers."""
        place = 0
        for member in ("knobs", *path):
            found = re.compile(rf'"{re.escape(member)}"\s*:').search(self.text, place)
            place = found.start() if found else place
        return self.text.count("\n", 0, place) + 1

    def _fail(self, path: Sequence[str], what: str, known: Iterable[str], word: str = "") -> NoReturn:
        """Fails with the line of the member at `path`. `word`: the member's value, if that is wrong."""
        found = word or path[-1]
        raise Mistake(f"{self.file}:{self._line(path)}: '{found}' is not {what}; expected one of: {' '.join(known)}")

    def _fail_of_shared(self, key: str, operator: Operator, form: Form) -> NoReturn:
        """Fails because `key`, of the operator, tunes a form that is another operator's. Only that
        operator's knobs are read for the form."""
        there = key.replace(operator.name, form.of, 1)
        raise Mistake(
            f"{self.file}:{self._line([key, form.name])}: '{form.name}' of {operator.name} is {form.of}'s form; "
            f"expected its knobs in '{there}'"
        )

    def knobs_of(self, operator: Operator, signature: Signature, form: str) -> dict[str, str]:
        """The values of a form's knobs: those of the signature, or else of the operator. For a plan the
        result also has the default of each knob that is not tuned. For a kernel it does not, because
        the generator has the defaults."""
        kind, kernel = kind_of(operator, form), f"{operator.name}_{signature}__{self.target.name}__{form}"
        own = {knob.name: knob for knob in space(kind, kernel)}
        values = {name: knob.words[0] for name, knob in own.items()} if form == "plan" else {}
        path = [operator.name, form]
        for key in (operator.name, f"{operator.name}_{signature}"):
            for knob, value in sorted(self.knobs.get(key, {}).get(form, {}).items()):
                path = [key, form, knob]
                if knob not in own:
                    self._fail(path, f"a knob of {kernel} ({KNOB[knob].where})", own)
                if form != "plan":
                    values.pop(knob, None)  # a signature's own value stands last
                values[knob] = str(value)
        complete = {name: knob.words[0] for name, knob in own.items()} | values
        for constraint in constraints(kind, kernel):
            typed = {name: int(word) if word.isdigit() else word for name, word in complete.items()}
            if not eval(constraint.condition, {"__builtins__": {}}, typed):
                raise Mistake(
                    f"{self.file}:{self._line(path)}: the knobs of {kernel} do not fulfil {constraint.condition} "
                    f"({constraint.where}): {constraint.why}"
                )
        return values


def without_doubles(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in members:
        if name in found:
            raise ValueError(f"'{name}' stands there twice")
        found[name] = value
    return found


def find_file(folder: pathlib.Path, target: Target) -> pathlib.Path:
    """The target's tuning file: the first that exists of those that Tuning describes."""
    if not folder.is_dir():
        raise Mistake(f"HEWN_TUNING_DIR: {folder} is not a folder")
    words = target.name.split("_")
    names = ["_".join(words[:count]) for count in range(len(words), 0, -1)]
    files = [folder / f"{name}.json" for name in [*names, *(["gpu"] if target.device else [])]]
    for file in files:
        if file.exists():
            return file
    tried = ", ".join(file.name for file in files)
    raise Mistake(f"HEWN_TUNING_DIR: {folder} has no file for {target.name}, none of {tried}")
