"""A kernel's search space. It is read and written as T1 JSON, a format that autotuning frameworks
share."""

import ast
import contextlib
import gzip
import itertools
import json
import math
import pathlib
import zlib

MOST_BYTES = 1 << 28  # the largest file, unpacked; a recorded space has some millions of bytes
LONGEST = 1000  # the longest condition, in characters

# The parts that a condition may have. Files come from other people, and eval() would run any code.
CONDITION = (ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.Compare,
             ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.BinOp,
             ast.Add, ast.Sub, ast.Mult, ast.Mod, ast.FloorDiv, ast.Tuple, ast.List, ast.Name,
             ast.Load, ast.Constant)


class FileError(ValueError):
    """A file is damaged, or is not of the expected kind. The message begins with the file's
    name."""


@contextlib.contextmanager
def naming(path, kind):
    """A context in which the file is read. It turns errors into a FileError that names the file."""
    try:
        yield
    except FileError:
        raise
    except (ValueError, EOFError, RecursionError, gzip.BadGzipFile, zlib.error) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise FileError(f"{path} is no {kind} file of hewn: {why}") from None
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}") from None


def read_document(path):
    """The JSON object in a file, which may be compressed (.gz)."""
    with gzip.open(path) if str(path).endswith(".gz") else open(path, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES >> 20} MiB")
    return member({"document": json.loads(data)}, "document", dict)


NUMBER = (int, float)
WORDS = {dict: "an object", list: "a list", str: "a text", int: "a whole number",
         NUMBER: "a finite number", (int, str): "a number or a text"}


def member(of, name, kind, otherwise=None):
    """of[name], which must be of that kind. If there is no such member, `otherwise` if that is
    given. Raises ValueError."""
    if name not in of:
        if otherwise is not None:
            return otherwise
        raise ValueError(f"'{name}' is missing")
    value = of[name]
    if (not isinstance(value, kind) or isinstance(value, bool)
            or (isinstance(value, float) and not math.isfinite(value))):
        raise ValueError(f"'{name}' is {json.dumps(value):.40}, expected {WORDS[kind]}")
    return value


def members(of, name, kind, otherwise=None):
    """of[name], a list whose elements must all be of that kind. `otherwise` is as in member()."""
    values = member(of, name, list, otherwise)
    for value in values:
        member({name: value}, name, kind)
    return values


def typed(value):
    """A knob's value: an int if it is a whole number, else a text."""
    return int(value) if str(value).isdigit() else str(value)


class Condition:
    """A Python expression of knobs, such as "tail != 'narrowed' or width == 16". `names` are the
    knobs in it. `numbers` are the knobs with which it calculates: their values must be whole
    numbers."""

    def __init__(self, text):
        if len(text) > LONGEST:
            raise ValueError(f"the condition '{text:.40}...' has {len(text)} characters, expected "
                             f"{LONGEST} at most")
        try:
            tree = ast.parse(text, mode="eval")
            foreign = [node for node in ast.walk(tree) if not isinstance(node, CONDITION)]
            if foreign:
                raise ValueError(f"it has a {type(foreign[0]).__name__}, where it may have "
                                 "comparisons and arithmetic of knobs alone")
            self.numbers = sorted(set(numbers_in(tree)))
            self.code = compile(tree, "condition", "eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            why = error.msg if isinstance(error, SyntaxError) else error
            raise ValueError(f"the condition '{text}': {why}") from None
        self.text = text
        self.names = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})

    def holds(self, config):
        try:
            return bool(eval(self.code, {"__builtins__": {}}, config))
        except (TypeError, ZeroDivisionError) as error:
            raise ValueError(f"the condition '{self.text}' of {config}: {error}") from None


def numbers_in(tree):
    """The knobs with which the expression calculates. Only arithmetic of knobs and whole numbers is
    allowed. A text or a list times a number, or a text with a width ('%999999999d' % 1), could take
    any amount of memory. A result of whole numbers has at most as many digits as the condition and
    the knobs' values together."""
    for node in ast.walk(tree):
        for operand in (node.left, node.right) if isinstance(node, ast.BinOp) else ():
            if isinstance(operand, ast.Name):
                yield operand.id
            elif not (isinstance(operand, (ast.BinOp, ast.Compare))
                      or (isinstance(operand, ast.Constant) and isinstance(operand.value, int))):
                raise ValueError(f"{ast.unparse(operand)} is calculated with: expected a knob or a "
                                 "whole number")


