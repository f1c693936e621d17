"""A kernel's search space, and the T1 JSON that autotuning frameworks read it as."""

import ast
import itertools
import json
import pathlib

# What a condition may be made of: files come from others, and eval() would run anything.
CONDITION = (ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.Compare,
             ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.BinOp,
             ast.Add, ast.Sub, ast.Mult, ast.Mod, ast.FloorDiv, ast.Tuple, ast.List, ast.Name,
             ast.Load, ast.Constant)


def typed(value):
    """A knob's value as a number if it is one."""
    return int(value) if str(value).isdigit() else str(value)


class Condition:
    """A Python expression of knobs, such as "tail != 'packed' or width == 16"."""

    def __init__(self, text):
        tree = ast.parse(text, mode="eval")
        foreign = [node for node in ast.walk(tree) if not isinstance(node, CONDITION)]
        if foreign:
            raise ValueError(f"the condition '{text}' has a {type(foreign[0]).__name__}: "
                             "it may have comparisons and arithmetic of knobs alone")
        self.text = text
        self.names = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})
        self.code = compile(tree, "condition", "eval")

    def holds(self, config):
        return bool(eval(self.code, {"__builtins__": {}}, config))


class Space:
    """The knobs of one kernel. `parameters`: {knob: its values}; `conditions`: expressions that all
    hold for a configuration; `default`: the library's present configuration; `meanings`: {knob:
    text}. A configuration is {knob: value}, with numbers as int."""

    def __init__(self, kernel, parameters, conditions=(), default=None, meanings=None):
        self.kernel, self.parameters = kernel, parameters
        self.conditions = [Condition(text) for text in conditions]
        self.default, self.meanings = default or {}, meanings or {}
        for condition in self.conditions:
            unknown = set(condition.names) - set(parameters)
            if unknown:
                raise ValueError(f"{kernel}: the condition '{condition.text}' has {unknown}, which "
                                 "is no knob")

    def __len__(self):
        return sum(1 for _ in self.configurations())

    def key(self, config):
        """The configuration's values, in the order of the knobs."""
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
        """The ConfigurationSpace of T1 JSON, with two members more a knob: Default and Meaning."""
        parameters = [{"Name": name, "Type": "int" if isinstance(values[0], int) else "string",
                       "Values": json.dumps(values), "Default": self.default.get(name, values[0]),
                       "Meaning": self.meanings.get(name, "")}
                      for name, values in self.parameters.items()]
        conditions = [{"Expression": condition.text, "Parameters": condition.names}
                      for condition in self.conditions]
        return {"TuningParameters": parameters, "Conditions": conditions}

    @classmethod
    def of_t1(cls, kernel, t1):
        """The space of a ConfigurationSpace."""
        parameters = t1["TuningParameters"]
        return cls(kernel, {p["Name"]: json.loads(p["Values"]) for p in parameters},
                   [c["Expression"] for c in t1.get("Conditions", [])],
                   {p["Name"]: p["Default"] for p in parameters if "Default" in p},
                   {p["Name"]: p.get("Meaning", "") for p in parameters})


def of_kernel(build, kernel):
    """The Space of a kernel or a plan of a kernels.Build: the knobs that are searched."""
    present = dict(build.complete(kernel, kernel.knobs))
    values = {name: [typed(value) for value in values]
              for name, values in build.space(kernel).items() if name not in build.by_hand}
    return Space(kernel.name, values, build.conditions(kernel),
                 {name: typed(present[name]) for name in values},
                 {name: build.meanings[name] for name in values})


def write_t1(space, elements, path):
    """Writes the space as a T1 file (schema 1.0.0), as of so many elements. Kernel Tuner's reader
    wants a file and a language whose source it does not look at, and takes no arguments but floats:
    it can simulate hewn's kernels, not run them."""
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
    """The Space of a T1 file."""
    document = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    return Space.of_t1(document["KernelSpecification"]["KernelName"],
                       document["ConfigurationSpace"])
