"""hewn-tune: tunes hewn's kernels for this machine's chip (docs/tuning.md). The first call unpacks
the source of this version, which the package has, into ./hewn_kernels-<version>; that folder keeps
the build and the search, which the next call continues. The options are those of its tune.sh."""

import os
import pathlib
import shutil
import sys


def main():
    (archive,) = pathlib.Path(__file__).parent.glob("*.tar.gz")
    script = pathlib.Path(archive.name.removesuffix(".tar.gz"), "tune.sh").absolute()
    if not script.exists():
        shutil.unpack_archive(archive)
        print(f"hewn-tune: unpacked {script.parent}", file=sys.stderr, flush=True)
    os.execv("/bin/bash", ["bash", str(script), *sys.argv[1:]])
