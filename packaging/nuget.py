"""Packs the NuGet package. It serves C and C++ projects of Visual Studio (build/native, and
buildTransitive for projects that depend on them), and has native libraries for .NET (runtimes/)."""

import common

RIDS = {
    "windows-x86_64": "win-x64",
    "windows-arm64": "win-arm64",
    "linux-gnu-x86_64": "linux-x64",
    "linux-gnu-arm64": "linux-arm64",
    "linux-musl-x86_64": "linux-musl-x64",
    "linux-musl-arm64": "linux-musl-arm64",
    "macos-x86_64": "osx-x64",
    "macos-arm64": "osx-arm64",
}
PLATFORMS = {"windows-x86_64": "x64", "windows-arm64": "ARM64"}  # as Visual Studio names them
TYPES = {"rels": "application/vnd.openxmlformats-package.relationships+xml"}


def contents(release, systems):
    windows = release.staged(PLATFORMS)
    words = {
        "RIDS": common.written_list([RIDS[system] for system in systems]),
        "PLATFORMS": " and ".join(PLATFORMS[system] for system in windows),
    }
    yield "_rels/.rels", release.fill("nuget/rels.xml")
    yield f"{common.DISTRIBUTION}.nuspec", release.fill("nuget/package.nuspec")
    yield "README.md", release.fill("nuget/README.md", **words)
    for folder in ("build", "buildTransitive"):  # NuGet imports targets named like the package
        yield (
            f"{folder}/native/{common.DISTRIBUTION}.targets",
            release.fill("nuget/package.targets", **words),
        )
    yield "lib/netstandard2.0/_._", ""  # any .NET may reference the package
    for name, file in release.notices(systems[0]).items():
        yield name if "." in name else f"{name}.txt", file  # parts of OPC must have an extension
    for path, file in release.headers(windows[0]):
        yield f"build/native/include/{path}", file
    for system in windows:
        yield (
            f"build/native/lib/{PLATFORMS[system]}/hewn.lib",
            release.file(system, "lib/hewn.lib"),
        )
    for system in systems:
        library = release.file(system, "bin/hewn.dll", "lib/libhewn.so", "lib/libhewn.dylib")
        yield f"runtimes/{RIDS[system]}/native/{library.name}", library


def content_types(release, names):
    """The file in which an OPC package gives a type to each extension of its parts."""
    extensions = sorted({name.rpartition(".")[2] for name in names})
    lines = (
        f'  <Default Extension="{extension}" ContentType="'
        f'{TYPES.get(extension, "application/octet")}" />'
        for extension in extensions
    )
    return release.fill("nuget/content_types.xml", TYPES="\n".join(lines))


def pack(release):
    if release.staged(PLATFORMS):
        entries = dict(contents(release, release.staged(RIDS)))
        types = {"[Content_Types].xml": content_types(release, entries)}
        yield release.zip(f"{common.DISTRIBUTION}.{common.VERSION}.nupkg", types | entries)
