"""The classes that the lists are written with.

Each declaration checks itself when it is made, and remembers the line of the list on which it
stands, so that every error can name that line:

    lists/operators.py:57: level 3.0: 'u33' is not a data type; expected one of: f32 f16 ...
"""

from __future__ import annotations

import ast
import difflib
import pathlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NoReturn, TypeVar, get_args

ROOT = pathlib.Path(__file__).resolve().parents[1]

Role = Literal["data", "scale", "zero_point", "output"]
Device = Literal["cuda", "opencl", "d3d12"]
Scales = Literal["zero", "extraordinary", "powers_of_two", "sixths", "far_apart"]
KnobKind = Literal["kernel", "plan", "gpu"]


class Mistake(Exception):
    """A mistake in a list, a tuning file or an option. The text says where it is, what is wrong, and
    what is expected."""


class Declaration:
    """Base class of everything that stands on a line of a list."""

    name: str

    def __post_init__(self) -> None:
        frame = sys._getframe(1)
        while frame.f_back and frame.f_globals.get("__name__") == __name__:
            frame = frame.f_back
        file = pathlib.Path(frame.f_code.co_filename)
        file = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
        self.where = f"{file}:{frame.f_lineno}"
        self.check()

    def check(self) -> None:
        """Fails if the declaration makes no sense by itself. lists/checks.py checks it against others."""

    def fail(self, message: str) -> NoReturn:
        kind = type(self).__name__
        kind = re.sub("(?<=[a-z])([A-Z])", r" \1", kind).lower()
        raise Mistake(f"{self.where}: {kind} {self.name}: {message}")

    def must_be(self, what: str, words: Iterable[str], known: Iterable[str]) -> None:
        """Fails if one of the words is not known."""
        known = list(known)
        for word in words:
            if word not in known:
                self.fail(f"'{word}' is not {what}; expected one of: {' '.join(known)}")

    def must_compile(self, expressions: Iterable[str]) -> None:
        """Fails if one of them is no regular expression."""
        for expression in expressions:
            try:
                re.compile(expression)
            except re.error as error:
                self.fail(f"'{expression}' is not a regular expression: {error}")


D = TypeVar("D", bound=Declaration)


