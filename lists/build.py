"""What one build takes from the lists. Operators, signatures and targets make variants, between
which dispatch chooses; each form of a variant is a kernel, one compiled function. Writes nothing."""

from __future__ import annotations

import itertools
import pathlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from lists.data_types import DATA_TYPES, FEATURE_LEVELS
from lists.declarations import (
    Constraint,
    Form,
    Knob,
    Mistake,
    Operator,
    Signature,
    Stage,
    Target,
    Transposition,
    by_name,
    nearest,
)
from lists.helpers import STAGES, TRANSPOSITIONS
from lists.knobs import CONSTRAINTS, KNOBS
from lists.onnx_nodes import ONNX_NODES
from lists.operators import OPERATORS
from lists.targets import TARGETS
from lists.tuning import Tuning

DATA_TYPE, OPERATOR, TARGET = by_name(DATA_TYPES), by_name(OPERATORS), by_name(TARGETS)
# Those with kernels of their own.
KERNEL_OPERATORS = [operator for operator in OPERATORS if not operator.kernels]


def signatures_of(operator: Operator, levels: Collection[str] = FEATURE_LEVELS) -> list[Signature]:
    """The signatures of the operator's kernels: every combination of the types of whole bytes that
    the newest of these levels allows."""
    level = next((level for level in operator.levels if level.name in levels), None)
    if level is None or operator.kernels:
        return []
    types = [
        [
            DATA_TYPE[word]
            for word in level.words(operator.tensor[name].like or name)
            if DATA_TYPE[word].bits >= 8 and not (operator.wraps and DATA_TYPE[word].kind == "u")
        ]
        for name in operator.signature
    ]
    signatures = [Signature(combination) for combination in itertools.product(*types)]
    if operator.one_width:
        signatures = [one for one in signatures if len({t.bits for t in one.types}) == 1]
    return signatures


def check_lists() -> None:
    """Fails if a declaration names another one that does not exist."""
    for operator in OPERATORS:
        operator.must_be("operator with forms", filter(None, [operator.kernels]), by_name(KERNEL_OPERATORS))
        for tensor in operator.tensors:
            tensor.must_be("data type", filter(None, [tensor.integers]), DATA_TYPE)
            tensor.must_be("feature level", filter(None, [tensor.optional]), FEATURE_LEVELS)
        for attribute in operator.attributes:
            attribute.must_be("feature level", [attribute.since], FEATURE_LEVELS)
        for level in operator.levels:
            level.must_be("feature level", [level.name], FEATURE_LEVELS)
            level.must_be("data type", " ".join(level.types.values()).split(), DATA_TYPE)
        for form in operator.forms:
            form.must_be("feature level", filter(None, [form.since]), FEATURE_LEVELS)
            form.must_be("operator", filter(None, [form.of]), OPERATOR)
            if form.of:
                form.must_be(f"form of {form.of}", [form.name], OPERATOR[form.of].form)
    features = {word for target in TARGETS for word in f"{target.features} {target.always}".split()}
    for operator in KERNEL_OPERATORS:
        for form in operator.forms:
            form.must_be("feature of a target", filter(None, [form.needs, *form.without]), features)
    for node in ONNX_NODES:
        node.must_be("operator", [node.operator], OPERATOR)
    for stage in STAGES:
        for word in stage.operators:
            operator_name, _, level_name = word.partition("=")
            stage.must_be("operator", [operator_name], OPERATOR)
            stage.must_be("feature level", filter(None, [level_name]), FEATURE_LEVELS)
    for transposition in TRANSPOSITIONS:
        transposition.must_be("data type", [transposition.element], DATA_TYPE)
        transposition.must_be("target", filter(None, [transposition.target]), TARGET)
    # An expression that matches nothing is probably mistyped.
    kernels = [
        f"{operator.name}_{signature}__{target.name}__{form.name}"
        for operator in KERNEL_OPERATORS
        for signature in signatures_of(operator)
        for target in TARGETS
        for form in operator.forms
    ]
    expressions: list[Knob | Constraint] = [*KNOBS, *CONSTRAINTS]
    for limited in expressions:
        if not any(re.search(limited.kernels, kernel) for kernel in kernels):
            limited.fail(f"no kernel matches '{limited.kernels}'")


# A target has its base's features from here on.
for place, target_with_base in enumerate(TARGETS):
    target_with_base.inherit(by_name(TARGETS[:place]))


# ---- Options ----


@dataclass
class Options:
    """The options of a build, HEWN_OPERATORS and so on, and its platform."""

    arch: str  # in Halide's words, as `system`
    system: str
    halide: str  # the version
    tuning: pathlib.Path  # the folder of the tuning files
    operators: Sequence[str] = ()
    signatures: Sequence[str] = ()
    targets: Sequence[str] = ()
    feature_level: str = "hewn"
    cross: bool = False