class Space:
    """The search space of one kernel. `parameters` is {knob: its values}. `conditions` are
    expressions that must all hold for a configuration. `default` is the library's present
    configuration. `meanings` is {knob: text}. A configuration is {knob: value}, with numbers as
    int."""

    def __init__(self, kernel, parameters, conditions=(), default=None, meanings=None):
        self.kernel, self.parameters = kernel, parameters
        self.conditions = [Condition(text) for text in conditions]
        self.default, self.meanings = default or {}, meanings or {}
        for condition in self.conditions:
            unknown = set(condition.names) - set(parameters)
            if unknown:
                raise ValueError(f"{kernel}: the condition '{condition.text}' has {unknown}, which "
                                 "is no knob")
            for name in condition.numbers:
                if not all(isinstance(value, int) for value in parameters[name]):
                    raise ValueError(f"{kernel}: the condition '{condition.text}' calculates with "
                                     f"{name}, whose values are {parameters[name]}, expected whole "
                                     "numbers")

    def __len__(self):
        return sum(1 for _ in self.configurations())

    def key(self, config):
        """The configuration's values in the order of the knobs: a key for dictionaries."""
        return tuple(config[name] for name in self.parameters)

    def valid(self, config):
        """Whether the configuration is in the space."""
        return (config.keys() == self.parameters.keys()
                and all(config[name] in values for name, values in self.parameters.items())
                and all(condition.holds(config) for condition in self.conditions))

    def configurations(self):
        """All valid configurations."""
        for values in itertools.product(*self.parameters.values()):
            config = dict(zip(self.parameters, values))
            if all(condition.holds(config) for condition in self.conditions):
                yield config

    def t1(self):
        """The ConfigurationSpace of T1 JSON. Each knob has two more members: Default and
        Meaning."""
        parameters = [{"Name": name, "Type": "int" if isinstance(values[0], int) else "string",
                       "Values": json.dumps(values), "Default": self.default.get(name, values[0]),
                       "Meaning": self.meanings.get(name, "")}
                      for name, values in self.parameters.items()]
        conditions = [{"Expression": condition.text, "Parameters": condition.names}
                      for condition in self.conditions]
        return {"TuningParameters": parameters, "Conditions": conditions}

    @classmethod
    def of_t1(cls, kernel, t1):
        """The Space of a ConfigurationSpace. Raises ValueError if that is damaged."""
        parameters, default, meanings = {}, {}, {}
        for parameter in members(t1, "TuningParameters", dict):
            name = member(parameter, "Name", str)
            values = {"Values": json.loads(member(parameter, "Values", str))}
            parameters[name] = members(values, "Values", (int, str))
            if not parameters[name] or name in meanings:
                raise ValueError(f"the knob '{name}' has no values or is there twice")
            meanings[name] = member(parameter, "Meaning", str, "")
            if "Default" in parameter:
                default[name] = member(parameter, "Default", (int, str))
        conditions = [member(condition, "Expression", str)
                      for condition in members(t1, "Conditions", dict, [])]
        return cls(kernel, parameters, conditions, default, meanings)


def of_kernel(build, kernel):
    """The Space of a kernel or plan of a kernels.Build. It has only the knobs that are searched,
    not those set by hand."""
    present = dict(build.complete(kernel, kernel.knobs))
    values = {name: [typed(value) for value in values]
              for name, values in build.space(kernel).items() if name not in build.by_hand}
    return Space(kernel.name, values, kernel.conditions,
                 {name: typed(present[name]) for name in values},
                 {name: build.meanings[name] for name in values})


def write_t1(space, elements, path):
    """Writes the space as a T1 file (schema 1.0.0) that states this many elements.

    Kernel Tuner can simulate hewn's kernels by the file, but not run them. Its reader needs the
    name of a kernel's file, and a language whose source it does not read, and accepts only floats
    as arguments. So the file gives its own name, the language "Hypertuner" and no arguments."""
    path = pathlib.Path(path)
    document = {
        "General": {"FormatVersion": 1, "BenchmarkName": f"hewn/{space.kernel}",
                    "OutputFormat": "JSON", "TimeUnit": "Milliseconds"},
        "ConfigurationSpace": space.t1(),
        "Search": {"Name": "brute_force"},
        "KernelSpecification": {
            "Language": "Hypertuner", "SourceLanguage": "Halide", "KernelName": space.kernel,
            "KernelFile": path.name, "ProblemSize": [elements], "Device": {"Name": "hewn"},
            "GlobalSize": {"X": "ProblemSize[0]"}, "LocalSize": {"X": "1"}, "Arguments": []}}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def read_t1(path):
    """The Space of a T1 file. Raises FileError if the file is damaged."""
    with naming(path, "T1"):
        document = read_document(path)
        kernel = member(member(document, "KernelSpecification", dict), "KernelName", str)
        return Space.of_t1(kernel, member(document, "ConfigurationSpace", dict))
