"""hewn-tune: tunes hewn's kernels for this machine's chip (docs/tuning.md). The first call unpacks
the source of this version, which the package has, into ./hewn-<version>; that folder keeps the
build and the search, which the next call continues. The options are those of its tune.sh."""

import importlib.metadata
import os
import pathlib
import shutil
import sys


def main():
    name = f"hewn-{importlib.metadata.version('hewn-tune')}"
    script = pathlib.Path(name, "tune.sh").absolute()
    if not script.exists():
        shutil.unpack_archive(pathlib.Path(__file__).parent / f"{name}.tar.gz")
        print(f"hewn-tune: unpacked {script.parent}", file=sys.stderr, flush=True)
    os.execv("/bin/bash", ["bash", str(script), *sys.argv[1:]])
