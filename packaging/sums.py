"""Writes SHA256SUMS, the hashes of all files in DIST, in the format of sha256sum. This is the file
that is signed."""

import common

NAME = "SHA256SUMS"


def pack(release):
    packed = [
        path
        for path in sorted(release.dist.iterdir())
        if path.is_file() and not path.name.startswith(NAME)
    ]
    lines = (f"{common.digest(path)}  {path.name}\n" for path in packed)
    yield release.write(NAME, "".join(lines))
