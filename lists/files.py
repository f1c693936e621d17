"""The texts of the files that a build makes from the lists, in generated/ of the build tree.

    include/*.inc       X-macros for the runtime, the tests and the tools
    operators.json      the operator table for programs in other languages
    kernels.json        for the tuner
    runs.txt            a line for each run of a generator, for cmake/Kernels.cmake
    build.cmake         what else CMake asks of the lists

The docstring of each function lists the macros of its file. An .inc file gives its macros an empty
default, and undefines them at its end."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from collections.abc import Mapping, Sequence

from lists.build import Build, Kernel, Variant
from lists.chips import CHIPS
from lists.data_types import DATA_TYPES, FEATURE_LEVELS
from lists.declarations import DataType, Operator, Tensor, level_number
from lists.knobs import KNOBS
from lists.onnx_nodes import ONNX_NODES
from lists.operators import OPERATORS
from lists.signatures import signatures_of
from lists.tuning import constraints, kind_of, space

# Halide's features for the kernels that are shipped. They need no assertions and no bounds queries,
# because the runtime proves before a call what those would check.
SHIPPED = ("no_asserts", "no_bounds_query")


def function(name: str) -> str:
    """The symbol of a compiled function."""
    return f"hewnk_{name}"


def wrapper(name: str) -> str:
    """The symbol of a function that takes its arguments as a list of pointers."""
    return f"{function(name)}_argv"


def cxx_bool(flag: bool) -> str:
    return str(flag).lower()


def snake_case(name: str) -> str:
    """OutputScaleTensor as output_scale_tensor."""
    return re.sub("([A-Z])", r"_\1", name).lower()[1:]


def x_macros(macros: str, lines: Sequence[str]) -> str:
    names = macros.split()
    head = "".join(f"#ifndef {name}\n#define {name}(...)\n#endif\n" for name in names)
    tail = "".join(f"#undef {name}\n" for name in names)
    return "// Written by lists/generate.py.\n" + head + "".join(f"{line}\n" for line in lines) + tail


# ---- The operator table ----


def small_float(data_type: DataType) -> dict[str, str | int]:
    """The numbers of a small float (SmallFloat in lists/declarations.py) by their names. `mantissa` is
    the number of its bits, `sign` the code of the sign alone. A NaN or a sign that the type lacks is 0."""
    numbers = data_type.small_float
    assert numbers
    return {
        "name": data_type.name,
        "directml": data_type.directml_name,
        "numpy": numbers.numpy,
        "bits": data_type.bits,
        "mantissa": data_type.mantissa,
        "bias": numbers.bias,
        "largest": numbers.largest,
        "nan": numbers.nan or 0,
        "sign": data_type.sign,
    }


SMALL_FLOATS = [small_float(data_type) for data_type in DATA_TYPES if data_type.small_float]


def types_inc(build: Build) -> str:
    """HEWN_TYPE(word, name, number, bits); HEWN_SMALL_FLOAT(word, name, numpy, bits, mantissa, bias,
    largest, nan, sign) with what small_float() returns; HEWN_LEVEL(name, "word", number), such as (6_2, "6.2",
    0x6200); HEWN_BUILT_LEVEL(number) for the build's newest level."""
    lines = [f"HEWN_TYPE({t.name}, {t.directml_name}, {t.number}, {t.bits})" for t in DATA_TYPES]
    for numbers in SMALL_FLOATS:
        lines.append(f"HEWN_SMALL_FLOAT({', '.join(map(str, numbers.values()))})")
    for level in FEATURE_LEVELS:
        name = level.replace(".", "_").upper()
        lines.append(f'HEWN_LEVEL({name}, "{level}", {level_number(level)})')
    lines.append(f"HEWN_BUILT_LEVEL({level_number(build.options.feature_level)})")
    return x_macros("HEWN_TYPE HEWN_SMALL_FLOAT HEWN_LEVEL HEWN_BUILT_LEVEL", lines)


