"""Packs the Conan recipe and the vcpkg port: the templates in conan/ and vcpkg/, with the hashes of
the release archives. The recipe and the port install these archives. They do not build from source,
because neither Conan nor vcpkg has the version of Halide that hewn needs."""

import json
import pathlib
import tempfile

import common


def linked(release):
    """{system: archive} of the archives that the recipe and the port use."""
    return {
        system: path
        for system, path in release.archives().items()
        if not system.endswith(("-cpu", "-universal")) and not system.startswith("ios-")
    }


def conan_data(release):
    """The contents of conandata.yml, as JSON, which is valid YAML."""
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
    """Writes dist/hewn-<version>-<folder>.tar.gz with the folder's templates, filled in, and with
    the files in `more`, {name: text}."""
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
