"""Writes the generated files of the npm package: generate.py OPERATORS_JSON VERSION FOLDER

OPERATORS_JSON is generated/operators.json of a build, which has lists/operators.py as JSON.
operators.d.ts, small_floats.mjs and package.json are written to FOLDER. A new operator needs no
change here."""

import importlib.util
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent

# The generator of the Python package. It reads the same table, and has the texts about types.
SPEC = importlib.util.spec_from_file_location("python", HERE.parent / "python/generate.py")
python = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(python)
from lists.files import SMALL_FLOATS  # noqa: E402  whose folder the Python package's generator adds


def camel(words):
    first, *others = words.split("_")
    return first + "".join(word.capitalize() for word in others)


def type_name(word):
    """A type's name in JavaScript: float8e4m3fn for f8e4m3fn."""
    return "float" + word[1:] if word in python.SMALL_FLOATS else python.python_type(word)


class Interface(python.Operator):
    """An operator as an interface of its tensors, with DirectML's names in camel case."""

    def __init__(self, row):
        super().__init__(row)
        names = [tensor["name"].removesuffix("Tensor") for tensor in self.tensors]
        self.names = [name[0].lower() + name[1:] for name in names]

    def type_name(self, word):
        return type_name(word)

    def members(self):
        for name, tensor in zip(self.names, self.tensors):
            optional = "?" if tensor["optional_from"] else ""
            yield f"        /** {self.type_text(tensor)} */\n        {name}{optional}: T;\n"

    def text(self):
        onnx = f" ONNX's {self.row['onnx']}." if self.row["onnx"] else ""
        doc = f"    /** {self.row['formula']}.{onnx} */\n"
        return f"{doc}    {camel(self.row['name'])}: {{\n{''.join(self.members())}    }};\n"

    def attribute_type(self, name):
        if name in self.parameters_of:
            return "number"
        values = self.choices[name]
        return "boolean" if "True" in values else " | ".join(f"'{value}'" for value in values)

    def attributes_text(self):
        members = [f"{name}?: {self.attribute_type(name)}" for name in self.attributes]
        kind = f"{{{'; '.join(members)}}}" if members else "Record<string, never>"
        return f"    {camel(self.row['name'])}: {kind};\n"


def declarations(rows):
    yield "// Written by generate.py from hewn's operator table.\n"
    yield "/** The tensors of each operator, the outputs last, with their data types. T is what stands\n"
    yield " * for a tensor: TensorDesc in compile(), Tensor in run(). docs/numerics.md of hewn's source\n"
    yield " * has the formulas with every rounding. */\n"
    yield "export interface Operators<T> {\n"
    yield from (Interface(row).text() for row in rows)
    yield "}\n"
    yield "/** The attributes of each operator. docs/operators.md has the parameters of each choice. */\n"
    yield "export interface Attributes {\n"
    yield from (Interface(row).attributes_text() for row in rows)
    yield "}\n"


def small_floats():
    """A module with the numbers of small floats by the names of the types."""
    names = ("bits", "mantissa", "bias", "largest", "nan", "sign")
    numbers = {type_name(row["name"]): {name: row[name] for name in names} for row in SMALL_FLOATS}
    return (
        "// Written by generate.py from hewn's list of data types, which explains the numbers\n"
        "// (SmallFloat in lists/declarations.py).\n"
        f"export const SMALL_FLOATS = {json.dumps(numbers, indent=4)};\n"
    )


def package(version):
    manifest = json.loads((HERE / "package.json").read_text(encoding="utf-8"))
    return json.dumps({**manifest, "version": version}, indent=4) + "\n"


def main():
    table, version, folder = sys.argv[1:]
    rows = json.loads(pathlib.Path(table).read_text(encoding="utf-8"))
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("operators.d.ts", "".join(declarations(rows))),
        ("small_floats.mjs", small_floats()),
        ("package.json", package(version)),
    ):
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
