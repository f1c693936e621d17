#!/usr/bin/env python3
"""Packs what is built: the systems that a form takes and that are in STAGE, each as
`cmake --install` leaves it in STAGE/<system>, with DEBUG/<system> for debug symbols. Prints each
file it writes."""

import argparse
import importlib
import pathlib

import common

# The forms are packed in this order, because later ones use the files that earlier ones write.
FORMS = (
    "universal",
    "archives",
    "aar",
    "xcframework",
    "nuget",
    "npm",
    "onnxruntime_wheel",
    "recipes",
    "wheels",
    "sdist",
    "notes",
    "sbom",
    "sums",
)


def refuse_names(folder, forbidden):
    """Ends the program if a file has the name of a forbidden folder: packages must not reveal where
    they were built."""
    names = [str(path).encode() for path in forbidden]
    for _, path in common.files(folder):
        data = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
        for name in names:
            if name in data:
                raise SystemExit(f"{path} names a folder of the build: {name.decode()}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    folder = {"type": pathlib.Path, "metavar": "FOLDER"}
    parser.add_argument("--stage", required=True, help="the systems' installations", **folder)
    parser.add_argument("--dist", required=True, help="where packages go", **folder)
    parser.add_argument("--debug", help="the systems' debug symbols", **folder)
    parser.add_argument("--python", help="the systems' Python packages", **folder)
    parser.add_argument(
        "--forbid",
        nargs="+",
        default=[],
        metavar="PATH",
        help="a folder's name that no file may hold",
    )
    parser.add_argument("--homepage", default=common.HOMEPAGE, metavar="URL")
    parser.add_argument(
        "forms", nargs="*", metavar="FORM", help=f"of {' '.join(FORMS)}; none: all of them"
    )
    given = parser.parse_args()
    unknown = set(given.forms) - set(FORMS)
    if unknown:
        parser.error(f"there is no form {' '.join(sorted(unknown))}")
    return given


def main():
    given = arguments()
    for folder in filter(None, (given.stage, given.debug, given.python)):
        refuse_names(folder, given.forbid)
    given.dist.mkdir(parents=True, exist_ok=True)
    folders = (given.stage, given.dist, given.debug, given.python)
    release = common.Release(*folders, given.homepage)
    for form in (form for form in FORMS if form in given.forms or not given.forms):
        for path in importlib.import_module(form).pack(release):
            print(f"{form}: {path.name}, {path.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    main()
