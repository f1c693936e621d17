"""The Python package's wheels, on the stable ABI, and its source package. What pip would build here
has the same files and metadata (packaging_test.py). The wheel of hewn-tune has the source package
inside."""

import base64
import hashlib
import os
import re
import subprocess
import sys

import common

PYTHON = "cp312-abi3"
TOOLCHAINS = common.ROOT / "cmake/toolchains"


def platform(system):
    """manylinux_2_17_x86_64, as the system's toolchain file says."""
    text = (TOOLCHAINS / f"{system}.cmake").read_text(encoding="utf-8")
    return re.search(r"^# wheel: (\S+)$", text, re.M)[1]


def metadata():
    from pyproject_metadata import StandardMetadata

    try:
        import tomllib
    except ModuleNotFoundError:  # before Python 3.11
        import tomli as tomllib
    text = (common.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    about = StandardMetadata.from_pyproject(tomllib.loads(text), common.ROOT)
    about.dynamic = []
    about.version = common.VERSION
    return str(about.as_rfc822())


def record(entries, name):
    """Each file's hash, as the wheel's RECORD has it."""
    for path, data in entries.items():
        digest = hashlib.sha256(data).digest()
        text = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        yield f"{path},sha256={text},{len(data)}\n"
    yield f"{name},,\n"


def pack_wheel(release, name, tag, pure, about, entries):
    info = f"{name}-{common.VERSION}.dist-info"
    kind = f"Wheel-Version: 1.0\nGenerator: hewn\nRoot-Is-Purelib: {pure}\nTag: {tag}\n"
    entries |= {f"{info}/METADATA": about.encode(), f"{info}/WHEEL": kind.encode()}
    for notice in common.NOTICES:
        entries[f"{info}/licenses/{notice}"] = (common.ROOT / notice).read_bytes()
    entries[f"{info}/RECORD"] = "".join(record(entries, f"{info}/RECORD")).encode()
    return release.zip(f"{name}-{common.VERSION}-{tag}.whl", entries)


def wheel(release, system):
    entries = {path: file.read_bytes() for path, file in common.files(release.python / system)}
    tag = f"{PYTHON}-{platform(system)}"
    return pack_wheel(release, "hewn", tag, "false", metadata(), entries)


def tuner(release, archive):
    info = f"hewn_tune-{common.VERSION}.dist-info"
    modules = sorted((common.ROOT / "tools/tune/hewn_tune").glob("*.py"))
    entries = {f"hewn_tune/{module.name}": module.read_bytes() for module in modules}
    entries |= {
        "hewn_tune/program.py": (common.HERE / "tune/program.py").read_bytes(),
        f"hewn_tune/{archive.name}": archive.read_bytes(),
        f"{info}/entry_points.txt": b"[console_scripts]\nhewn-tune = hewn_tune.program:main\n",
    }
    about = release.fill("tune/METADATA")
    return pack_wheel(release, "hewn_tune", "py3-none-any", "true", about, entries)


def source(release):
    program = "import sys, scikit_build_core.build as b; b.build_sdist(sys.argv[1])"
    command = [sys.executable, "-c", program, release.dist.resolve()]
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(release.epoch)}
    subprocess.run(command, check=True, cwd=common.ROOT, env=environment, stdout=sys.stderr)
    return release.dist / f"hewn-{common.VERSION}.tar.gz"


def pack(release):
    if release.python is None or not release.python.is_dir():
        return
    for system in sorted(path.name for path in release.python.iterdir()):
        yield wheel(release, system)
    archive = source(release)
    yield archive
    yield tuner(release, archive)
