"""Writes include/hewn/operators.hpp, which is committed, since people read it:

    headers.py            writes it
    headers.py --check    writes nothing, and fails if it is not what would be written"""

from __future__ import annotations

import argparse
import pathlib
import sys
import textwrap

sys.dont_write_bytecode = True
sys.path[0] = str(pathlib.Path(__file__).resolve().parents[1])

from lists.checks import check_lists  # noqa: E402
from lists.declarations import ROOT, Attribute, Mistake, Tensor  # noqa: E402
from lists.files import snake_case  # noqa: E402
from lists.operators import OPERATORS  # noqa: E402


def camel_case(name: str) -> str:
    """quantize_linear as QuantizeLinear."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


OPERATORS_HPP = """\
// A part of hewn.hpp: each operator's description, which owns the descriptions of its tensors, and
// its compile(). hewn.h documents the operators. Written by lists/headers.py: to change it, change
// the lists.
// clang-format off
#ifndef HEWN_HEWN_HPP
#error "include hewn/hewn.hpp"
#endif

"""
DESCRIPTION = """\
{comment}
// In C it is hewn_{name}_desc.
struct {camel}Desc {{
{members}}};
// hewn_compile of it.
inline Operator compile(const {camel}Desc &desc, const CompileOptions &options = {{}},
                        const Device *device = nullptr) {{
    return compile(HEWN_OPERATOR_{directml},
                   {{{tensors}}},
                   options, device{attributes});
}}

"""


def operators_hpp() -> str:
    text = OPERATORS_HPP
    for operator in OPERATORS:
        members = "".join(map(tensor_member, operator.tensors)) + "".join(map(attribute_member, operator.attributes))
        tensors = [f"detail::pointer(desc.{snake_case(tensor.name)})" for tensor in operator.tensors]
        attributes = [f"detail::word(desc.{attribute.name})" for attribute in operator.attributes]
        text += DESCRIPTION.format(
            name=operator.name,
            comment=comment(f"{operator.directml_name}: {operator.formula}."),
            directml=operator.directml_name,
            camel=camel_case(operator.name),
            members=members,
            tensors=",\n                    ".join(tensors),
            attributes=", {" + ",\n                    ".join(attributes) + "}" if attributes else "",
        )
    return text


def comment(text: str) -> str:
    return textwrap.fill(text, 100, initial_indent="// ", subsequent_indent="// ", break_on_hyphens=False)


def tensor_member(tensor: Tensor) -> str:
    kind = "OptionalTensorDesc" if tensor.optional else "TensorDesc"
    return f"    {kind} {snake_case(tensor.name)};  // {tensor.name}\n"


def attribute_member(attribute: Attribute) -> str:
    if attribute.is_parameter:
        names = [name.upper() for name in attribute.of]
        return f"    float {attribute.name} = 0;  // of {' '.join(names)}\n"
    kind = camel_case(attribute.type or attribute.name)
    default, _ = next(iter(attribute.values.values()))
    comment = "ONNX's attribute" if attribute.is_of_onnx else f"hewn_{attribute.type or attribute.name}"
    return f"    {kind} {attribute.name} = {kind}::{default};  // {comment}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    try:
        check_lists()
    except Mistake as mistake:
        sys.exit(str(mistake))
    file, text = ROOT / "include/hewn/operators.hpp", operators_hpp()
    if not check:
        file.write_bytes(text.encode())
    elif file.read_text(encoding="utf-8") != text:
        sys.exit(f"{file} is not what the lists say: python3 lists/headers.py writes it")


if __name__ == "__main__":
    main()
