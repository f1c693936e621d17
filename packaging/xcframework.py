"""Packs the XCFramework for Apple's systems, with a Package.swift and a podspec that name it.

Its libraries are static. So there is nothing to sign, and no Info.plist in which the App Store
expects the oldest system. The module map is in a folder of its own, because Xcode copies the
headers of all packages to one folder. It links Foundation, because Halide's runtime for iOS writes
messages by NSLog."""

import plistlib
import re
import subprocess

import common
import universal

# {identifier of the slice: (system, platform, variant, architectures, platform in the objects)}
SLICES = {
    "ios-arm64": ("ios-arm64", "ios", "", ["arm64"], "ios"),
    "ios-arm64-simulator": ("ios-simulator-arm64", "ios", "simulator", ["arm64"], "iossimulator"),
    "macos-arm64_x86_64": (universal.UNIVERSAL, "macos", "", ["arm64", "x86_64"], "macos"),
}


def oldest_system(library, platform):
    """The oldest system for which all objects of the library say they are. Ends the program if they
    differ, because a linker warns of objects that do."""
    command = ["llvm-objdump", "--macho", "--arch=all", "--private-headers", library]
    headers = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    said = set(
        re.findall(r"cmd LC_BUILD_VERSION\n.*\n +platform (\w+)\n.*\n +minos ([\d.]+)", headers)
    )
    if len(said) != 1 or {name for name, _ in said} != {platform}:
        raise SystemExit(
            f"xcframework: the objects of {library} are for "
            f"{', '.join(' '.join(pair) for pair in sorted(said))}, not for one {platform}"
        )
    return said.pop()[1]


def library_entry(identifier, library):
    _, platform, variant, architectures, _ = SLICES[identifier]
    entry = {
        "LibraryIdentifier": identifier,
        "LibraryPath": library.name,
        "BinaryPath": library.name,
        "HeadersPath": "Headers",
        "SupportedPlatform": platform,
        "SupportedArchitectures": architectures,
    }
    return entry | ({"SupportedPlatformVariant": variant} if variant else {})


def contents(release, libraries):
    top = "hewn.xcframework"
    plist = {
        "CFBundlePackageType": "XFWK",
        "XCFrameworkFormatVersion": "1.0",
        "AvailableLibraries": [library_entry(*item) for item in libraries.items()],
    }
    yield f"{top}/Info.plist", plistlib.dumps(plist)
    for identifier, library in libraries.items():
        system = SLICES[identifier][0]
        yield f"{top}/{identifier}/{library.name}", library
        yield (
            f"{top}/{identifier}/Headers/hewn/module.modulemap",
            release.fill("xcframework/module.modulemap"),
        )
        for path, file in release.headers(system):
            yield f"{top}/{identifier}/Headers/{path}", file
    for name, file in release.notices(system).items():
        yield f"{top}/{name}", file


def pack(release):
    slices = {name: values for name, values in SLICES.items() if release.staged(values[:1])}
    if len(slices) < len(SLICES):
        return
    libraries = {name: release.file(values[0], "lib/libhewn.a") for name, values in slices.items()}
    oldest = {name: oldest_system(libraries[name], values[4]) for name, values in slices.items()}
    archive = release.zip(
        f"hewn-{common.VERSION}.xcframework.zip", dict(contents(release, libraries))
    )
    yield archive
    words = {
        "ARCHIVE": archive.name,
        "SHA256": common.digest(archive),
        "IOS": oldest["ios-arm64"],
        "MACOS": oldest["macos-arm64_x86_64"],
    }
    podspec = f"{common.DISTRIBUTION}.podspec.json"
    for name, template in (("Package.swift", "Package.swift"), (podspec, "podspec.json")):
        yield release.write(name, release.fill(f"xcframework/{template}", **words))