def operators_inc() -> str:
    """HEWN_OPERATOR(operator, kernels, number, name, command, "formula", "onnx", in_place, wraps,
    one_width, as_f32, (signature), (tensors), (levels)). Each of the tensors is a
    HEWN_TENSOR(name, member, role, like, integers, optional_from, one, blocks, middle, mixed,
    others).
    Each of the levels, the newest first, is a HEWN_LEVEL(number, least, most, types...) with the
    types of each tensor, or `none` for a tensor that is like another. `like` and the signature are
    indices of tensors. HEWN_BLOCK_SIZE(number, elements) for each operator of a format."""
    lines = []
    for operator in OPERATORS:
        tensors = "".join(f"    {tensor_macro(operator, tensor)}\n" for tensor in operator.tensors)
        levels = ""
        for level in operator.levels:
            types = ", ".join(" | ".join(level.words(tensor.name)) or "none" for tensor in operator.tensors)
            least, most = level.dimensions
            levels += f"    HEWN_LEVEL({level_number(level.name)}, {least}, {most}, {types})\n"
        words = [
            operator.name,
            operator.kernels or operator.name,
            str(operator.number),
            operator.directml_name,
            operator.command,
            f'"{operator.formula}"',
            f'"{operator.onnx}"',
            *map(cxx_bool, (operator.in_place, operator.wraps, operator.one_width)),
            " | ".join(operator.as_f32.split()) or "none",
            "(" + ", ".join(str(operator.index(name)) for name in operator.signature) + ")",
        ]
        lines.append(f"HEWN_OPERATOR({', '.join(words)},\n  (\n{tensors}  ),\n  (\n{levels}  ))")
        if operator.block_size:
            lines.append(f"HEWN_BLOCK_SIZE({operator.number}, {operator.block_size})")
    return x_macros("HEWN_OPERATOR HEWN_BLOCK_SIZE HEWN_TENSOR HEWN_LEVEL", lines)


def tensor_macro(operator: Operator, tensor: Tensor) -> str:
    words = [
        tensor.name,
        snake_case(tensor.name),
        tensor.role,
        str(operator.index(tensor.like)),
        tensor.integers or "none",
        level_number(tensor.optional),
        *map(cxx_bool, (tensor.one, tensor.blocks, tensor.middle, tensor.mixed)),
        " | ".join(tensor.others.split()) or "none",
    ]
    return f"HEWN_TENSOR({', '.join(words)})"


def attributes_inc() -> str:
    """HEWN_ATTRIBUTE(operator, number, attribute, type, of, "why", computed, values). `type` is int32_t
    for a choice and float for a parameter. `of` is a set of bits: the values of the choice before it
    that have a parameter. Each of the values, from 0 on, is a HEWN_VALUE(word, name, ONNX's number,
    level); the number is -1 if ONNX does not have it. hewn computes the first `computed` of them."""
    lines = []
    for operator in OPERATORS:
        choice: Sequence[str] = ()
        for attribute in operator.attributes:
            choice = choice if attribute.is_parameter else list(attribute.values)
            values = "".join(
                f" HEWN_VALUE({word}, {name}, {-1 if number is None else number}, "
                f"{level_number(attribute.level_of(word))})"
                for word, (name, number) in attribute.values.items()
            )
            values += "".join(f" HEWN_VALUE({word}, {name}, -1, 0)" for word, name in attribute.refused.items())
            words = [
                operator.name,
                str(operator.number),
                attribute.name,
                "float" if attribute.is_parameter else "int32_t",
                " | ".join(f"1u << {choice.index(value)}" for value in attribute.of) or "0",
                f'"{attribute.why}"',
                str(len(attribute.values)),
            ]
            lines.append(f"HEWN_ATTRIBUTE({', '.join(words)},{values})")
    return x_macros("HEWN_ATTRIBUTE HEWN_VALUE", lines)


def onnx_inc() -> str:
    """HEWN_ONNX_NODE(type, "domain", "name", between, versions...)."""
    lines = []
    for node in ONNX_NODES:
        words = [
            f"HEWN_OPERATOR_{node.operator.upper()}",
            f'"{node.domain}"',
            f'"{node.name}"',
            cxx_bool(node.between),
            *map(str, node.versions),
        ]
        lines.append(f"HEWN_ONNX_NODE({', '.join(words)})")
    return x_macros("HEWN_ONNX_NODE", lines)


