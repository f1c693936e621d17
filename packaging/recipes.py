"""The Conan recipe and the vcpkg port: files of conan/ and vcpkg/, filled in, with the hashes of
the archives that they repackage. Building from source would need Halide, which neither offers in
the version that hewn needs."""

import json
import pathlib
import tempfile

import common


def linked(release):
    """The archives that the recipes' systems take."""
    return {
        system: path
        for system, path in release.archives().items()
        if not system.endswith(("-cpu", "-universal")) and not system.startswith("ios-")
    }


def conan_data(release):
    """conandata.yml; JSON is YAML."""
    archives = {
        system: {"url": f"{release.downloads}/{path.name}", "sha256": common.digest(path)}
        for system, path in linked(release).items()
    }
    return json.dumps({"sources": {common.VERSION: archives}}, indent=2) + "\n"


def vcpkg_data(release):
    return "".join(
        f"set(archive_{system} {path.name})\nset(sha512_{system} {common.digest(path, 'sha512')})\n"
        for system, path in linked(release).items()
    )


def filled(release, folder, more):
    """dist/hewn-<version>-<folder>.tar.gz of the templates of a folder, and of `more`."""
    texts = {name: release.fill(path) for name, path in common.files(common.HERE / folder)} | more
    with tempfile.TemporaryDirectory() as to:
        for name, text in texts.items():
            file = pathlib.Path(to, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
            file.chmod(0o644)
        return release.tar(
            f"hewn-{common.VERSION}-{folder}.tar.gz", f"hewn-{folder}", pathlib.Path(to)
        )


def pack(release):
    if linked(release):
        example = (common.ROOT / "examples/add/main.cpp").read_text(encoding="utf-8")
        yield filled(
            release,
            "conan",
            {"conandata.yml": conan_data(release), "test_package/main.cpp": example},
        )
        yield filled(
            release, "vcpkg", {f"{common.DISTRIBUTION}/archives.cmake": vcpkg_data(release)}
        )
