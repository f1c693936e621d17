"""macOS' two architectures as one more system in STAGE: what differs is joined by llvm-lipo."""

import shutil
import subprocess

import common

# The kernels of one architecture each, for hewn_link_kernels, which links them all where there is no
# list.
OF_ONE = "lib/cmake/hewn/table/lists/"
PARTS, UNIVERSAL = ("macos-arm64", "macos-x86_64"), "macos-universal"


def lipo():
    """Debian 12 has the tool by its versioned name alone."""
    names = ["llvm-lipo", *(f"llvm-lipo-{version}" for version in range(30, 13, -1))]
    for name in names:
        if shutil.which(name):
            return name
    raise SystemExit("universal: there is no llvm-lipo; the package llvm has it")


def join(arm, intel, to):
    to.parent.mkdir(parents=True, exist_ok=True)
    if arm.is_symlink() or arm.read_bytes() == intel.read_bytes():
        shutil.copy2(arm, to, follow_symlinks=False)
    else:  # refuses what is no Mach-O
        subprocess.run([lipo(), "-create", arm, intel, "-output", to], check=True)
        shutil.copymode(arm, to)


def pack(release):
    """Writes nothing to DIST: the other forms do."""
    if release.staged(PARTS) != list(PARTS):
        return []
    arm, intel, to = (release.stage / system for system in (*PARTS, UNIVERSAL))
    names = [name for name, _ in common.files(arm)]
    if names != [name for name, _ in common.files(intel)]:
        raise SystemExit(f"universal: {arm} and {intel} do not have the same files")
    shutil.rmtree(to, ignore_errors=True)
    for name in names:
        if name.startswith(OF_ONE):
            continue
        join(arm / name, intel / name, to / name)
    return []