def json_object(members: Mapping[str, object], lists: Mapping[str, Sequence[object]]) -> str:
    """A JSON object: its members on one line, then the lists with a line for each value."""
    lines = [f'"{name}": {json.dumps(value)}' for name, value in members.items()]
    text = "{" + ", ".join(lines)
    for name, values in lists.items():
        text += f',\n  "{name}": [' + ",".join(f"\n    {json.dumps(value)}" for value in values) + "]"
    return text + "}"


def operators_json() -> str:
    """The operator table. Its members have the names of lists/declarations.py and hewn_operator_info."""
    rows = []
    for operator in OPERATORS:
        row = {
            "name": operator.name,
            "number": operator.number,
            "directml": operator.directml_name,
            "command": operator.command,
            "formula": operator.formula,
            "onnx": operator.onnx,
            "in_place": operator.in_place,
            "one_width": operator.one_width,
            "block_size": operator.block_size,
            "signature": [operator.index(name) for name in operator.signature],
            "kernels": operator.kernels or operator.name,
            "signatures": [str(signature) for signature in signatures_of(operator)],
        }
        tensors = [
            {
                "name": tensor.name,
                "role": tensor.role,
                "like": operator.index(tensor.like),
                "integers": tensor.integers,
                "optional_from": tensor.optional,
                "one_element": tensor.one,
                "blocks": tensor.blocks,
                "middle": tensor.middle,
                "mixed": tensor.mixed,
                "others": tensor.others.split(),
            }
            for tensor in operator.tensors
        ]
        attributes = [
            {
                "name": a.name,
                "from": a.since,
                "values": list(a.values),
                "onnx": a.is_of_onnx,
                "newer": a.newer,
                "refused": list(a.refused),
                "of": list(a.of),
            }
            for a in operator.attributes
        ]
        levels = [
            {
                "level": level.name,
                "ranks": level.dimensions,
                "types": {t.name: level.words(t.name) for t in operator.tensors if level.words(t.name)},
            }
            for level in operator.levels
        ]
        rows.append(json_object(row, {"tensors": tensors, "attributes": attributes, "levels": levels}))
    return "[\n" + ",\n".join(rows) + "\n]\n"


# ---- What the build has ----


def variants_inc(build: Build) -> str:
    """HEWN_VARIANT(operator, signature, target, forms). Each of the forms is a HEWN_FORM(entry, form,
    layouts): the symbol to call, the form's name, and its layouts as a mask."""
    lines = []
    for variant in build.variants:
        forms = "".join(
            f" HEWN_FORM({entry(kernel)}, {kernel.form.name}, {mask(kernel.form.layouts)})"
            for kernel in variant.kernels.values()
        )
        words = [variant.operator.name, str(variant.signature), variant.target.name]
        lines.append(f"HEWN_VARIANT({', '.join(words)},{forms})")
    return x_macros("HEWN_VARIANT HEWN_FORM", lines)


def entry(kernel: Kernel) -> str:
    """The symbol by which the runtime calls a kernel."""
    return wrapper(kernel.owner.name) if kernel.form.gpu else function(kernel.owner.name)


def mask(layouts: str) -> str:
    """The layouts of a form as a set of bits: a layout's bit is the binary number of its digits."""
    return " | ".join(f"1u << 0b{layout}" for layout in layouts.split()) or "0"


def plans_inc(build: Build) -> str:
    """HEWN_PLAN(variant, knobs). Each of the knobs of its plans is a HEWN_PLAN_KNOB(knob, value), in
    the order of plan_knobs.inc."""
    lines = []
    for variant in build.variants:
        knobs = " ".join(f"HEWN_PLAN_KNOB({name}, {value})" for name, value in variant.plan.items())
        lines.append(f"HEWN_PLAN({variant.name}, {knobs})")
    return x_macros("HEWN_PLAN HEWN_PLAN_KNOB", lines)


def plan_knobs_inc() -> str:
    """HEWN_PLAN_KNOB(knob, default) for each knob of a plan."""
    return x_macros(
        "HEWN_PLAN_KNOB",
        [f"HEWN_PLAN_KNOB({knob.name}, {knob.words[0]})" for knob in KNOBS if knob.kind == "plan"],
    )


