"""The part of the lists that one build uses. Each operator, signature and target make a variant;
dispatch chooses between variants. Each form of a variant is a kernel here: one compiled function.
This module writes no files."""

from __future__ import annotations

import pathlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from lists.checks import check_lists
from lists.data_types import FEATURE_LEVELS
from lists.declarations import Form, Mistake, Operator, PassKernel, Signature, Target, Transposition, by_name, nearest
from lists.operators import OPERATORS
from lists.pass_kernels import PASS_KERNELS
from lists.signatures import KERNEL_OPERATORS, signatures_of
from lists.targets import TARGETS
from lists.transpositions import TRANSPOSITIONS
from lists.tuning import Tuning

OPERATOR, TARGET = by_name(OPERATORS), by_name(TARGETS)


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
    is a word that stands for several names. Fails if a name is not known; `option` is for the message."""
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


# ---- Variants, kernels and other functions ----


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
    """One form of a variant. Equal code is built once: the kernel's function is the one of `owner`,
    which is the kernel itself unless another kernel is compiled in the same way."""

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
    def generator(self) -> str:
        return f"{self.form.of or self.variant.operator.name}_{self.form.name}"

    @property
    def llvm_args(self) -> str:
        form = OPERATOR[self.form.of].form[self.form.name] if self.form.of else self.form
        return form.arguments_for_llvm(self.variant.signature, self.variant.target.name)


@dataclass(eq=False)
class BuiltTransposition:
    """A transposition, and the priority from which on targets use it."""

    function: Transposition
    priority: int
    halide_target: str


@dataclass(eq=False)
class BuiltPassKernel:
    """A pass kernel, for the lowest target of a kind of GPU."""

    function: PassKernel
    target: Target
    halide_target: str

    @property
    def name(self) -> str:
        return f"pass_{self.function.name}__{self.target.name}"


class Build:
    """What a build has: operators, signatures, targets, pass kernels, transpositions and variants."""

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
        self._chosen_signatures = set(choose("HEWN_SIGNATURES", options.signatures, known))
        self._possible_targets = [target for target in TARGETS if self._is_possible(target)]
        self.targets = [
            target
            for target in self._chosen_targets()
            if any(self._signatures_on(operator, target) for operator in self.operators)
        ]
        if not self.targets:
            raise Mistake(
                "HEWN_OPERATORS, HEWN_SIGNATURES, HEWN_FEATURE_LEVEL and HEWN_TARGETS leave no variant to build"
            )
        self.pass_kernels = self._resolved_pass_kernels()
        self.transpositions = self._resolved_transpositions()
        self.variants = self._resolved_variants()

    @property
    def signatures(self) -> list[str]:
        """<operator>_<signature> of all variants."""
        return list(dict.fromkeys(f"{variant.operator.name}_{variant.signature}" for variant in self.variants))

    @property
    def own_kernels(self) -> list[Kernel]:
        """The kernels whose functions are built."""
        kernels = [kernel for variant in self.variants for kernel in variant.kernels.values()]
        return [kernel for kernel in kernels if kernel.owner is kernel]

    # ---- What is chosen ----

    def _is_possible(self, target: Target) -> bool:
        """Whether the platform can have the target."""
        if target.device:
            return target.system in ("", f"{self.options.arch}-{self.options.system}")
        return target.arch == self.options.arch

    def _chosen_targets(self) -> list[Target]:
        names = [target.name for target in self._possible_targets]
        gpus = [target.name for target in self._possible_targets if target.device]
        cpus = [name for name in names if name not in gpus]
        chosen = choose("HEWN_TARGETS", self.options.targets, names, {"cpu": cpus, "gpu": gpus})
        if self.options.cross and not self.options.targets:
            # It is not known here what GPUs need on the other system, so they are built on request.
            chosen = cpus
        return [TARGET[name] for name in chosen]

    def _forms(self, operator: Operator, target: Target, signature: Signature) -> list[Form]:
        """The forms of the operator's kernels of the signature on the target."""
        return [
            form
            for form in operator.forms
            if target.can_have(form)
            and (form.only is None or form.only(signature))
            and (not form.since or form.since in self.levels)
        ]

    def _signatures_on(self, operator: Operator, target: Target) -> list[Signature]:
        """The operator's signatures that are built for the target."""
        return [
            signature
            for signature in signatures_of(operator)
            if f"{operator.name}_{signature}" in self._chosen_signatures
            and (target.only is None or target.only(operator.name, signature))
            and self._forms(operator, target, signature)
        ]

    # ---- What it is compiled for ----

    def halide_target(self, target: Target, signature: Signature | None = None, without: Collection[str] = ()) -> str:
        """A target in Halide's words, for kernels of a signature and without some features."""
        features = target.features.split()
        if signature and (signature.has("f16") or signature.has("f8")):
            features += target.f16_features.split()
        features = [feature for feature in features if feature not in without]
        return "-".join([self.options.arch, self.options.system, *features])

    def _resolved_transpositions(self) -> list[BuiltTransposition]:
        """The transpositions for the widths of the CPU variants' elements, without those for targets
        above the highest CPU target of the build."""
        cpus = [target for target in self.targets if not target.device]
        bits = {
            one.bits
            for target in cpus
            for operator in self.operators
            for signature in self._signatures_on(operator, target)
            for one in signature.types
        }
        bits = bits or {32}  # the runtime lists transpositions even in a build only for GPUs
        highest = max((target.priority for target in cpus), default=0)
        # The architecture's lowest target, whether it is built or not.
        lowest = next(target for target in self._possible_targets if not target.device)
        resolved = []
        for transposition in TRANSPOSITIONS:
            target = TARGET[transposition.target] if transposition.target else lowest
            priority = target.priority if transposition.target else 0
            if target in self._possible_targets and priority <= highest and transposition.bits in bits:
                resolved.append(BuiltTransposition(transposition, priority, self.halide_target(target)))
        return resolved

    def _resolved_pass_kernels(self) -> list[BuiltPassKernel]:
        built = {
            operator.name
            for operator in self.operators
            if any(f"{operator.name}_{signature}" in self._chosen_signatures for signature in signatures_of(operator))
        }
        built |= {f"{name}={level}" for name in built for level in self.levels}
        lowest: dict[str, Target] = {}
        for target in self.targets:
            if target.device:
                lowest.setdefault(target.device, target)
        return [
            BuiltPassKernel(kernel, target, self.halide_target(target))
            for target in lowest.values()
            for kernel in PASS_KERNELS
            if built & set(kernel.operators)
        ]

    def _resolved_variants(self) -> list[Variant]:
        """All variants, by target in ascending priority."""
        variants: dict[str, Variant] = {}
        for target in self.targets:
            forms = {
                operator.name: [form.name for form in operator.forms if target.can_have(form)]
                for operator in KERNEL_OPERATORS
            }
            tuning = Tuning(self.options.tuning, target, self.options.halide, forms)
            for operator in self.operators:
                for signature in self._signatures_on(operator, target):
                    plan = tuning.knobs_of(operator, signature, "plan")
                    variant = Variant(operator, signature, target, self.halide_target(target, signature), plan)
                    for form in self._forms(operator, target, signature):
                        tuned = OPERATOR[form.of] if form.of else operator
                        knobs = tuning.knobs_of(tuned, signature, form.name)
                        halide_target = self.halide_target(target, signature, form.without)
                        variant.kernels[form.name] = Kernel(variant, form, halide_target, knobs)
                    variants[variant.name] = variant
        for variant in variants.values():
            for kernel in variant.kernels.values():
                kernel.owner = self._owner(kernel, variants)
        return list(variants.values())

    def _owner(self, kernel: Kernel, variants: dict[str, Variant]) -> Kernel:
        """The kernel whose function this one shares: the same form on the lowest target that is compiled
        in the same way and runs wherever this kernel's target does; if there is none, the form of the
        operator that the form is `of`; if that is compiled in another way, the kernel itself."""
        operator, signature, target = kernel.variant.operator, kernel.variant.signature, kernel.variant.target

        def same(operator_name: str, on: Target) -> Kernel | None:
            variant = variants.get(f"{operator_name}_{signature}__{on.name}")
            other = variant.kernels.get(kernel.form.name) if variant else None
            if other and (other.halide_target, other.knobs) == (kernel.halide_target, kernel.knobs):
                return other
            return None

        for lower in self.targets[: self.targets.index(target)]:
            other = same(operator.name, lower)
            if other and set(lower.probe.split()) <= set(target.probe.split()):
                return self._owner(other, variants)
        other = same(kernel.form.of, target)
        return self._owner(other, variants) if other else kernel
