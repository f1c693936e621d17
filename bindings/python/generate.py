"""Writes the Python functions of the operators and their type stubs:

    generate.py OPERATORS_JSON FOLDER

OPERATORS_JSON is lists/operators.py as JSON: generated/operators.json of a build, or
lib/cmake/hewn/operators.json where hewn is installed. FOLDER gets _operators.py and _operators.pyi.
The docstrings of the functions, which help() shows, are composed here from the table. A new
operator needs no change here."""

import json
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))
from lists.files import SMALL_FLOATS as FORMATS  # noqa: E402

HEADER = ROOT / "include/hewn/hewn.h"
NAMES = {"InputTensor": "x", "OutputTensor": "out"}
KINDS = {"f": "float", "bf": "bfloat", "i": "int", "u": "uint"}
# The floats of at most 8 bits, with the names that ml_dtypes and PyTorch give them.
SMALL_FLOATS = {numbers["name"]: numbers["numpy"] for numbers in FORMATS}
KEYWORDS = {
    "axis": "int | None",
    "block_size": "int | None",
    "dtype": "DType | None",
    "scale_dtype": "DType | None",
    "out": "Any",
    "threads": "int | None",
    "variant": "str | None",
}
ABOUT = {
    "axis": "the dimension of `{x}` along which a scale or zero point of one dimension goes; a"
    " negative one counts from the end. Without it they are broadcast by NumPy's rule.",
    "block_size": "how many elements along `axis` share one scale and zero point; {short}.",
    "dtype": "the type of the result, as a name (\"int8\") or as a type of NumPy, PyTorch or"
    " ml_dtypes. By default it is {default}.",
    "scale_dtype": "the type of the scales: {scales}. By default it is float32.",
    "out": "an array that receives the result, of the result's type and shape. It may be strided."
    " {overlap} By default a new contiguous array is made, of PyTorch if `{x}` is, otherwise of NumPy.",
    "threads": "the most threads that the call uses; 1 keeps it on the calling thread. By default"
    " it uses as many as help.",
    "variant": "a target (\"x86_64_avx2\") or the name of a kernel, as in hewn.variants(), to use"
    " instead of the best one for this CPU.",
}
TYPE_WITHOUT_DEFAULT = ABOUT["dtype"].replace(" By default it is {default}.", " It has no default.")
# The same where the operator chooses the scales.
ABOUT_CHOSEN = {
    "axis": "the dimension of `{x}` whose elements share a scale: with -1 each row of a matrix has one. A"
    " negative one counts from the end. Without it all elements share one.",
    "block_size": "how many elements along `axis` share a scale, instead of all of them; the last block may"
    " be shorter.",
}
# The same where the operator's format has blocks.
ABOUT_FORMAT = {
    "axis": "the dimension of `{x}` along which the blocks lie; a negative one counts from the end.",
    "block_size": "how many elements a block has; the last one may be shorter.",
}
ATTRIBUTES = {
    "saturate": " It is about an output of float8: True makes the largest number of whatever is beyond"
    " it, False makes infinity, or NaN in a type without infinity.",
}
PARAMETERS = {
    "min_scale": "the least scale, for asymmetric and symmetric; 0 (the default) is none. It is also the scale"
    " of a block of zeros, which otherwise is 1.",
}
RAISES = (
    "hewn.Error, a ValueError, if an argument breaks a rule. The message names the argument and the"
    " rule, `status` the kind of rule. Nothing has been written then."
)


def python_name(tensor):
    """The argument's name: a_scale for AScaleTensor."""
    if tensor["name"] in NAMES:
        return NAMES[tensor["name"]]
    words = re.findall("[A-Z][a-z]*", tensor["name"].removesuffix("Tensor"))
    return "_".join(words).lower()


def python_type(word):
    """A type's name in Python: uint8 for u8."""
    if word in SMALL_FLOATS:
        return SMALL_FLOATS[word]
    kind = word.rstrip("0123456789")
    return KINDS[kind] + word[len(kind) :]


def python_value(word):
    """An attribute's value in Python: float16 for f16, bfloat16 for bf16, True for 1.
    in_python() of the extension module does the same."""
    if word in ("0", "1"):
        return str(word == "1")
    return re.sub(r"f(?=\d)", "float", word)


