"""Makes one more system in STAGE that serves both architectures of macOS. Files that differ between
them are joined by llvm-lipo."""

import shutil
import subprocess

import common

# Lists of the kernels of one architecture, for hewn_link_kernels. They are left out: without a
# list, it links all kernels.
OF_ONE = "lib/cmake/hewn/table/lists/"
PARTS, UNIVERSAL = ("macos-arm64", "macos-x86_64"), "macos-universal"


def lipo():
    """The name of the tool. Debian 12 has it only with a version in its name."""
    names = ["llvm-lipo", *(f"llvm-lipo-{version}" for version in range(30, 13, -1))]
    for name in names:
        if shutil.which(name):
            return name
    raise SystemExit("universal: there is no llvm-lipo; the package llvm has it")


def join(arm, intel, to):
    to.parent.mkdir(parents=True, exist_ok=True)
    if arm.is_symlink() or arm.read_bytes() == intel.read_bytes():
        shutil.copy2(arm, to, follow_symlinks=False)
    else:  # the tool refuses files that are not Mach-O
        subprocess.run([lipo(), "-create", arm, intel, "-output", to], check=True)
        shutil.copymode(arm, to)


def pack(release):
    """Writes only to STAGE. The other forms then pack the new system."""
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
