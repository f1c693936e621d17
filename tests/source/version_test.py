#!/usr/bin/env python3
"""Checks that everything that names hewn's version to a user names this one: version_test.py SOURCE
VERSION

It looks at the examples' find_package, the names of packages and libraries in documents, and the
newest entry of CHANGELOG.md."""
import pathlib
import re
import sys

NAMES = re.compile(r"find_package\(hewn ([0-9.]*[0-9])|hewn-([0-9]+\.[0-9.]*[0-9])|"
                   r"libhewn\.(?:so\.)?([0-9.]*[0-9])|\*\*Status: ([0-9.]*[0-9])")
TEXTS = {".md", ".txt", ".kts"}


def texts(source):
    yield source / "README.md"
    for folder in "docs", "examples":
        for path in sorted((source / folder).rglob("*")):
            if path.suffix in TEXTS and not path.is_relative_to(source / "docs" / "lab"):
                yield path


def named(source):
    """Yields each version that a document or an example names, with its place."""
    for path in texts(source):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for groups in NAMES.findall(line):
                yield f"{path.relative_to(source)}:{number}", "".join(groups)
    newest = re.search(r"^## \[([0-9.]+)\]", (source / "CHANGELOG.md").read_text(encoding="utf-8"),
                       flags=re.MULTILINE)
    yield "CHANGELOG.md", newest[1] if newest else "none"


def main(source, version):
    found = list(named(source))
    # A minor version, as find_package accepts it, is right as well.
    wrong = [f"{place}: {name}, hewn is {version}" for place, name in found
             if name not in (version, version.rpartition(".")[0])]
    if not any(place.startswith("examples/add/") for place, _ in found):
        wrong.append("examples/add names no version")
    print("\n".join(wrong) if wrong else f"{len(found)} places name {version}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2]))
