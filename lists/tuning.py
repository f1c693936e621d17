"""The tuned knobs: tuning/<target>.json, which tools/tune writes.

    {"halide": version, "target": name,
     "knobs": {<operator>[_<signature>]: {<form>: {<knob>: value}}}, ...}

The plan of an operator is one more form there."""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NoReturn

from lists.declarations import Knob, Mistake, Operator, Signature, Target, by_name
from lists.knobs import CONSTRAINTS, KNOBS

KNOB = by_name(KNOBS)


def kind_of(operator: Operator, form: str) -> str:
    """The kind of knobs that a form has."""
    if form == "plan":
        return "plan"
    return "gpu" if operator.form[form].gpu else "kernel"


def space(kind: str, kernel: str) -> list[Knob]:
    """The knobs of a kernel, <operator>_<signature>__<target>__<form>, whose form has that kind."""
    return [knob for knob in KNOBS if knob.kind == kind and re.search(knob.kernels, kernel)]


def conditions(kind: str, kernel: str) -> list[str]:
    """The conditions that its knobs must fulfil."""
    own = {knob.name for knob in space(kind, kernel)}
    return [
        constraint.condition
        for constraint in CONSTRAINTS
        if re.search(constraint.kernels, kernel)
        and set(KNOB) & set(re.findall(r"\w+", constraint.condition)) <= own
    ]


class Tuning:
    """The tuned knobs of a target: of its own file, else of its family's, which is that of the
    longest beginning of the name: x86_64.json for x86_64_sse41. GPUs also have gpu.json."""

    def __init__(
        self,
        folder: pathlib.Path,
        target: Target,
        halide: str,
        operators: Sequence[Operator],
        signatures_of: Callable[[Operator], Iterable[Signature]],
        forms: Mapping[str, list[str]],
    ):
        """`forms`: the names of those that each operator has on the target."""
        self.file = find_file(folder, target)
        self.text = self.file.read_text(encoding="utf-8")
        try:
            whole = json.loads(self.text)
            self.knobs: dict[str, dict[str, dict[str, int | str]]] = whole["knobs"]
            measured_with, written_for = whole["halide"], whole.get("target", self.file.stem)
        except (ValueError, KeyError, TypeError) as error:
            raise Mistake(f"{self.file}: no tuning file: {error}") from error
        if measured_with != halide:
            raise Mistake(
                f"{self.file}: measured with Halide {measured_with}, this build uses {halide}: tune again"
            )
        if written_for != self.file.stem:
            raise Mistake(f"{self.file}: tuned for the target {written_for}, not for {self.file.stem}")
        keys = {operator.name: operator for operator in operators}
        keys |= {f"{operator.name}_{one}": operator for operator in operators for one in signatures_of(operator)}
        for key in self.knobs:
            if key not in keys:
                self._fail([key], "an operator or operator_signature", keys)
            operator = keys[key]
            # A family's file may tune forms that some of its targets lack.
            if self.file.stem == target.name:
                self._check(key, operator, forms[operator.name], f"{operator.name} for {target.name}")
            else:
                self._check(key, operator, list(operator.form), operator.name)

    def _check(self, key: str, operator: Operator, forms: list[str], owner: str) -> None:
        """Fails unless every form, knob and value is in the lists."""
        for form, knobs in self.knobs[key].items():
            if form not in [*forms, "plan"]:
                self._fail([key, form], f"a form of {owner}", [*forms, "plan"])
            known = {knob.name: knob for knob in KNOBS if knob.kind == kind_of(operator, form)}
            for knob, value in knobs.items():
                if knob not in known:
                    self._fail([key, form, knob], f"a knob of {key} {form}", known)
                if str(value) not in known[knob].words:
                    what = f"a value of the knob {knob} ({key} {form})"
                    self._fail([key, form, knob], what, known[knob].words, str(value))

    def _fail(self, path: Sequence[str], what: str, known: Iterable[str], word: str = "") -> NoReturn:
        """The member at `path` is not `what`; or its value, `word`, is not."""
        # The reader of JSON tells no lines.
        place = 0
        for member in ("knobs", *path):
            found = re.compile(rf'"{re.escape(member)}"\s*:').search(self.text, place)
            place = found.start() if found else place
        line = self.text.count("\n", 0, place) + 1
        raise Mistake(f"{self.file}:{line}: '{word or path[-1]}' is not {what}; these are: {' '.join(known)}")

    def knobs_of(self, operator: str, signature: Signature, target: Target, form: str) -> dict[str, str]:
        """The values of a form's knobs: the signature's, else the operator's. A plan also has the
        default of each knob that is not tuned; a kernel's defaults are the generator's."""
        values = {knob.name: knob.words[0] for knob in KNOBS if knob.kind == "plan"} if form == "plan" else {}
        kernel = f"{operator}_{signature}__{target.name}__{form}"
        for key in (operator, f"{operator}_{signature}"):
            for knob, value in sorted(self.knobs.get(key, {}).get(form, {}).items()):
                if not re.search(KNOB[knob].kernels, kernel):
                    raise Mistake(f"{self.file}: '{knob}' is not a knob of {kernel} ({KNOB[knob].where})")
                if form != "plan":
                    values.pop(knob, None)  # a signature's own value stands last
                values[knob] = str(value)
        return values


def find_file(folder: pathlib.Path, target: Target) -> pathlib.Path:
    """The target's tuning file."""
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
