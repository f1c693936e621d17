#!/usr/bin/env python3
"""Reads an XCFramework as Xcode does: xcframework.py XCFRAMEWORK

Prints a line for each slice and architecture, with tabs between the fields: TRIPLE, ARCH, LIBRARY
and HEADERS. The triple has the oldest system, which the Package.swift next to the XCFramework
names."""

import pathlib
import plistlib
import re
import sys

FIRST_ARM_SIMULATOR = "14.0"  # Macs with Apple's chips simulate no older system


def triple(library, arch, oldest):
    platform, variant = library["SupportedPlatform"], library.get("SupportedPlatformVariant")
    system = oldest[platform] if variant != "simulator" else FIRST_ARM_SIMULATOR
    return f"{arch}-apple-{platform}{system}" + (f"-{variant}" if variant else "")


def main():
    framework = pathlib.Path(sys.argv[1])
    plist = plistlib.loads((framework / "Info.plist").read_bytes())
    kind = plist["CFBundlePackageType"], plist["XCFrameworkFormatVersion"]
    if kind != ("XFWK", "1.0"):
        sys.exit(f"FAILED  Info.plist: {kind}")
    swift = (framework.parent / "Package.swift").read_text()
    oldest = {name.lower(): version for name, version in re.findall(r'\.(\w+OS)\("(.*?)"\)', swift)}
    for library in plist["AvailableLibraries"]:
        folder = framework / library["LibraryIdentifier"]
        for arch in library["SupportedArchitectures"]:
            path, headers = folder / library["LibraryPath"], folder / library["HeadersPath"]
            print(triple(library, arch, oldest), arch, path, headers, sep="\t")


if __name__ == "__main__":
    main()
