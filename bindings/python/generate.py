"""Writes the functions of the operators and their stub: generate.py OPERATORS_JSON FOLDER

OPERATORS_JSON is lists/operators.py as JSON: generated/operators.json of a build, or
lib/cmake/hewn/operators.json where hewn is installed. FOLDER gets _operators.py and _operators.pyi.
A new operator needs nothing here."""

import json
import pathlib
import re
import sys
import textwrap

HEADER = pathlib.Path(__file__).parents[2] / "include/hewn/hewn.h"
NAMES = {"InputTensor": "x", "OutputTensor": "out"}
KINDS = {"f": "float", "bf": "bfloat", "i": "int", "u": "uint"}
KEYWORDS = {
    "axis": "int | None",
    "block_size": "int | None",
    "dtype": "DType | None",
    "out": "Any",
    "threads": "int | None",
    "variant": "str | None",
}
ABOUT = {
    "axis": "the dimension of `{x}` that a scale or zero point of one dimension goes along;"
    " without it they are broadcast by NumPy's rule.",
    "block_size": "one scale and zero point for so many elements along `axis`{short}.",
    "dtype": "the output's type, as NumPy, PyTorch and their like name it; {default}.",
    "out": "an array for the result, of any strides without overlap. Else a contiguous array of `{x}`'s"
    " framework is made.",
    "threads": "the most threads to use; as many as help without it.",
    "variant": "forces a target or one kernel of hewn.variants().",
}
RAISES = "hewn.Error, a ValueError: the message names the argument and the rule, `status` the kind."


def python_name(tensor):
    """AScaleTensor is a_scale."""
    if tensor["name"] in NAMES:
        return NAMES[tensor["name"]]
    words = re.findall("[A-Z][a-z]*", tensor["name"].removesuffix("Tensor"))
    return "_".join(words).lower()


def python_type(word):
    """u8 is uint8."""
    kind = word.rstrip("0123456789")
    return KINDS[kind] + word[len(kind) :]


def python_value(word):
    """f16 is float16 and bf16 bfloat16, as the module has it too (Problem::set_attributes)."""
    return re.sub(r"f(?=\d)", "float", word)


def listed(words, last=" or "):
    return last.join(filter(None, (", ".join(words[:-1]), words[-1])))


