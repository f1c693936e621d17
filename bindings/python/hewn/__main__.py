"""Shows what this build of hewn can run, checks it against NumPy, and runs the operators on .npy
files."""

from __future__ import annotations

import argparse
import ast
import inspect
import sys
from typing import Any

import numpy

import hewn
from hewn._operators import OPERATORS
from hewn._table import Operator


def value(text: str) -> Any:
    """The value of an argument: a number, a list of numbers, or the array of a .npy file."""
    try:
        number = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        number = None
    if isinstance(number, (int, float, list, tuple)):
        return number
    try:
        return numpy.load(text, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from None


def option(word: str) -> str:
    return "--" + word.replace("_", "-")


def add_operator(commands: Any, name: str, row: Operator) -> None:
    about = getattr(hewn, name).__doc__
    parser = commands.add_parser(
        row.command,
        help=row.formula,
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for tensor, role, optional in zip(row.inputs, row.roles, row.optional):
        if role == "data":
            parser.add_argument(tensor, type=value, help="a .npy file, or a number")
        else:
            parser.add_argument(option(tensor), type=value, required=not optional, metavar="VALUE")
    parameters = inspect.signature(getattr(hewn, name)).parameters
    for word in row.keywords:
        if word != "out":
            kind = str if word in ("dtype", "scale_dtype", "variant") else int
            required = parameters[word].default is inspect.Parameter.empty
            parser.add_argument(option(word), type=kind, metavar=word.upper(), required=required)
    for word in row.attributes:
        number = word in row.parameters_of
        parser.add_argument(option(word), type=float if number else str, metavar=word.upper())
    parser.add_argument("-o", "--out", required=True, metavar="FILE", help="the .npy file to write")
    parser.set_defaults(run=run_operator, operator=name)


def run_operator(given: argparse.Namespace) -> int:
    row, values = OPERATORS[given.operator], vars(given)
    inputs = [values[tensor] for tensor in row.inputs]
    words = [word for word in row.keywords + row.attributes if word != "out"]
    keywords = {word: values[word] for word in words if values[word] is not None}
    result = getattr(hewn, given.operator)(*inputs, **keywords)
    first, *others = result if isinstance(result, tuple) else (result,)
    numpy.save(given.out, first, allow_pickle=False)
    for tensor, array in zip(row.names[len(inputs) + 1 :], others):
        print(f"{tensor}: {array}")
    return 0


def run_info(given: argparse.Namespace) -> int:
    about = hewn.info()
    print(f"hewn {about.version}, NumPy {numpy.__version__}, Python {sys.version.split()[0]}")
    for target in about.targets:
        kernels = [v for v in about.variants if v.target == target.name]
        runs = "runs here" if target.supported else f"lacks {target.missing}"
        picked = sum(v.picked for v in kernels)
        print(f"{target.name}: {len(kernels)} kernels, {picked} picked; {runs}")
    return 0


def run_verify(given: argparse.Namespace) -> int:
    results = hewn.verify(given.pattern)
    for result in results:
        if result.wrong:
            print(f"{result.variant}: {result.wrong} of {result.elements} elements are wrong")
    wrong = sum(bool(result.wrong) for result in results)
    print(f"{len(results)} kernels against NumPy: {wrong} differ")
    return int(wrong > 0)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m hewn", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    info = commands.add_parser("info", help="show the version, the targets and which of them run here")
    info.set_defaults(run=run_info)
    verify = commands.add_parser("verify", help="compare every kernel that runs here with NumPy")
    verify.add_argument("pattern", nargs="?", default="", help="only kernels with this in their name")
    verify.set_defaults(run=run_verify)
    for name, row in OPERATORS.items():
        add_operator(commands, name, row)
    return parser


def main() -> int:
    given = arguments().parse_args()
    try:
        return int(given.run(given))
    except (hewn.Error, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
