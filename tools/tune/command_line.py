"""The command line of ./tune.sh. It imports nothing that must be installed. ../../tune.sh first
runs this file as a program. So --help and mistakes are answered before any environment is made.
Otherwise this prints the command, which tells ../../tune.sh what to set up."""

import argparse
import difflib
import pathlib
import re
import sys

from hewn_tune import benchmark

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def seconds(text):
    match = re.fullmatch(r"(\d+)(s|m|h)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time such as 90s, 10m or 1h")
    return int(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]


def path(text):
    return pathlib.Path(text).resolve()  # compilers run in other folders


def folder(text):
    if not path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text}: not a folder")
    return path(text)


def file(text):
    if not path(text).is_file():
        raise argparse.ArgumentTypeError(f"{text}: there is no such file")
    return path(text)


def runner(text):
    if not re.fullmatch(r"local|qemu|adb|ssh:.+", text):
        raise argparse.ArgumentTypeError(f"{text}: not local, qemu, ssh:HOST or adb")
    return text


def own_optimiser(text):
    if not re.fullmatch(r"[\w.]+:\w+", text):
        raise argparse.ArgumentTypeError(
            f"'{text}' is not MODULE:FUNCTION; --optimisers chooses from those that are built in")
    return text


def built_in_optimisers(text):
    names = [] if text == "none" else text.split(",")
    unknown = set(names) - set(benchmark.OPTIMISERS)
    if unknown:
        raise argparse.ArgumentTypeError(
            f"not known: {' '.join(sorted(unknown))}; there are {' '.join(benchmark.OPTIMISERS)}, "
            "and --optimiser takes your own")
    return names


# ---- The options, by subject ----

def add_selection(parser, build_dir):
    """Adds the options that choose kernels, and the folders from which they are built."""
    parser.add_argument("--target", default="auto",
                        help="a target of lists/targets.py; auto (the default): for each "
                             "signature the best that this machine runs; export-space: all")
    parser.add_argument("--op", action="append", default=[],
                        help="an operator; may be repeated; default: all")
    parser.add_argument("--signature", action="append", default=[],
                        help="a signature of the one --op, as f32_u8, or without --op one with its "
                             "operator, as add_f32; may be repeated; default: all")
    parser.add_argument("--form", action="append", default=[],
                        help="a form of kernels, or plan; may be repeated; default: all")
    parser.add_argument("--tuning-dir", type=folder, default=SOURCE / "tuning",
                        help="the folder of <target>.json (default: tuning/)")
    parser.add_argument("--build-dir", type=path, default=SOURCE / build_dir,
                        help=f"where it builds and keeps its cache (default: {build_dir}/)")


def add_measuring(parser):
    """Adds the options that say how long and where candidates are measured."""
    parser.add_argument("--budget", type=seconds, default=seconds("10m"),
                        help="searching time: 90s, 10m (the default), 1h")
    parser.add_argument("--cpu", help="measure on this CPU only; default: the last one")
    parser.add_argument("--jobs", type=int,
                        help="candidates built at a time; default: one for each CPU")
    parser.add_argument("--runner", type=runner, default="local",
                        help="where candidates run: local, qemu (to try the mechanics), ssh:HOST, "
                             "adb")
    parser.add_argument("--dask", metavar="ADDRESS",
                        help="a Dask scheduler to spread builds and measurements over")
    parser.add_argument("--chip", default="chip",
                        help="with --dask: the resource of the workers that measure")


def add_out(parser):
    parser.add_argument("--out", type=path, default=path("tune-data"),
                        help="the folder that gets the files (default: ./tune-data)")


def add_search(parser):
    add_selection(parser, "build-tune")
    add_measuring(parser)
    parser.add_argument("--report", action="store_true",
                        help="search nothing: compare the present knobs with the defaults and with "
                             "Halide's autoschedulers")
    parser.add_argument("--against", type=folder,
                        help="with --report: a folder of tuning files to compare with instead of "
                             "the defaults")
    others = "\n".join(f"  {name:<13} {about}" for name, (about, _) in COMMANDS.items()
                       if name != "search")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = f"other commands, which have a --help of their own:\n{others}"


