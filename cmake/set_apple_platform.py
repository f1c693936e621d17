"""set_apple_platform.py PLATFORM VERSION ARCHIVE: in each object of the static library, sets the
platform and the oldest system that it is for.

Halide writes those of its own choice (iOS 17.0, macOS 12.0), and Xcode's linker warns of each
object that is newer than the application's. Apple's vtool does the same for one object, on a Mac.
Mach-O: mach-o/loader.h's mach_header_64 and build_version_command; ar: 4.4BSD's format of long
names."""

import argparse
import pathlib
import struct

PLATFORMS = {"macos": 1, "ios": 2, "iossimulator": 7}  # PLATFORM_MACOS...
MAGIC, BUILD_VERSION = 0xFEEDFACF, 0x32
AR_MAGIC, AR_HEADER = b"!<arch>\n", 60


def members(archive):
    """The offset of each member's data."""
    at = len(AR_MAGIC)
    while at < len(archive):
        name, size = archive[at : at + 16], int(archive[at + 48 : at + 58])
        long_name = int(name[3:]) if name.startswith(b"#1/") else 0
        yield at + AR_HEADER + long_name
        at += AR_HEADER + size + size % 2


def build_versions(archive, base):
    """The offset of each LC_BUILD_VERSION of the object at `base`."""
    if struct.unpack_from("<I", archive, base)[0] != MAGIC:
        return
    at = base + 32
    for _ in range(struct.unpack_from("<I", archive, base + 16)[0]):
        command, size = struct.unpack_from("<II", archive, at)
        if command == BUILD_VERSION:
            yield at
        at += size


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("platform", choices=PLATFORMS)
    parser.add_argument("version", help="as 13.0")
    parser.add_argument("archive", type=pathlib.Path)
    arguments = parser.parse_args()
    major, minor = map(int, arguments.version.split("."))
    archive = bytearray(arguments.archive.read_bytes())
    if not archive.startswith(AR_MAGIC):
        parser.error(f"{arguments.archive} is no static library")
    for base in members(archive):
        for at in build_versions(archive, base):
            version = PLATFORMS[arguments.platform], major << 16 | minor << 8
            struct.pack_into("<II", archive, at + 8, *version)
    arguments.archive.write_bytes(archive)


if __name__ == "__main__":
    main()