def targets_inc(build: Build) -> str:
    """In ascending priority: HEWN_TARGET(name, priority, "halide target", probes) for each target of a
    CPU, where each of the probes is a HEWN_PROBE("feature"), and HEWN_GPU_TARGET(name, priority,
    "halide target", device, capability) for each target of a GPU. The capability is CUDA's, such as
    7.5, or 0."""
    lines = []
    for target in build.targets:
        words = f'{target.name}, {target.priority}, "{build.halide_target(target)}"'
        if target.device:
            lines.append(f"HEWN_GPU_TARGET({words}, HEWN_DEVICE_{target.device.upper()}, {target.capability})")
        else:
            probes = " ".join(f'HEWN_PROBE("{feature}")' for feature in target.probe.split())
            lines.append(f"HEWN_TARGET({words}, {probes})")
    return x_macros("HEWN_TARGET HEWN_PROBE HEWN_GPU_TARGET", lines)


def chips_inc() -> str:
    """HEWN_CHIP(name, columns...), in the order of runtime/dispatch/chip.h."""
    lines = []
    for chip in CHIPS:
        words = [
            chip.name,
            cxx_bool(chip.avx512_in_halves),
            *chip.stream_prefetch,
            *chip.kernel_prefetch,
            chip.tile_prefetch_from,
            chip.beside_prefetch_from,
            chip.tall_tile_columns_apart,
            chip.kept_below,
            *chip.amd,
        ]
        lines.append(f"HEWN_CHIP({', '.join(map(str, words))})")
    return x_macros("HEWN_CHIP", lines)


def transpositions_inc(build: Build) -> str:
    """HEWN_TRANSPOSITION(entry, bits, bytes, priority), the lowest priority first. Targets of that
    priority and above use the function."""
    lines = []
    for built in build.transpositions:
        one = built.function
        lines.append(f"HEWN_TRANSPOSITION({wrapper(one.name)}, {one.bits}, {one.bytes}, {built.priority})")
    return x_macros("HEWN_TRANSPOSITION", lines)


def pass_kernels_inc(build: Build) -> str:
    """HEWN_PASS_KERNEL(entry, name, device, layout) for each pass kernel on each kind of GPU."""
    lines = []
    for built in build.pass_kernels:
        device = f"HEWN_DEVICE_{built.target.device.upper()}"
        words = [wrapper(built.name), built.function.name, device, f"0b0{built.function.layouts}"]
        lines.append(f"HEWN_PASS_KERNEL({', '.join(words)})")
    return x_macros("HEWN_PASS_KERNEL", lines)


# ---- For CMake ----


def runs_txt(build: Build) -> str:
    """A line for each run of a generator, which makes an object. The line has the object's name, the
    kind of device or `cpu`, the arguments for LLVM, the generator, the function, and the generator's
    arguments. The first of these arguments is the target, to which CMake adds the features of a
    flavour. Words are quoted as in a shell."""
    lines = []

    def run(name: str, generator: str, *arguments: str, device: str = "", llvm_args: str = "") -> None:
        words = [name, device or "cpu", llvm_args, generator, function(name), *arguments]
        lines.append(shlex.join(words))

    for transposition in build.transpositions:
        run(
            transposition.function.name,
            "transpose",
            f"target={compiled_for(transposition.halide_target)}",
            f"signature={transposition.function.element}",
            f"bytes={transposition.function.bytes}",
        )
    for kernel in build.pass_kernels:
        run(
            kernel.name,
            f"pass_{kernel.function.name}",
            f"target={compiled_for(kernel.halide_target)}",
            *layouts_argument(kernel.function.layouts),
            device=kernel.target.device,
        )
    for kernel in build.own_kernels:
        run(
            kernel.name,
            kernel.generator,
            f"target={compiled_for(kernel.halide_target)}",
            f"signature={kernel.variant.signature}",
            *layouts_argument(kernel.form.layouts),
            *(f"{name}={value}" for name, value in kernel.knobs.items()),
            device=kernel.variant.target.device,
            llvm_args=kernel.llvm_args,
        )
    return "".join(f"{line}\n" for line in lines)


def layouts_argument(layouts: str) -> list[str]:
    return [f"layouts={layouts}"] if layouts else []


def compiled_for(halide_target: str, *flavour: str) -> str:
    """The target that a generator gets, with the features of a flavour."""
    return "-".join([halide_target, "no_runtime", "user_context", *flavour])