def add_export_space(parser):
    add_selection(parser, "build-tune/spaces")
    parser.add_argument("--elements", type=int, default=65536,
                        help="the number of elements that the files state (default: 65536)")
    add_out(parser)


def add_record(parser):
    add_selection(parser, "build-tune")
    add_measuring(parser)
    parser.add_argument("--elements", type=int, action="append",
                        help="a number of elements; may be repeated; default: 65536")
    add_out(parser)


def add_merge(parser):
    parser.add_argument("out", metavar="ALL", type=path, help="the file to write")
    parser.add_argument("files", metavar="FILE", nargs="+", type=file, help="T4 files to join")


def add_benchmark(parser):
    parser.add_argument("files", metavar="FILE", nargs="*", type=file,
                        help="T4 files of recorded spaces")
    parser.add_argument("--optimisers", metavar="NAME,NAME...", type=built_in_optimisers,
                        default=list(benchmark.OPTIMISERS),
                        help="those that are built in, or none; default: "
                             + ",".join(benchmark.OPTIMISERS))
    parser.add_argument("--optimiser", metavar="MODULE:FUNCTION", type=own_optimiser,
                        action="append", default=[],
                        help="an optimiser of your own (docs/tuning.md), compared with those that "
                             "are built in; the module is looked for in the current folder; may be "
                             "repeated")
    parser.add_argument("--repeats", type=int, default=100,
                        help="runs of each optimiser (default: 100)")
    parser.add_argument("--evaluations", type=int, default=200,
                        help="evaluations of each run (default: 200)")
    parser.add_argument("--objective", default="time",
                        help="the measurement to minimise, as 'time dense, 65536 elements' "
                             "(default: time)")
    add_out(parser)


# {name: (what the command does, the function that adds its options)}
COMMANDS = {
    "search": ("tunes the kernels' knobs for this machine's chip", add_search),
    "export-space": ("writes the kernels' search spaces as T1 files", add_export_space),
    "record": ("measures whole search spaces and writes them as T4 files", add_record),
    "merge": ("joins T4 files", add_merge),
    "benchmark": ("compares optimisers on recorded spaces", add_benchmark),
}


def parser_of(command):
    about, add = COMMANDS[command]
    name = "tune.sh" if command == "search" else f"tune.sh {command}"
    parser = argparse.ArgumentParser(prog=name, allow_abbrev=False,
                                     description=f"{about[0].upper()}{about[1:]}. docs/tuning.md "
                                                 "tells more.")
    add(parser)
    if command != "merge":
        parser.add_argument("--set-up", action="store_true",
                            help="make the environment that the command needs, and stop")
    return parser


def arguments(words):
    """The options that the command line's words give. Their `command` is one of COMMANDS. Ends the
    program if the words are wrong, and after --help."""
    named = bool(words) and not words[0].startswith("-")
    command = words[0] if named else "search"
    if command not in COMMANDS:
        near = difflib.get_close_matches(command, COMMANDS, 1)
        hint = f"did you mean {near[0]}?" if near else f"the commands are {', '.join(COMMANDS)}"
        parser_of("search").error(f"'{command}' is not a command; {hint}")
    parser = parser_of(command)
    options, unknown = parser.parse_known_args(
        words[named:], argparse.Namespace(command=command, set_up=False))
    if unknown:
        misplaced = [word for word in unknown if word in COMMANDS]
        parser.error(f"{misplaced[0]}: a command comes before its options" if misplaced
                     else f"unrecognized arguments: {' '.join(unknown)}")
    if command == "record":
        options.elements = sorted(set(options.elements or [65536]))
    if command == "benchmark":
        if not options.files and not options.set_up:
            parser.error("FILE: no T4 file is named; docs/measurements/spaces has some")
        if not options.optimisers and not options.optimiser:
            parser.error("--optimisers none: then name an --optimiser of your own")
    if getattr(options, "signature", None) and len(options.op) > 1:
        parser.error("--signature with several --op: leave those out and name add_f32 and the like")
    return options


if __name__ == "__main__":
    print(arguments(sys.argv[1:]).command)
