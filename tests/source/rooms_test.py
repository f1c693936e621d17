#!/usr/bin/env python3
"""Checks that the folders of the source include each other in one direction only: rooms_test.py
SOURCE

A folder is called a room here. A file may include files of its own room, of the rooms that ROOMS
lists for it, and of include/hewn. The test reads the #include lines and names each file that breaks
this rule. Names without a file in the source belong to no room: they are other projects', or
written by the build (.inc files)."""
import pathlib
import re
import sys

# The rooms and files that each room may include, besides itself and include/hewn. Where the list
# has a file, the room may include only that file of its folder.
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
    """The project's files that `file` includes, relative to the source. As a compiler would, it
    looks for them next to the file, at the root and in include/."""
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