def by_name(declarations: Sequence[D]) -> dict[str, D]:
    """The declarations by their names. Fails if two have the same name."""
    found: dict[str, D] = {}
    for one in declarations:
        if one.name in found:
            one.fail(f"{found[one.name].where} has the same name")
        found[one.name] = one
    return found


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant."""
    return next(iter(difflib.get_close_matches(word, list(known), 1)), None)


# ---- Data types, signatures and feature levels ----


@dataclass(frozen=True)
class SmallFloat:
    """The numbers of a small float, which is a float of at most 8 bits. Its bits are its code. From
    the highest bit on they are the sign, if it has one, the exponent and the mantissa. The word of
    the type has the numbers of bits of the exponent and the mantissa.

    bias: what is subtracted from the exponent. Without a sign, every code is a normal number. With a
        sign, the exponent 0 is that of zero and of the subnormal numbers.
    largest: the code of the largest number. If `nan` is not the next code, the next code is infinity.
    nan: the code of the NaN that is written; None if the type has no NaN. Codes above the largest
        number and infinity are NaN too. If `nan` is the sign alone, there is no -0.
    numpy: the name of the type in ml_dtypes."""

    bias: int
    largest: int
    nan: int | None
    numpy: str


@dataclass(eq=False)
class DataType(Declaration):
    """A data type. `name` is its word in signatures: letters for the kind, then the number of bits.
    Small floats have their bits of the exponent and the mantissa after that: f8e4m3fn.
    `directml_name` and `number` are those of DML_TENSOR_DATA_TYPE. Several elements of a sub-byte type
    share a byte in memory; the kernels of types of 8 bits compute them."""

    name: str
    directml_name: str
    number: int
    small_float: SmallFloat | None = None

    def check(self) -> None:
        found = re.fullmatch("([a-z]+)([0-9]+)(?:e([0-9]+)m([0-9]+)[a-z]*)?", self.name)
        if not found:
            self.fail("expected a name of a kind and a number of bits, such as f32 or f8e4m3fn")
        self.kind, self.bits = found[1], int(found[2])
        if not self.small_float and len(self.name) > 4:
            self.fail("Problem::signature has room for words of up to 4 letters")
        if bool(found[3]) != bool(self.small_float):
            self.fail("the bits of the exponent and the mantissa in the name need a SmallFloat, and only these")
        if self.small_float:
            self.mantissa = int(found[4])
            self.check_small_float(self.small_float, self.bits - int(found[3]) - self.mantissa)

    def check_small_float(self, numbers: SmallFloat, sign_bits: int) -> None:
        if self.bits > 8 or sign_bits not in (0, 1):
            self.fail(f"{sign_bits} of its {self.bits} bits are left for the sign; expected 0 or 1 of at most 8")
        # The code of the sign alone; 0 if there is no sign.
        self.sign = sign_bits << (self.bits - 1)
        most = (self.sign or 1 << self.bits) - 1
        if numbers.largest > most or (numbers.nan is None and numbers.largest != most):
            self.fail(f"largest is {numbers.largest:#x}, expected {most:#x}, or less if there is a NaN")
        if numbers.nan is not None and not numbers.largest < numbers.nan < 1 << self.bits:
            self.fail(f"nan is {numbers.nan:#x}, expected a code of {self.bits} bits after {numbers.largest:#x}")


@dataclass(frozen=True)
class Signature:
    """The data types of one kernel of an operator: f32_u8 is from f32 to u8."""

    types: tuple[DataType, ...]

    def __str__(self) -> str:
        return "_".join(one.name for one in self.types)

    @property
    def input(self) -> DataType:
        return self.types[0]

    @property
    def output(self) -> DataType:
        return self.types[-1]

    def has(self, name: str) -> bool:
        return any(one.name == name for one in self.types)


def level_number(level: str) -> str:
    """The number of a level in DML_FEATURE_LEVEL, such as 0x6200 for 6.2; a greater one, 0x10000,
    for `hewn`; 0 for no level."""
    if level in ("", "hewn"):
        return "0x10000" if level else "0"
    major, minor = map(int, level.split("."))
    return hex(major << 12 | minor << 8)


# ---- Operators ----


@dataclass(eq=False)
class Tensor(Declaration):
    """A tensor of an operator's description.

    like: the tensor whose type it has. integers: the type that it has instead if that tensor has
        an integer type.
    optional: the feature level from which on it may be left out.
    one: it has one element. Otherwise it has the sizes of the first tensor.
    blocks: its sizes may also divide those of the first tensor; each element then serves a block. An
        output with `blocks` has one element for each block.
    middle: an absent zero point of an unsigned type is the middle of the type's range, instead of 0.
    mixed: from the feature level `hewn` on, it may be another of the floats that the tensor may be
        that it is `like`. If the two types differ, the kernels of f32 compute, and all other floats are
        converted.
    others: with `mixed`, other types that it may have from that level on. They are converted, too."""

    name: str
    role: Role
    like: str = ""
    integers: str = ""
    optional: str = ""
    one: bool = False
    blocks: bool = False
    middle: bool = False
    mixed: bool = False
    others: str = ""

    def check(self) -> None:
        self.must_be("a role", [self.role], get_args(Role))
        if self.others and not self.mixed:
            self.fail("`others` names types in addition to those of `mixed`")
        if (self.integers or self.mixed) and not self.like:
            self.fail("`integers` and `mixed` say what differs from the tensor that it is `like`")


@dataclass(eq=False)
class Attribute(Declaration):
    """4 bytes after the tensors in the operator's description: a choice, or a parameter.

    A choice has values, and is an int32:
        since: the feature level from which on it exists. Lower levels have only the first value, 0.
        values: {word: (name, ONNX's number)}. The number of a value in hewn is its place, from 0
            on. ONNX's attribute has the same name as hewn's; the numbers are None if ONNX has no
            such attribute.
        newer: {word: the feature level from which on the value exists}, if that is above `since`.
        refused: {word: name}. These values have the numbers after those of `values`. hewn_compile
            refuses them, because of `why`.
        type: the name of the choice's type, if it is not the attribute's own.

    A parameter is an f32. Only the values in `of`, of the choice before it, have it; with others it
    must be 0."""

    name: str
    since: str = ""
    values: Mapping[str, tuple[str, int | None]] = field(default_factory=dict)
    newer: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    why: str = ""
    type: str = ""
    of: Sequence[str] = ()

    def check(self) -> None:
        if bool(self.values) == bool(self.of):
            self.fail("it needs either values of its own or values that have it")
        if bool(self.values) != bool(self.since) or bool(self.refused) != bool(self.why):
            self.fail("a choice needs `since`, and refused values need `why`")
        if self.of and (self.newer or self.refused or self.type):
            self.fail("a parameter has only a name and `of`")
        self.must_be("one of its values", self.newer, self.values)

    @property
    def is_parameter(self) -> bool:
        return not self.values

    @property
    def is_of_onnx(self) -> bool:
        """Whether ONNX has the attribute, too."""
        return any(number is not None for _, number in self.values.values())

    def level_of(self, value: str) -> str:
        """The feature level from which on a value exists; "" for the default, which always does."""
        return "" if value == next(iter(self.values)) else self.newer.get(value, self.since)


@dataclass(eq=False)
class Level(Declaration):
    """What the operator allows from a feature level on.

    dimensions: the least and the greatest number of dimensions.
    types: {tensor: words}, the types that each tensor may have that is `like` no other."""

    name: str
    dimensions: tuple[int, int]
    types: Mapping[str, str]

    def check(self) -> None:
        least, most = self.dimensions
        if not 1 <= least <= most <= 8:
            self.fail(f"dimensions {self.dimensions}: expected (least, most), from 1 to 8")
        for tensor in self.types:
            if len(set(self.words(tensor))) != len(self.words(tensor)):
                self.fail(f"{tensor} has a type twice")

    def words(self, tensor: str) -> list[str]:
        return self.types.get(tensor, "").split()


@dataclass(eq=False)
class Reached(Declaration):
    """The problems for which the operator calls a form. The tuner checks and times the form with
    such problems.

    layouts: how the tensors lie in memory, in the words of bench/README.md.
    layouts_of_only_form: the layouts for a variant that has no other form.
    least, most: the fewest and the most elements; most = 0 means no limit.
    scales: the kind of scales that makes the operator call the form (tools/tune/runner.cpp).
    activation: the activation that makes it do so.
    ordinary: the tuner checks the form only with ordinary numbers, because the operator leaves NaN,
        infinity and huge quotients to the form `divide`.
    bits: the operator calls the form for a quantized tensor of so many bits, which has the kernels
        of the signature. 0: the types are those of the signature.
    in_rows: the tuner's checks vary the number of rows and not their length, which the form needs."""

    layouts: str = "dense"
    layouts_of_only_form: str = ""
    least: int = 0
    most: int = 0
    scales: Literal[""] | Scales = ""
    activation: str = ""
    ordinary: bool = False
    bits: int = 0
    in_rows: bool = False

    name = "by the tuner"

    def check(self) -> None:
        self.must_be("a kind of scales", filter(None, [self.scales]), get_args(Scales))


@dataclass(eq=False)
class Form(Declaration):
    """One way to compute an operator: a compiled function for each of the operator's variants,
    made by the generator <operator>_<form>.

    layouts: the layouts of the inputs, the most frequent first. A layout has a digit for each input
        that the generator passes to schedule_rows: 1 if the input varies along the row, 0 if it is
        one element there. Plans use the layouts of the operator's first form, whose inputs are the
        operands. The layouts of a GPU's form have digits only for inputs that vary.
    only: whether a signature has the form; without it all signatures have it.
    needs: the form exists only on targets with this feature.
    without: features of a target that the form is compiled without.
    since: the form exists only in builds that have this feature level.
    of: another operator, whose form of the same name is used. Signatures, layouts and knobs are the
        same there. If that operator is built too, the function is built once.
    gpu: the form is for GPUs (generators/gpu.h); otherwise it is for CPUs.
    reached: the problems for which the operator calls the form.
    llvm_args: {regular expression: arguments}. LLVM gets the arguments (HL_LLVM_ARGS) when it
        compiles a function whose <signature>__<target> matches."""

    name: str
    layouts: str = ""
    only: Callable[[Signature], bool] | None = None
    needs: str = ""
    without: tuple[str, ...] = ()
    since: str = ""
    of: str = ""
    gpu: bool = False
    reached: Reached = Reached()
    llvm_args: Mapping[str, str] = field(default_factory=dict)

    def check(self) -> None:
        self.must_be("a digit of a layout", set("".join(self.layouts.split())), "01")
        self.must_compile(self.llvm_args)
        if self.of and self.llvm_args:
            self.fail(f"llvm_args are those of {self.of}")

    def arguments_for_llvm(self, signature: Signature, target: str) -> str:
        for expression, arguments in self.llvm_args.items():
            if re.search(expression, f"{signature}__{target}"):
                return arguments
        return ""


@dataclass(eq=False)
class Operator(Declaration):
    """An operator. Its kernels are in generators/<name>.cpp, and runtime/cpu/<name>.cpp decides
    how the CPU runs them.

    number: its value in hewn_operator_type. command: its name on the command line.
    onnx: the ONNX node with the same formula; empty if there is none.
    tensors: in DirectML's order, the outputs last. If there are several outputs, the first has an
        element for each element of the input.
    signature: the tensors whose types make the signatures of its kernels.
    levels: the newest first.
    in_place: the output may lie on an input that has the same strides.
    wraps: kernels of signed types serve the unsigned types of the same width too.
    one_width: all types of a signature have the same width.
    as_f32: the float types that have no kernels of this operator: the kernels of f32 compute them, and
        their elements are converted.
    kernels: another operator, whose kernels compute this one. It then has no forms and no files of
        its own.
    block_size: how many elements of the last dimension have a scale in the operator's format. Bindings
        take it by default. 0: the operator is of no format."""

    name: str
    number: int
    command: str
    onnx: str
    formula: str
    tensors: Sequence[Tensor]
    signature: Sequence[str]
    levels: Sequence[Level]
    forms: Sequence[Form] = ()
    attributes: Sequence[Attribute] = ()
    in_place: bool = False
    wraps: bool = False
    one_width: bool = False
    as_f32: str = ""
    kernels: str = ""
    block_size: int = 0

    def check(self) -> None:
        self.tensor = by_name(self.tensors)
        self.form = by_name(self.forms)
        by_name(self.levels)
        by_name(self.attributes)
        choice: Attribute | None = None
        for attribute in self.attributes:
            if not attribute.is_parameter:
                choice = attribute
            elif not choice:
                attribute.fail("no choice stands before it")
            else:
                attribute.must_be(f"a value of {choice.name}", attribute.of, choice.values)
        if bool(self.kernels) == bool(self.forms):
            self.fail("it needs either forms or another operator's kernels")
        self.must_be("a tensor of it", self.signature, self.tensor)
        for tensor in self.tensors:
            tensor.must_be(f"a tensor of {self.name}", [tensor.like] if tensor.like else [], self.tensor)
        free = [tensor.name for tensor in self.tensors if not tensor.like]
        newer: Level | None = None
        for level in self.levels:
            level.must_be("a tensor with types of its own", level.types, free)
            for name in free:
                if not level.words(name):
                    level.fail(f"no types for {name}")
                if newer and not set(level.words(name)) <= set(newer.words(name)):
                    level.fail(f"{name} has types that the newer level {newer.name} lacks")
            newer = level

    @property
    def directml_name(self) -> str:
        return self.name.upper()

    def index(self, tensor: str) -> int:
        """The tensor's place in `tensors`; -1 for no tensor."""
        return list(self.tensor).index(tensor) if tensor else -1

    def typed(self, tensor: str) -> str:
        """The tensor whose types this one has: the one that it is `like`, or itself."""
        while self.tensor[tensor].like:
            tensor = self.tensor[tensor].like
        return tensor


@dataclass(eq=False)
class OnnxNode(Declaration):
    """A node that an operator computes in an ONNX model.

    versions: the opsets that changed the node, if the node computes there what the operator does.
    between: the operator computes four nodes at once: two DequantizeLinear, this one and a
        QuantizeLinear."""

    operator: str
    domain: str
    name: str
    versions: Sequence[int]
    between: bool = False


# ---- Targets, knobs and chips ----


@dataclass(eq=False)
class Target(Declaration):
    """An instruction set or a kind of GPU to compile kernels for. lists/targets.py explains the members."""

    name: str
    priority: int
    arch: str = ""
    features: str = ""
    probe: str = ""
    base: Target | None = None
    f16_features: str = ""
    always: str = ""
    march: str = ""
    device: Literal[""] | Device = ""
    system: str = ""
    only: Callable[[str, Signature], bool] | None = None

    def check(self) -> None:
        if bool(self.arch) == bool(self.device):
            self.fail("it needs either an arch or a device")
        if self.device:
            self.must_be("a device", [self.device], get_args(Device))
            if self.probe or self.base or self.f16_features or self.always or self.march:
                self.fail("a GPU's target has only features, a system and `only`")
            if self.device == "cuda" and self.capability == "0":
                self.fail("no compute capability among the features")
        else:
            self.must_be("an arch", [self.arch], ["x86-64", "x86-32", "arm-64", "wasm-32"])
            if self.system:
                self.fail("only a GPU's target has a system")
        if self.base:
            self.features = f"{self.base.features} {self.features}"
            self.probe = f"{self.base.probe} {self.probe}"

    @property
    def all_features(self) -> list[str]:
        """The features that a form may need."""
        return f"{self.features} {self.always}".split()

    def can_have(self, form: Form) -> bool:
        """Whether the form is for this kind of device, and the target has what the form needs."""
        return form.gpu == bool(self.device) and (not form.needs or form.needs in self.all_features)

    @property
    def capability(self) -> str:
        """CUDA's compute capability; 0 for other targets."""
        found = re.search(r"cuda_capability_(\d+)(\d)", self.features)
        return f"{found[1]}.{found[2]}" if found else "0"


@dataclass(eq=False)
class Knob(Declaration):
    """A parameter that tuning/<target>.json sets. lists/knobs.py explains the members."""

    name: str
    values: Sequence[int | str]
    meaning: str
    kind: KnobKind = "kernel"
    kernels: str = ""
    by_hand: bool = False

    def check(self) -> None:
        self.must_be("a kind of knob", [self.kind], get_args(KnobKind))
        self.must_compile([self.kernels])
        self.words = [str(value) for value in self.values]


@dataclass(eq=False)
class Constraint(Declaration):
    """A condition on the knobs of kernels. lists/knobs.py explains the members. `why` is the reason,
    for people."""

    kernels: str
    condition: str
    why: str

    def check(self) -> None:
        self.must_compile([self.kernels])
        try:
            tree = ast.parse(self.condition, mode="eval")
        except SyntaxError as error:
            self.fail(f"the condition is not an expression: {error.msg}")
        # The names of its knobs, and the values that it compares them with.
        self.knobs = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})
        self.values = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"({self.condition})"


