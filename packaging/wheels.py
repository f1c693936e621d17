"""Packs the wheels of the Python package. PYTHON/<system>/<tag> has the files of each. The tag
names the interpreter: cp312-abi3 is for the stable ABI, and there is a wheel for each Python that
cannot use that. A wheel that pip builds has the same files and metadata (packaging_test.py checks
that)."""

import base64
import hashlib
import re

import common

TOOLCHAINS = common.ROOT / "cmake/toolchains"


def platform(system):
    """The platform in the wheel's tag, such as manylinux_2_17_x86_64. The system's toolchain file
    has it."""
    text = (TOOLCHAINS / f"{system}.cmake").read_text(encoding="utf-8")
    return re.search(r"^# wheel: (\S+)$", text, re.M)[1]


def metadata():
    from pyproject_metadata import StandardMetadata

    try:
        import tomllib
    except ModuleNotFoundError:  # before Python 3.11
        import tomli as tomllib
    about = StandardMetadata.from_pyproject(tomllib.loads(common.PYPROJECT), common.ROOT)
    about.dynamic = []
    about.version = common.VERSION
    return str(about.as_rfc822())


def record(entries, name):
    """The lines of a wheel's RECORD: the hash and the size of each file."""
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


def wheel(release, system, tag):
    folder = release.python / system / tag
    entries = {path: file.read_bytes() for path, file in common.files(folder)}
    name = common.wheel_name(common.DISTRIBUTION)
    return pack_wheel(release, name, f"{tag}-{platform(system)}", "false", metadata(), entries)


def pack(release):
    if release.python is None or not release.python.is_dir():
        return
    for system in sorted(release.python.iterdir()):
        for folder in sorted(system.iterdir()):
            yield wheel(release, system.name, folder.name)