class Operator:
    def __init__(self, row):
        self.row = row
        self.tensors = row["tensors"]
        self.names = [python_name(tensor) for tensor in self.tensors]
        self.types = row["levels"][0]["types"]
        roles = [tensor["role"] for tensor in self.tensors]
        self.inputs = self.names[: roles.index("output")]
        self.output, *self.others = self.tensors[len(self.inputs) :]
        self.attributes = [attribute["name"] for attribute in row["attributes"]]

    def keywords(self):
        """Those that can matter: axis and block_size to parameters that vary, dtype to an output
        whose type is not that of the data, out to a single one."""
        wide = any(
            t["role"] in ("scale", "zero_point") and not t["one_element"] for t in self.tensors
        )
        like = self.output["like"]
        typed = like < 0 or self.tensors[like]["role"] != "data"
        given = {"axis": wide, "block_size": wide, "dtype": typed, "out": not self.others}
        return [word for word in KEYWORDS if given.get(word, True)]

    def defaults(self):
        """Of the inputs: None for those at the end that may be absent."""
        inputs = self.tensors[: len(self.inputs)]
        required = max(i for i, t in enumerate(inputs) if not t["optional_from"])
        return ["" if i <= required else "None" for i in range(len(self.inputs))]

    def parameters(self, annotated=False, first=""):
        """What stands between the parentheses."""
        for name, tensor, default in zip(self.inputs, self.tensors, self.defaults()):
            kind = first if name == self.inputs[0] else "Tensor"
            kind += " | None" if tensor["optional_from"] else ""
            text = f"{name}: {kind}" if annotated else name
            yield text + (" = " if annotated else "=") + default if default else text
        yield "*"
        for word in self.keywords():
            yield f"{word}: {KEYWORDS[word]} = None" if annotated else f"{word}=None"
        for word in self.attributes:
            yield f"{word}: DType | None = None" if annotated else f"{word}=None"

    def type_text(self, tensor):
        if tensor["like"] < 0:
            return listed([python_type(word) for word in self.types[tensor["name"]]])
        text = f"of `{self.names[tensor['like']]}`'s type"
        if tensor["integers"]:
            text += f", {python_type(tensor['integers'])} where that is an integer's"
        if tensor["mixed"]:
            text += ", or the other one of float32 and float16"
        return text

    def shape_text(self, index, tensor):
        if tensor["one_element"]:
            return "one element"
        if tensor["role"] == "data":
            return "broadcast by NumPy's rule" if index else "any shape of at most 8 dimensions"
        return "one element, one for each index of `axis`, one for each block, or broadcast"

    def tensor_lines(self):
        for index, (name, tensor) in enumerate(zip(self.inputs, self.tensors)):
            text = f"{self.type_text(tensor)}; {self.shape_text(index, tensor)}."
            if tensor["optional_from"]:
                middle = ", or an unsigned type's middle" if tensor["middle"] else ""
                text += f" None is 0{middle}."
            yield name, text

    def default_type(self):
        like = self.output["like"]
        if like >= 0:
            other = ", or the other one of float32 and float16" if self.output["mixed"] else ""
            return f"that of `{self.names[like]}`{other}"
        data = self.types.get(self.tensors[0]["name"])
        of_data = all(word in self.types[self.output["name"]] for word in data)
        default = f"that of `{self.inputs[0]}`" if of_data else "uint8"
        given = any(t["role"] == "zero_point" for t in self.tensors)
        return "that of an array as its zero point, else " + default if given else default

    def doc(self):
        letters = {"IN": "x", "A": "a", "B": "b"}
        yield re.sub(r"\b(IN|A|B)\b", lambda m: letters[m[0]], self.row["formula"]) + "."
        yield ""
        whole = any(tensor["blocks"] for tensor in self.tensors)
        short = "" if whole else ", the last block of which may be short"
        values = {"x": self.inputs[0], "default": self.default_type(), "short": short}
        about = {word: ABOUT[word].format(**values) for word in self.keywords()}
        for attribute in self.row["attributes"]:
            first, *others = map(python_value, attribute["values"])
            text = f"ONNX's attribute of that name: {first}, which None is, {listed(others)}."
            about[attribute["name"]] = text
        for name, text in [*self.tensor_lines(), *about.items()]:
            yield from textwrap.wrap(f"{name}: {text}", 92, subsequent_indent="    ")
        yield ""
        if len(self.inputs) > 1:
            others = f"All but `{self.inputs[0]}` may be Python's numbers, or lists of them"
            text = f"{others}, which are converted to the expected type."
            if any(tensor["role"] == "scale" for tensor in self.tensors):
                text += " A scale must not become 0 or infinite by that."
            yield from textwrap.wrap(text, 92, subsequent_indent="    ")
        yield from textwrap.wrap(self.returns(), 92, subsequent_indent="    ")
        yield from textwrap.wrap(f"Raises {RAISES}", 92, subsequent_indent="    ")
        sources = [] if {level["level"] for level in self.row["levels"]} == {"hewn"} else [
            f"DirectML's {self.row['directml']}"]
        sources += [f"ONNX's {self.row['onnx']}"] if self.row["onnx"] else []
        yield f"Source: {', '.join(sources) or 'the formula, which neither DirectML nor ONNX has'}."

    def returns(self):
        out = f"`out`: {self.type_text(self.output)}; the inputs' shape."
        if not self.others:
            return f"Returns {out}" + (" It may be an input." if self.row["in_place"] else "")
        others = [f"`{python_name(t)}`: {self.type_text(t)}; one element" for t in self.others]
        return f"Returns a tuple, new each time. {out} {'. '.join(others)}."

    def call(self):
        passed = [word if word in self.keywords() else "None" for word in KEYWORDS]
        inputs = ", ".join(self.inputs) + ("," if len(self.inputs) == 1 else "")
        passed.append("(" + "".join(f"{word}, " for word in self.attributes).strip() + ")")
        return f"_call({self.row['number']}, ({inputs}), ({', '.join(passed)}))"

    def function(self):
        lines = "\n    ".join(self.doc()).replace("\n    \n", "\n\n")
        heads = textwrap.wrap(", ".join(self.parameters()), 92)
        head = "\n    ".join(heads)
        return (
            f"def {self.row['name']}(\n    {head}\n):\n"
            f'    """{lines}\n    """\n    return {self.call()}\n'
        )

    def stub(self, first, result):
        parameters = ",\n    ".join(self.parameters(annotated=True, first=first))
        if self.others:
            result = f"tuple[{', '.join([result] * (1 + len(self.others)))}]"
        return f"@overload\ndef {self.row['name']}(\n    {parameters},\n) -> {result}: ...\n"

    def entry(self):
        """A row of OPERATORS."""
        fields = {
            "number": self.row["number"],
            "command": self.row["command"],
            "formula": self.row["formula"],
            "names": tuple(self.names),
            "roles": tuple(tensor["role"] for tensor in self.tensors),
            "optional": tuple(bool(tensor["optional_from"]) for tensor in self.tensors),
            "like": tuple((tensor["like"], tensor["integers"]) for tensor in self.tensors),
            "mixed": tuple(bool(tensor["mixed"]) for tensor in self.tensors),
            "signature": tuple(self.row["signature"]),
            "keywords": tuple(self.keywords()),
            "attributes": tuple(self.attributes),
        }
        lines = "".join(f"        {name}={value!r},\n" for name, value in fields.items())
        return f'    "{self.row["name"]}": Operator(\n{lines}    ),\n'


