"""SHA256SUMS of everything in DIST, as sha256sum checks it. What is signed is this file."""

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
