"""Writes the release notes: the version's section of CHANGELOG.md."""

import re

import common

CHANGELOG = common.ROOT / "CHANGELOG.md"


def section(text, version):
    """The text below the heading `## <version>` or `## [<version>] - <date>`."""
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        heading, _, body = part.partition("\n")
        if heading.split()[0].strip("[]") == version and body.strip():
            return body.strip() + "\n"
    raise SystemExit(f"CHANGELOG.md says nothing of {version}")


def pack(release):
    text = section(CHANGELOG.read_text(encoding="utf-8"), common.VERSION)
    yield release.write(f"hewn-{common.VERSION}-notes.md", f"# hewn {common.VERSION}\n\n{text}")