def statuses():
    text = HEADER.read_text(encoding="utf-8")
    return re.findall(r"^    HEWN_STATUS_(\w+) =\s+(\d+)", text, re.MULTILINE)


def names_of(operators):
    names = ", ".join(f'"{op.row["name"]}"' for op in operators)
    return f"__all__ = [{names}]\n"


def status_class(doc=""):
    members = "".join(f"    {name} = {number}\n" for name, number in statuses())
    return "class Status(enum.IntEnum):\n" + doc + members


def module(operators):
    yield '"""The operators, written by generate.py from the operator table of hewn."""\n'
    yield "import enum\n\nfrom ._frameworks import empty\nfrom ._hewn import Library\n"
    yield "from ._table import Error, Operator\n\n"
    yield names_of(operators)
    yield "OPERATORS = {\n" + "".join(op.entry() for op in operators) + "}\n"
    yield "\n\n" + status_class('    """What hewn.Error tells."""\n\n')
    yield "\n\ndef _error(status, message):\n    return Error(Status(status), message)\n"
    yield "\n\n_rows = {row.number: (row.names, row.mixed) for row in OPERATORS.values()}\n"
    yield "library = Library(_rows, empty, _error)\n"
    yield "_call = library.call\n"
    for op in operators:
        yield f"\n\n{op.function()}"


def stub(operators):
    yield "import enum\nfrom typing import Any, TypeVar, overload\n\n"
    yield "from numpy.typing import NDArray\n\nfrom ._hewn import Library\n"
    yield "from ._table import DType, Operator, Tensor\n\n"
    yield names_of(operators)
    yield "OPERATORS: dict[str, Operator]\nlibrary: Library\nT = TypeVar('T')\n\n"
    yield status_class() + "\n"
    for op in operators:
        yield op.stub("NDArray[Any]", "NDArray[Any]") + op.stub("T", "T") + "\n"


def main():
    table, folder = map(pathlib.Path, sys.argv[1:])
    operators = [Operator(row) for row in json.loads(table.read_text(encoding="utf-8"))]
    for name, write in (("_operators.py", module), ("_operators.pyi", stub)):
        (folder / name).write_text("".join(write(operators)), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