def build_cmake(build: Build) -> str:
    """The variables that cmake/Lists.cmake explains."""
    text = f"set(HEWN_SHIPPED_FLAGS {' '.join(SHIPPED)})\n"
    text += f"set(HEWN_BUILT_SIGNATURES {' '.join(build.signatures)})\n"
    text += f"set(HEWN_BUILT_TARGETS {' '.join(target.name for target in build.targets)})\n"
    text += f"set(HEWN_HAS_GPUS {str(any(target.device for target in build.targets)).upper()})\n"
    for target in build.targets:
        text += f'set(HEWN_TARGET_{target.name}_DEVICE "{target.device}")\n'
        text += f'set(HEWN_TARGET_{target.name}_MARCH "{target.march}")\n'
        text += f"set(HEWN_TARGET_{target.name}_PROBE {target.probe})\n"
    return text


# ---- For the tuner ----


def kernels_json(build: Build, settings: Mapping[str, str]) -> str:
    """The settings of the build, the knobs with their values and meanings, and the kernels: the CPUs'
    and the GPUs', which the tuner does not search. To the tuner a plan is one more form."""
    members = {
        **settings,
        "knobs": {knob.name: knob.words for knob in KNOBS},
        "meanings": {knob.name: knob.meaning for knob in KNOBS},
        "by_hand": [knob.name for knob in KNOBS if knob.by_hand],
    }
    kernels: dict[str, list[object]] = {"kernels": [], "gpu_kernels": []}
    for variant in build.variants:
        # The tuner's problems have one output.
        if sum(tensor.role == "output" for tensor in variant.operator.tensors) == 1:
            on = "gpu_kernels" if variant.target.device else "kernels"
            kernels[on] += [tuned_kernel(kernel) for kernel in variant.kernels.values() if kernel.owner is kernel]
            if not variant.target.device:
                kernels[on].append(tuned_plan(variant))
    return json_object(members, kernels) + "\n"


def tuned_kernel(kernel: Kernel) -> dict[str, object]:
    reached = dataclasses.asdict(kernel.form.reached)
    only_form = reached.pop("layouts_of_only_form")
    if only_form and len(kernel.variant.kernels) == 1:
        reached["layouts"] = only_form
    return {
        **tuned_form(kernel.variant, kernel.form.name, kernel.halide_target, kernel.knobs),
        "layouts": kernel.form.layouts,
        "llvm_args": kernel.llvm_args,
        "reached": reached,
    }


def tuned_plan(variant: Variant) -> dict[str, object]:
    form = tuned_form(variant, "plan", variant.halide_target, variant.plan)
    return {**form, "layouts": "", "llvm_args": "", "reached": {}}


def tuned_form(variant: Variant, form: str, halide_target: str, knobs: Mapping[str, str]) -> dict[str, object]:
    kind = kind_of(variant.operator, form)
    name = f"{variant.name}__{form}"
    return {
        "operator": variant.operator.name,
        "signature": str(variant.signature),
        "target": variant.target.name,
        "form": form,
        "halide_target": compiled_for(halide_target, *SHIPPED),
        "knobs": knobs,
        "space": [knob.name for knob in space(kind, name)],
        "conditions": [constraint.condition for constraint in constraints(kind, name)],
        "in_place": variant.operator.in_place,
    }


def all_files(build: Build, settings: Mapping[str, str]) -> dict[str, str]:
    """{path in generated/: text}. `settings` has values that CMake knows and the tuner needs."""
    return {
        "include/types.inc": types_inc(build),
        "include/operators.inc": operators_inc(),
        "include/attributes.inc": attributes_inc(),
        "include/onnx.inc": onnx_inc(),
        "include/variants.inc": variants_inc(build),
        "include/plans.inc": plans_inc(build),
        "include/plan_knobs.inc": plan_knobs_inc(),
        "include/targets.inc": targets_inc(build),
        "include/chips.inc": chips_inc(),
        "include/transpositions.inc": transpositions_inc(build),
        "include/pass_kernels.inc": pass_kernels_inc(build),
        "operators.json": operators_json(),
        "kernels.json": kernels_json(build, settings),
        "runs.txt": runs_txt(build),
        "build.cmake": build_cmake(build),
    }
