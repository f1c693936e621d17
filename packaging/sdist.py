"""Packs the Python package's source distribution, which has all of hewn's source, and the wheel of
hewn-tune, which contains that source distribution."""

import os
import subprocess
import sys

import common
import wheels

TUNER = f"{common.DISTRIBUTION}-tune"


def source(release):
    program = "import sys, scikit_build_core.build as b; b.build_sdist(sys.argv[1])"
    command = [sys.executable, "-c", program, release.dist.resolve()]
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(release.epoch)}
    subprocess.run(command, check=True, cwd=common.ROOT, env=environment, stdout=sys.stderr)
    return release.dist / f"{common.wheel_name(common.DISTRIBUTION)}-{common.VERSION}.tar.gz"


def tuner(release, archive):
    name = common.wheel_name(TUNER)
    modules = sorted((common.ROOT / "tools/tune/hewn_tune").glob("*.py"))
    entries = {f"hewn_tune/{module.name}": module.read_bytes() for module in modules}
    entries |= {
        "hewn_tune/program.py": (common.HERE / "tune/program.py").read_bytes(),
        f"hewn_tune/{archive.name}": archive.read_bytes(),
        f"{name}-{common.VERSION}.dist-info/entry_points.txt": (
            b"[console_scripts]\nhewn-tune = hewn_tune.program:main\n"
        ),
    }
    folder = archive.name.removesuffix(".tar.gz")
    about = release.fill("tune/METADATA", NAME=TUNER, FOLDER=folder)
    return wheels.pack_wheel(release, name, "py3-none-any", "true", about, entries)


def pack(release):
    archive = source(release)
    yield archive
    yield tuner(release, archive)