def choose(
    option: str, wanted: Sequence[str], known: Sequence[str], groups: dict[str, list[str]] | None = None
) -> list[str]:
    """The wanted names in the order of the known ones; all known ones if nothing is wanted. A group
    is a word that stands for several names."""
    groups = groups or {}
    words = [*groups, *known]
    for name in wanted:
        if name in words:
            continue
        close = nearest(name, words)
        if close:
            raise Mistake(f"{option}: '{name}' is not known; did you mean {close}?")
        if len(words) > 30:
            raise Mistake(
                f"{option}: '{name}' is not one of the {len(words)} names known: docs/operators.md explains them"
            )
        raise Mistake(f"{option}: '{name}' is not one of: {' '.join(words)}")
    chosen = {one for name in wanted for one in groups.get(name, [name])}
    return [name for name in known if name in chosen or not wanted]


# ---- Variants and kernels ----


@dataclass(eq=False)
class Variant:
    """An operator for a signature on a target. `plan` has the knobs of its plans."""

    operator: Operator
    signature: Signature
    target: Target
    halide_target: str
    plan: dict[str, str]
    kernels: dict[str, Kernel] = field(default_factory=dict)  # by form

    @property
    def name(self) -> str:
        return f"{self.operator.name}_{self.signature}__{self.target.name}"


@dataclass(eq=False)
class Kernel:
    """One form of a variant. Code that is the same is built once: the kernel's function is that of
    `owner`, which may be the kernel itself."""

    variant: Variant
    form: Form
    halide_target: str
    knobs: dict[str, str]
    owner: Kernel = field(init=False)

    def __post_init__(self) -> None:
        self.owner = self

    @property
    def name(self) -> str:
        return f"{self.variant.name}__{self.form.name}"

    @property
    def function(self) -> str:
        return f"hewnk_{self.owner.name}"

    @property
    def entry(self) -> str:
        """The symbol by which the runtime calls it."""
        return self.function + ("_argv" if self.form.gpu else "")

    @property
    def generator(self) -> str:
        return f"{self.form.of or self.variant.operator.name}_{self.form.name}"

    @property
    def llvm_args(self) -> str:
        form = OPERATOR[self.form.of].form[self.form.name] if self.form.of else self.form
        return form.arguments_for_llvm(self.variant.signature, self.variant.target.name)