@dataclass(eq=False)
class Chip(Declaration):
    """A kind of processor. lists/chips.py explains the members. "kNewest" and the like are constants
    of runtime/dispatch/chip.h."""

    name: str
    amd: tuple[int, int | str] = (0, "kNewest")
    avx512_in_halves: bool = False
    stream_prefetch: tuple[str, int | str] = ("All", "kNoInputs")
    kernel_prefetch: tuple[int, int, int] = (0, 0, 0)
    tile_prefetch_from: int | str = "kNever"
    beside_prefetch_from: int | str = "kNever"
    tall_tile_columns_apart: int = 0
    kept_below: int = 0

    def check(self) -> None:
        self.must_be("a set of caches", [self.stream_prefetch[0]], ["All", "L2", "L1Alone"])


# ---- Functions that the runtime calls around kernels ----


@dataclass(eq=False)
class PassKernel(Declaration):
    """The kernel of a GPU's pass that belongs to no operator. lists/pass_kernels.py explains the members."""

    name: str
    operators: Sequence[str]
    layouts: str = ""


@dataclass(eq=False)
class Transposition(Declaration):
    """A function that transposes elements on a CPU. lists/transpositions.py explains the members."""

    element: str
    bytes: int
    target: str = ""

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"transpose_{self.element}" + (f"__{self.target}" if self.target else "")

    @property
    def bits(self) -> int:
        return int(self.element[1:])
