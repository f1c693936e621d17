"""hewn-tune: tunes hewn's kernels for this machine's chip (docs/tuning.md). The first call unpacks
the source of this version, which the package has, into ./hewn-<version>; that folder keeps the
build and the search, which the next call continues. The options are those of its tune.sh."""

import importlib.metadata
import os
import pathlib
import shutil
import sys


def unpack():
    """The folder of the source, which is unpacked there if it is not yet."""
    name = f"hewn-{importlib.metadata.version('hewn-tune')}"
    folder = pathlib.Path(name).absolute()
    if not (folder / "tune.sh").exists():
        shutil.unpack_archive(pathlib.Path(__file__).parent / f"{name}.tar.gz")
        print(f"hewn-tune: unpacked {folder}", file=sys.stderr, flush=True)
    return folder


def main():
    os.execv("/bin/bash", ["bash", str(unpack() / "tune.sh"), *sys.argv[1:]])
