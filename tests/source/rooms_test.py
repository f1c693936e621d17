#!/usr/bin/env python3
"""No arrow points up between the rooms of the source: rooms_test.py SOURCE. Reads the #include
lines and names each file that breaks a rule.

A file may include its own room, what ROOMS lists for it, and include/hewn. Names without a file in
the source are others' or written by the build (hewn_variants' .inc files), and of no room."""
import pathlib
import re
import sys

# What each room may include beside itself and include/hewn. Of a room with a file in the list, that
# file alone.
RUNTIME = ["runtime/base", "runtime/problem", "runtime/dispatch"]
ROOMS = {
    "include/hewn": [],
    **{room: RUNTIME[:below] for below, room in enumerate(RUNTIME)},
    "runtime/cpu": RUNTIME,
    "runtime/gpu": RUNTIME,
    "runtime/wasm": [*RUNTIME, "runtime/cpu", "runtime/gpu"],
    "runtime": [*RUNTIME, "runtime/cpu", "runtime/gpu"],
    "generators": ["runtime/base/kernel_contract.h"],
}
SOURCES = {".c", ".cpp", ".h", ".hpp", ".inc"}


def included(source, file):
    """The project's files that `file` includes, relative to the source: found beside it, at the
    root or in include/, as a compiler would."""
    for name in re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', file.read_text(encoding="utf-8"),
                           flags=re.MULTILINE):
        for folder in (file.parent, source, source / "include"):
            path = pathlib.Path(folder / name).resolve()
            if path.is_file() and path.is_relative_to(source):
                yield path.relative_to(source).as_posix()
                break
        else:
            if name.startswith("."):  # must be ours: moved, or misspelt
                yield f"{name}, which is not there"


def faults(source):
    source = source.resolve()
    for room, below in ROOMS.items():
        files = sorted(file for file in (source / room).glob("*") if file.suffix in SOURCES)
        if not files:
            yield f"{room}: no file to look at"
        for file in files:
            for path in included(source, file):
                folder = path.rpartition("/")[0]
                if folder not in (room, "include/hewn", *below) and path not in below:
                    yield (f"{file.relative_to(source)}: {room} may not include {path}; it may "
                           f"include: {' '.join(['include/hewn', *below])}")
    known = {source / room for room in ROOMS}
    for folder in {file.parent for room in ROOMS for file in (source / room).rglob("*")
                   if file.suffix in SOURCES} - known:
        yield f"{folder.relative_to(source)}: a room that rooms_test.py does not know"


if __name__ == "__main__":
    found = list(faults(pathlib.Path(sys.argv[1])))
    print("\n".join(found) if found else "no include points up")
    sys.exit(bool(found))
