"""Packs the wheels of the execution provider for ONNX Runtime: the module onnxruntime_ep_hewn with
the library of a system. They require no other package, because there are several packages with ONNX
Runtime."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import common

DISTRIBUTION = f"{common.DISTRIBUTION}-onnxruntime"
NAME = common.wheel_name(DISTRIBUTION)
MODULE = "onnxruntime_ep_hewn"
SOURCES = common.ROOT / "bindings/onnxruntime/python"
PLATFORMS = {
    "linux-gnu-x86_64": ("manylinux2014_x86_64", "manylinux_2_17_x86_64"),
    "linux-gnu-arm64": ("manylinux2014_aarch64", "manylinux_2_17_aarch64"),
    "windows-x86_64": ("win_amd64",),
    "windows-arm64": ("win_arm64",),
}
LIBRARIES = (
    "lib/libonnxruntime_providers_hewn.so",
    "bin/onnxruntime_providers_hewn.dll",
)


def system_of(wheel):
    return next(system for system, tags in PLATFORMS.items() if tags[0] in wheel.name)


def stage_of(release, system):
    """The system's stage that has the provider's library. It is preferably the one that is built
    without kernels for GPUs."""
    for name in (f"{system}-cpu", system):
        if any((release.stage / name / library).is_file() for library in LIBRARIES):
            return name
    return None


def contents(release, stage, tags):
    """{name in the wheel: text or path}"""
    info = f"{NAME}-{common.VERSION}.dist-info"
    library = release.file(stage, *LIBRARIES)
    notices = release.notices(stage)
    return {
        f"{MODULE}/__init__.py": SOURCES / MODULE / "__init__.py",
        f"{MODULE}/{library.name}": library,
        f"{info}/METADATA": release.fill("onnxruntime/METADATA", NAME=DISTRIBUTION),
        f"{info}/WHEEL": release.fill("onnxruntime/WHEEL", TAGS=tags),
        **{f"{info}/licenses/{name}": file for name, file in notices.items()},
    }


def write(folder, entries):
    for name, data in entries.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(data, pathlib.Path):
            shutil.copyfile(data, file)
        else:
            file.write_text(data, encoding="utf-8", newline="\n")
        file.chmod(0o644)


def pack_wheel(release, stage, platforms):
    tags = "\n".join(f"Tag: py3-none-{platform}" for platform in platforms)
    with tempfile.TemporaryDirectory() as folder:
        write(pathlib.Path(folder), contents(release, stage, tags))
        command = [sys.executable, "-m", "wheel", "pack", folder, "--dest-dir", release.dist]
        environment = dict(os.environ, SOURCE_DATE_EPOCH=str(release.epoch))
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    tag = ".".join(platforms)
    return release.dist / f"{NAME}-{common.VERSION}-py3-none-{tag}.whl"


def pack(release):
    for system, platforms in PLATFORMS.items():
        stage = stage_of(release, system)
        if stage:
            yield pack_wheel(release, stage, platforms)