def listed(words, last=" or "):
    return last.join(filter(None, (", ".join(words[:-1]), words[-1])))


def attribute_text(attribute):
    """What the keyword of an attribute may be."""
    if attribute["of"] and attribute["name"] in PARAMETERS:
        return PARAMETERS[attribute["name"]]
    if attribute["of"]:
        return f"a number, which {listed(attribute['of'], ' and ')} need{'s' * (len(attribute['of']) == 1)}."
    first, *others = map(python_value, attribute["values"])
    onnx = "ONNX's attribute of that name: " if attribute["onnx"] else ""
    values = listed([f"{first} (the default)", *others])
    return f"{onnx}{values}.{ATTRIBUTES.get(attribute['name'], '')}"


class Operator:
    def __init__(self, row):
        self.row = row
        self.tensors = row["tensors"]
        self.names = [python_name(tensor) for tensor in self.tensors]
        self.types = row["levels"][0]["types"]
        roles = [tensor["role"] for tensor in self.tensors]
        self.inputs = self.names[: roles.index("output")]
        self.output, *self.others = self.tensors[len(self.inputs) :]
        self.chooses_blocks = any(tensor["blocks"] for tensor in self.others)
        # The keywords whose default is not None.
        blocks = row["block_size"]
        self.keyword_defaults = {"axis": -1, "block_size": blocks} if blocks else {}
        self.attributes = [attribute["name"] for attribute in row["attributes"]]
        self.choices = {
            a["name"]: [*map(python_value, a["values"])] for a in row["attributes"] if a["values"]
        }
        self.parameters_of = {a["name"]: a["of"] for a in row["attributes"] if a["of"]}

    def type_name(self, word):
        return python_type(word)

    def attribute_type(self, name):
        if name in self.parameters_of:
            return "float"
        return "bool" if "True" in self.choices[name] else "DType"

    def keywords(self):
        """The keywords that the function has: axis and block_size if a scale or zero point may have
        several elements, dtype if the output's type does not follow from the data, scale_dtype if
        scales of several types can be chosen, out if there is one output."""
        wide = any(
            t["role"] in ("scale", "zero_point") and not t["one_element"] for t in self.tensors
        )
        like = self.output["like"]
        typed = len(self.types[self.output["name"]]) > 1 if like < 0 else self.tensors[like]["role"] != "data"
        blocks = wide or self.chooses_blocks
        scales = self.types[self.others[0]["name"]] if self.chooses_blocks else []
        given = {
            "axis": blocks, "block_size": blocks, "dtype": typed, "scale_dtype": len(scales) > 1,
            "out": not self.others,
        }
        return [word for word in KEYWORDS if given.get(word, True)]

    def requires_type(self):
        """Whether the function has a dtype without a default. It is then a positional parameter."""
        usual = {"u8", "f32"} & {*self.types.get(self.output["name"], [])}
        return self.output["like"] < 0 and "dtype" in self.keywords() and not usual

    def defaults(self):
        """The defaults of the inputs: "None" for optional inputs at the end, "" for the others."""
        inputs = self.tensors[: len(self.inputs)]
        required = max(i for i, t in enumerate(inputs) if not t["optional_from"])
        return ["" if i <= required else "None" for i in range(len(self.inputs))]

    def parameters(self, annotated=False, first=""):
        """The parameters of the function, or of its stub if `annotated`. `first` is the annotation
        of the first one."""
        for name, tensor, default in zip(self.inputs, self.tensors, self.defaults()):
            kind = first if name == self.inputs[0] else "Tensor"
            kind += " | None" if tensor["optional_from"] else ""
            text = f"{name}: {kind}" if annotated else name
            yield text + (" = " if annotated else "=") + default if default else text
        if self.requires_type():
            yield "dtype: DType" if annotated else "dtype"
        yield "*"
        for word in self.keywords():
            if word == "dtype" and self.requires_type():
                continue
            default = self.keyword_defaults.get(word)
            yield f"{word}: {KEYWORDS[word]} = {default}" if annotated else f"{word}={default}"
        for word in self.attributes:
            kind = self.attribute_type(word)
            yield f"{word}: {kind} | None = None" if annotated else f"{word}=None"

    def type_text(self, tensor):
        if tensor["like"] < 0:
            return listed([self.type_name(word) for word in self.types[tensor["name"]]])
        if tensor["mixed"]:
            words = self.types[self.tensors[tensor["like"]]["name"]]
            floats = [word for word in words if word.startswith(("f", "bf")) and word not in SMALL_FLOATS]
            return listed([self.type_name(word) for word in floats + tensor["others"]])
        return self.like_text(tensor)

    def like_text(self, tensor):
        text = f"the type of `{self.names[tensor['like']]}`"
        if tensor["integers"]:
            text += f", or {self.type_name(tensor['integers'])} if that is an integer type"
        return text

    def shape_text(self, index, tensor):
        if tensor["one_element"]:
            return "one element"
        if tensor["role"] == "data":
            others = f"a shape that NumPy's rule broadcasts with that of `{self.inputs[0]}`"
            return others if index else "any shape of at most 8 dimensions"
        if tensor["role"] == "zero_point":
            return f"the same shapes as `{self.inputs[1]}`"
        return (
            "one element, one for each index of `axis`, one for each block of `block_size` elements"
            f" along `axis`, or a shape that NumPy's rule broadcasts to that of `{self.inputs[0]}`"
        )

    def number_text(self, tensor):
        """What a number becomes where the argument may have several types."""
        if tensor["role"] != "scale" or tensor["one_element"]:
            return ""
        if tensor["mixed"]:
            return f" A number becomes {self.like_text(tensor)}."
        if tensor["like"] < 0:
            first, *others = self.types[tensor["name"]]
            asked = ", or the type that `dtype` or `out` asks for" if others else ""
            return f" A number becomes {self.type_name(first)}{asked}."
        return ""

    def absent_text(self, tensor):
        """What an absent tensor means, and which zero points are allowed where that depends on types."""
        if not tensor["optional_from"]:
            return ""
        if tensor["role"] == "scale":
            return " Without it hewn chooses it, and returns it too."
        middle = ", or for an unsigned type the middle of its range" if tensor["middle"] else ""
        text = f" None means 0{middle}."
        if SMALL_FLOATS.keys() & self.types.get(self.tensors[tensor["like"]]["name"], []):
            text += " Floats have no zero point but 0, and hewn does not read an array of them."
        return text

    def tensor_lines(self):
        for index, (name, tensor) in enumerate(zip(self.inputs, self.tensors)):
            text = f"{self.type_text(tensor)}; {self.shape_text(index, tensor)}."
            yield name, text + self.number_text(tensor) + self.absent_text(tensor)

    def default_type(self):
        like = self.output["like"]
        if like >= 0:
            words = self.types.get(self.tensors[like]["name"], [])
            scales = [python_type(word) for word in words if word in SMALL_FLOATS]
            other = f", or float32 if that is {listed(scales)}" if scales else ""
            return f"that of `{self.names[like]}`{other}"
        if "u8" not in self.types[self.output["name"]]:
            return "float32"
        data = self.types.get(self.tensors[0]["name"])
        of_data = all(word in self.types[self.output["name"]] for word in data)
        default = f"that of `{self.inputs[0]}`" if of_data else "uint8"
        given = [
            name for name, t in zip(self.names, self.tensors)
            if t["role"] == "zero_point" and t["like"] == len(self.inputs)
        ]
        return f"that of `{given[0]}` if that is an array, otherwise {default}" if given else default

    def doc(self):
        letters = {"IN": "x", "A": "a", "B": "b"}
        yield re.sub(r"\b(IN|A|B)\b", lambda m: letters[m[0]], self.row["formula"]) + "."
        yield ""
        whole = any(tensor["blocks"] for tensor in self.tensors)
        short = "the size of `axis` is a multiple of it" if whole else "the last block may be shorter"
        overlap = "It must not overlap an input."
        if self.row["in_place"]:
            overlap = "It may be one of the inputs, but must not overlap them otherwise."
        values = {
            "x": self.inputs[0], "default": self.default_type(), "short": short, "overlap": overlap,
            "scales": self.type_text(self.others[0]) if self.others else "",
        }
        texts = ABOUT | (ABOUT_CHOSEN if self.chooses_blocks else {})
        texts |= ABOUT_FORMAT if self.keyword_defaults else {}
        if self.requires_type():
            texts["dtype"] = TYPE_WITHOUT_DEFAULT
        about = {word: texts[word].format(**values) for word in self.keywords()}
        for attribute in self.row["attributes"]:
            about[attribute["name"]] = attribute_text(attribute)
        for name, text in [*self.tensor_lines(), *about.items()]:
            yield from textwrap.wrap(f"{name}: {text}", 92, subsequent_indent="    ")
        yield ""
        if len(self.inputs) > 1:
            text = (
                "The inputs after the first may also be Python numbers or lists of numbers. hewn"
                " converts them to the input's type, rounding once."
            )
            if any(tensor["role"] == "scale" for tensor in self.tensors):
                text += " hewn refuses a scale that becomes 0 or infinite by this."
            yield from textwrap.wrap(text, 92)
        yield from textwrap.wrap(self.returns(), 92)
        yield from textwrap.wrap(f"Raises {RAISES}", 92)
        sources = [] if {level["level"] for level in self.row["levels"]} == {"hewn"} else [
            f"DirectML's {self.row['directml']}"]
        sources += [f"ONNX's {self.row['onnx']}"] if self.row["onnx"] else []
        yield f"Source: {', '.join(sources) or 'hewn, as neither DirectML nor ONNX has this operator'}."
        yield "docs/numerics.md in hewn's source has the formula with every rounding."

    def returns(self):
        data = [t for t in self.tensors[: len(self.inputs)] if t["role"] == "data"]
        shape = f"the shape of `{self.inputs[0]}`"
        if len(data) > 1:
            shape = "the shape that the inputs are broadcast to"
        out = f"`out`: {self.type_text(self.output)}; {shape}."
        if not self.others:
            return f"Returns {out}"
        shape = "one element"
        if self.chooses_blocks:
            shape = f"as many dimensions as `{self.inputs[0]}`, with an element for each block"
            if not self.keyword_defaults:
                shape = f"one element, or with `axis` {shape}"
        others = [
            f"`{python_name(t)}`: {self.type_text(t)}; {'one element' if t['one_element'] else shape}"
            for t in self.others
        ]
        if self.others[-1]["optional_from"]:
            others[-1] += f"; only if {self.condition_text()}"
        return f"Returns a tuple of new arrays. {out} {'. '.join(others)}."

    def condition_text(self):
        """When the optional output is there."""
        if self.attributes:
            return f"`{self.attributes[0]}` is {self.row['attributes'][0]['values'][0]}"
        inputs = zip(self.names, self.tensors[: len(self.inputs)])
        return f"`{next(name for name, t in inputs if t['optional_from'])}` is None"

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
            several = any(tensor["optional_from"] for tensor in self.others)
            items = [result, "..."] if several else [result] * (1 + len(self.others))
            result = f"tuple[{', '.join(items)}]"
        return f"@overload\ndef {self.row['name']}(\n    {parameters},\n) -> {result}: ...\n"

    def entry(self):
        """The operator's row of OPERATORS in _operators.py, as source text."""
        fields = {
            "number": self.row["number"],
            "command": self.row["command"],
            "formula": self.row["formula"],
            "names": tuple(self.names),
            "roles": tuple(tensor["role"] for tensor in self.tensors),
            "optional": tuple(bool(tensor["optional_from"]) for tensor in self.tensors),
            "like": tuple((tensor["like"], tensor["integers"]) for tensor in self.tensors),
            "mixed": tuple(bool(tensor["mixed"]) for tensor in self.tensors),
            "types": tuple(tuple(map(python_type, self.types.get(t["name"], []))) for t in self.tensors),
            "signature": tuple(self.row["signature"]),
            "block_size": self.row["block_size"],
            "keywords": tuple(self.keywords()),
            "attributes": tuple(self.attributes),
            "choices": {name: tuple(values) for name, values in self.choices.items()},
            "parameters_of": {name: tuple(of) for name, of in self.parameters_of.items()},
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
    yield "# Python's names of all types that operators take.\nTYPES = {\n"
    for word in dict.fromkeys(word for op in operators for words in op.types.values() for word in words):
        yield f'    "{word}": "{python_type(word)}",\n'
    yield "}\n"
    yield "\n\n" + status_class('    """The kind of rule that a call broke: hewn.Error.status."""\n\n')
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
    yield "OPERATORS: dict[str, Operator]\nTYPES: dict[str, str]\nlibrary: Library\nT = TypeVar('T')\n\n"
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
