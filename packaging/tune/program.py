"""hewn-tune: tunes hewn's kernels for this machine's chip (docs/tuning.md). The first call unpacks
hewn's source, which this package contains, into ./hewn_kernels-<version>. That folder keeps the
build and the state of the search, so the next call continues it. The options are those of
tune.sh."""

import os
import pathlib
import shutil
import sys


def unpack():
    """The folder of the source, which is unpacked there if it is not yet."""
    (archive,) = pathlib.Path(__file__).parent.glob("*.tar.gz")
    folder = pathlib.Path(archive.name.removesuffix(".tar.gz")).absolute()
    if not (folder / "tune.sh").exists():
        shutil.unpack_archive(archive)
        print(f"hewn-tune: unpacked {folder}", file=sys.stderr, flush=True)
    return folder


def main():
    os.execv("/bin/bash", ["bash", str(unpack() / "tune.sh"), *sys.argv[1:]])