class Build:
    """What a build has of the lists: its operators, signatures, targets, stages, transpositions and
    variants."""

    def __init__(self, options: Options):
        check_lists()
        self.options = options
        if options.feature_level not in FEATURE_LEVELS:
            raise Mistake(
                f"HEWN_FEATURE_LEVEL: '{options.feature_level}' is not one of: {' '.join(FEATURE_LEVELS)}"
            )
        self.levels = FEATURE_LEVELS[: FEATURE_LEVELS.index(options.feature_level) + 1]
        chosen = choose("HEWN_OPERATORS", options.operators, [operator.name for operator in KERNEL_OPERATORS])
        self.operators = [operator for operator in KERNEL_OPERATORS if operator.name in chosen]
        known = [f"{o.name}_{one}" for o in KERNEL_OPERATORS for one in signatures_of(o, self.levels)]
        self.signatures = choose("HEWN_SIGNATURES", options.signatures, known)
        self.possible_targets = [target for target in TARGETS if self._is_possible(target)]
        self.targets = [
            target
            for target in self._chosen_targets()
            if any(self.signatures_on(operator, target) for operator in self.operators)
        ]
        if not self.targets:
            raise Mistake(
                "HEWN_OPERATORS, HEWN_SIGNATURES, HEWN_FEATURE_LEVEL and HEWN_TARGETS leave no variant to build"
            )
        self.stages = self._chosen_stages()
        self.transpositions = self._chosen_transpositions()
        self.variants = self._resolved_variants()

    @property
    def kernels(self) -> list[Kernel]:
        return [kernel for variant in self.variants for kernel in variant.kernels.values()]

    # ---- What is chosen ----

    def _is_possible(self, target: Target) -> bool:
        """Whether the platform can have the target."""
        if target.device:
            return target.system in ("", f"{self.options.arch}-{self.options.system}")
        return target.arch == self.options.arch

    def _chosen_targets(self) -> list[Target]:
        names = [target.name for target in self.possible_targets]
        gpus = [target.name for target in self.possible_targets if target.device]
        cpus = [name for name in names if name not in gpus]
        chosen = choose("HEWN_TARGETS", self.options.targets, names, {"cpu": cpus, "gpu": gpus})
        if self.options.cross and not self.options.targets:
            # What GPUs need of the other system is not known here, so they are built on request.
            chosen = cpus
        return [TARGET[name] for name in chosen]

    def forms(self, operator: Operator, target: Target, signature: Signature | None = None) -> list[Form]:
        """The forms that the operator has on the target, for a signature or for any."""
        features = f"{target.features} {target.always}".split()

        def exists(form: Form) -> bool:
            if form.gpu != bool(target.device) or (form.needs and form.needs not in features):
                return False
            if signature is None:
                return True
            return (form.only is None or form.only(signature)) and (not form.since or form.since in self.levels)

        return [form for form in operator.forms if exists(form)]

    def signatures_on(self, operator: Operator, target: Target) -> list[Signature]:
        """The operator's signatures that are built for the target."""
        return [
            signature
            for signature in signatures_of(operator)
            if f"{operator.name}_{signature}" in self.signatures
            and (target.only is None or target.only(operator.name, signature))
            and self.forms(operator, target, signature)
        ]

    def _chosen_transpositions(self) -> list[tuple[Transposition, int]]:
        """The transpositions that the variants may call, with the ranks of their targets: those of
        the widths of their elements, and of no target above all of theirs."""
        cpus = [target for target in self.targets if not target.device]
        signatures = [s for target in cpus for operator in self.operators for s in self.signatures_on(operator, target)]
        # The runtime lists transpositions even in a build only for GPUs.
        bits = {one.bits for signature in signatures for one in signature.types} or {32}
        highest = max((target.rank for target in cpus), default=0)
        chosen = []
        for transposition in TRANSPOSITIONS:
            target = TARGET.get(transposition.target)
            rank = target.rank if target else 0
            possible = not target or target in self.possible_targets
            if possible and rank <= highest and transposition.bits in bits:
                chosen.append((transposition, rank))
        return chosen

    def _chosen_stages(self) -> list[tuple[Stage, Target]]:
        built = {
            operator.name
            for operator in self.operators
            if any(f"{operator.name}_{signature}" in self.signatures for signature in signatures_of(operator))
        }
        built |= {f"{name}={level}" for name in built for level in self.levels}
        lowest: dict[str, Target] = {}
        for target in self.targets:
            if target.device:
                lowest.setdefault(target.device, target)
        return [(stage, target) for target in lowest.values() for stage in STAGES if built & set(stage.operators)]

    # ---- What it is compiled for ----

    def halide_target(
        self, target: Target, signature: Signature | None = None, without: Collection[str] = ()
    ) -> str:
        """A target in Halide's words, for kernels of a signature and without some features."""
        features = target.features.split()
        if signature and signature.has("f16"):
            features += target.f16_features.split()
        features = [feature for feature in features if feature not in without]
        return "-".join([self.options.arch, self.options.system, *features])

    @property
    def lowest_halide_target(self) -> str:
        """That of the architecture's lowest target, whether it is built or not."""
        return self.halide_target(next(target for target in self.possible_targets if not target.device))

    def _tuning(self, target: Target) -> Tuning:
        forms = {operator.name: [form.name for form in self.forms(operator, target)] for operator in KERNEL_OPERATORS}
        return Tuning(self.options.tuning, target, self.options.halide, KERNEL_OPERATORS, signatures_of, forms)

    def _resolved_variants(self) -> list[Variant]:
        """All variants, by target in ascending rank."""
        variants: dict[str, Variant] = {}
        for target in self.targets:
            tuning = self._tuning(target)
            for operator in self.operators:
                for signature in self.signatures_on(operator, target):
                    plan = tuning.knobs_of(operator.name, signature, target, "plan")
                    variant = Variant(operator, signature, target, self.halide_target(target, signature), plan)
                    for form in self.forms(operator, target, signature):
                        knobs = tuning.knobs_of(form.of or operator.name, signature, target, form.name)
                        halide_target = self.halide_target(target, signature, form.without)
                        variant.kernels[form.name] = Kernel(variant, form, halide_target, knobs)
                    variants[variant.name] = variant
        for variant in variants.values():
            for kernel in variant.kernels.values():
                kernel.owner = self._owner(kernel, variants)
        return list(variants.values())

    def _owner(self, kernel: Kernel, variants: dict[str, Variant]) -> Kernel:
        """The kernel whose function is the same: that of the lowest target which is compiled alike
        and runs wherever this kernel's does; else that of the operator that the form is `of`, if
        that is built."""
        operator, signature, target = kernel.variant.operator, kernel.variant.signature, kernel.variant.target

        def find(operator_name: str, on: Target) -> Kernel | None:
            variant = variants.get(f"{operator_name}_{signature}__{on.name}")
            return variant.kernels.get(kernel.form.name) if variant else None

        for lower in self.targets[: self.targets.index(target)]:
            other = find(operator.name, lower)
            if (
                other
                and other.halide_target == kernel.halide_target
                and other.knobs == kernel.knobs
                and set(lower.probe.split()) <= set(target.probe.split())
            ):
                return other.owner
        other = find(kernel.form.of, target)
        return other.owner if other else kernel
