"""Writes the files of a build that are made from the lists, or ends with an error that names the
line of the mistake.

    generate.py FOLDER --arch ARCH --system SYSTEM --halide VERSION --tuning FOLDER [OPTION...]

CMake runs it while it configures (cmake/Lists.cmake). It needs Python 3.9 or newer and nothing
else."""

from __future__ import annotations

import argparse
import pathlib
import sys
import traceback

if sys.version_info < (3, 9):
    sys.exit(f"{sys.executable} is Python {sys.version.split()[0]}; hewn needs 3.9 or newer")
sys.dont_write_bytecode = True  # the sources may be read-only
sys.path[0] = str(pathlib.Path(__file__).resolve().parents[1])

from lists.declarations import Mistake  # noqa: E402

# The modules that are data.
LISTS = ("chips", "data_types", "pass_kernels", "knobs", "onnx_nodes", "operators", "targets", "transpositions")
# Options whose values CMake knows and the tuner needs.
SETTINGS = ("halide", "halide_library", "source", "tuning", "cc", "objcopy")


def words(text: str) -> list[str]:
    return [word for word in text.split(";") if word]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="where the files are written")
    parser.add_argument("--arch", required=True, help="in Halide's words, as the system")
    parser.add_argument("--system", required=True)
    parser.add_argument("--cross", action="store_true", help="the system is not the one that builds")
    for option in ("operators", "signatures", "targets"):
        parser.add_argument(f"--{option}", type=words, default=[], help=f"HEWN_{option.upper()}")
    parser.add_argument("--feature-level", default="hewn", help="HEWN_FEATURE_LEVEL")
    for setting in SETTINGS:
        parser.add_argument(f"--{setting.replace('_', '-')}", default="", required=setting in ("halide", "tuning"))
    return parser.parse_args()


def write(folder: pathlib.Path, texts: dict[str, str]) -> None:
    """Writes the files. A file whose text is the same as before keeps its time, so that nothing is
    built again because of it."""
    for name, text in texts.items():
        file = folder / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())


def main() -> None:
    # Imported here, since reading the lists may fail.
    from lists.build import Build, Options
    from lists.files import all_files

    given = parse_arguments()
    if not given.tuning:
        raise Mistake("HEWN_TUNING_DIR: it is empty, expected a folder")
    options = Options(
        arch=given.arch,
        system=given.system,
        halide=given.halide,
        tuning=pathlib.Path(given.tuning),
        operators=given.operators,
        signatures=given.signatures,
        targets=given.targets,
        feature_level=given.feature_level,
        cross=given.cross,
    )
    write(given.folder, all_files(Build(options), {name: getattr(given, name) for name in SETTINGS}))


def line_of_list(error: Exception) -> str:
    """The line of a list in which Python failed, because it does not know a word there; empty if
    Python failed elsewhere."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{last.filename}:{last.lineno}" if pathlib.Path(last.filename).stem in LISTS else ""


if __name__ == "__main__":
    try:
        main()
    except Mistake as mistake:
        sys.exit(str(mistake))
    except Exception as error:
        if not line_of_list(error):
            raise
        sys.exit(f"{line_of_list(error)}: {error}")
