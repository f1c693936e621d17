#!/usr/bin/env python3
"""Compares docs/operators.md with the build's operator table: operators_doc_test.py
operators.json

The page is written by hand from DirectML's reference. It must say the same as the table about
levels, tensors, their roles and types, what may be absent, attributes and kernels."""

import json
import pathlib
import re
import sys
import unittest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "operators.md"


def sections(text):
    """The text under each heading of the second level."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def tables(text):
    """Each table as a list of its rows, of which the heading is the first. Cells have no spaces
    around them."""
    found = re.findall(r"((?:^\|.*\|\n)+)", text, flags=re.MULTILINE)
    return [[[cell.strip() for cell in line.strip().strip("|").split("|")]
             for line in table.splitlines() if not re.match(r"^\|(-+\|)+$", line)]
            for table in found]


def tensor_row(tensor, tensors):
    """The page's row for a tensor of the operator table."""
    name = tensor["name"] + (f", optional from {tensor['optional_from']}"
                             if tensor["optional_from"] else "")
    like = f"{tensors[tensor['like']]['name']}'s" if tensor["like"] >= 0 else ""
    integers = f", {tensor['integers']} for integers" if tensor["integers"] else ""
    mixed = "; hewn: " + " ".join(["f32", "f16", "bf16", *tensor["others"]]) if tensor["mixed"] else ""
    chosen = tensor["role"] == "output" and tensor["blocks"]
    return [name, tensor["role"].replace("_", " "), like + integers + mixed,
            "one" if tensor["one_element"] else "one a block" if chosen else ""]


def attribute_row(attribute):
    """The page's row for an attribute."""
    if attribute["of"]:
        return [attribute["name"], "", "a number, only for " + ", ".join(attribute["of"])]
    values = [word + (f" ({attribute['newer'][word]})" if word in attribute["newer"] else "")
              for word in attribute["values"]]
    return [attribute["name"], attribute["from"], " ".join(values)]


class OperatorsDocTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.page = sections(PAGE.read_text(encoding="utf-8"))

    def test_every_operator_has_a_section(self):
        others = {"Feature levels", "Kernels", "Tensors and buffers"}
        self.assertEqual([name for name in self.page if name not in others],
                         [op["directml"] for op in OPERATORS])

    def test_names(self):
        for op in OPERATORS:
            text = " ".join(self.page[op["directml"]].split())
            onnx = f"ONNX `{op['onnx']}`; " if op["onnx"] else ""
            self.assertIn(f"Number {op['number']}; {onnx}`hewn {op['command']}`.", text)
            self.assertEqual("The output may be bound in place" in text, op["in_place"], op["name"])

    def test_tensors(self):
        for op in OPERATORS:
            heading, *rows = tables(self.page[op["directml"]])[0]
            self.assertEqual(heading, ["tensor", "role", "type", "elements"])
            self.assertEqual(rows, [tensor_row(tensor, op["tensors"]) for tensor in op["tensors"]],
                             op["name"])

    def test_levels(self):
        for op in OPERATORS:
            own = [tensor["name"] for tensor in op["tensors"] if tensor["like"] < 0]
            heading, *rows = tables(self.page[op["directml"]])[1]
            self.assertEqual(heading, ["level", "dimension counts", *own])
            table = [[level["level"], "{}–{}".format(*level["ranks"]),
                      *(" ".join(level["types"][name]) for name in own)]
                     for level in op["levels"]]
            self.assertEqual(rows, table, op["name"])

    def test_attributes(self):
        for op in OPERATORS:
            due = [["attribute", "from", "values"]] if op["attributes"] else []
            due += [attribute_row(attribute) for attribute in op["attributes"]]
            self.assertEqual((tables(self.page[op["directml"]])[2:] or [[]])[0], due, op["name"])

    def test_kernels(self):
        heading, *rows = tables(self.page["Kernels"])[0]
        self.assertEqual(heading[:3], ["operator", "kernels", "tensors"])
        table = [[op["directml"], str(len(op["signatures"])),
                  ", ".join(op["tensors"][i]["name"] for i in op["signature"])]
                 for op in OPERATORS]
        self.assertEqual([row[:3] for row in rows], table)


if __name__ == "__main__":
    OPERATORS = json.loads(pathlib.Path(sys.argv.pop(1)).read_text(encoding="utf-8"))
    unittest.main()
