"""Shared by all forms of packages: facts about the release, and functions that pack files
reproducibly, in a fixed order and with a fixed time, owner and mode."""

import dataclasses
import gzip
import hashlib
import os
import pathlib
import re
import subprocess
import tarfile
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
HEADER = (ROOT / "include/hewn/hewn.h").read_text(encoding="utf-8")
VERSION = ".".join(re.findall(r"^#define HEWN_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", HEADER, re.M))
OPERATORS = re.findall(r"^ +HEWN_OPERATOR_(\w+) = \d+", HEADER, re.M)
SUMMARY = re.search(r'\sDESCRIPTION\s+"(.*?)"', (ROOT / "CMakeLists.txt").read_text())[1]
# There is no site yet, so this is a name that can never exist. A releaser gives the real one.
HOMEPAGE = "https://hewn.invalid"
# The name in the registries: PyPI, npm, NuGet, Conan, vcpkg and CocoaPods. The modules, the CMake
# package and the libraries are called hewn.
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
DISTRIBUTION = re.search(r'^name = "(.+)"$', PYPROJECT, re.M)[1]
NOTICES = ("LICENSE", "THIRD_PARTY.md")
ARCHIVES = (".tar.gz", ".zip")


def epoch():
    """The time of packed files, in seconds since 1970: SOURCE_DATE_EPOCH of the environment, or
    else that of the last commit, or else (in a source package) that of the changelog."""
    set_time = os.environ.get("SOURCE_DATE_EPOCH")
    log = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    committed = set_time or subprocess.run(log, check=False, capture_output=True).stdout
    return int(committed or (ROOT / "CHANGELOG.md").stat().st_mtime)


def files(folder):
    """[(name, path)] of all files and links below a folder, sorted by name."""
    found = (path for path in folder.rglob("*") if path.is_symlink() or path.is_file())
    return sorted((path.relative_to(folder).as_posix(), path) for path in found)


def digest(path, algorithm="sha256"):
    return hashlib.new(algorithm, path.read_bytes()).hexdigest()


def wheel_name(distribution):
    """The distribution's name as it is in the names of wheels and other files."""
    return distribution.replace("-", "_")


def written_list(words):
    """The words as text: "a, b and c"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


@dataclasses.dataclass(frozen=True)
class Release:
    """A release that is packed. `stage` has an installation in <system>/ for each system, `debug`
    its debug symbols, and `python` its Python packages. Packages are written to `dist`."""

    stage: pathlib.Path
    dist: pathlib.Path
    debug: pathlib.Path | None = None
    python: pathlib.Path | None = None
    homepage: str = HOMEPAGE
    epoch: int = dataclasses.field(default_factory=epoch)

    @property
    def downloads(self):
        return f"{self.homepage}/releases/download/v{VERSION}"

    def staged(self, systems):
        """Those of the given systems that have an installation, in the given order."""
        return [system for system in systems if (self.stage / system).is_dir()]

    def file(self, system, *names):
        """The first of these files that the system's installation has."""
        for name in names:
            if (self.stage / system / name).is_file():
                return self.stage / system / name
        raise SystemExit(f"{self.stage / system}: there is no {' or '.join(names)}")

    def headers(self, system):
        return files(self.stage / system / "include")

    def notices(self, system):
        return {name: self.file(system, f"share/doc/hewn/{name}") for name in NOTICES}

    def archives(self):
        """{system: archive} of the archives in dist/, without those of debug symbols."""
        name = re.compile(rf"hewn-{re.escape(VERSION)}-(\w+-[\w-]+?)(\.tar\.gz|\.zip)")
        found = {
            m[1]: path for path in sorted(self.dist.iterdir()) if (m := name.fullmatch(path.name))
        }
        return {system: path for system, path in found.items() if not system.endswith("-debug")}

    def fill(self, template, **more):
        """A template of this folder, in which each @NAME@ is filled in."""
        values = {
            "DISTRIBUTION": DISTRIBUTION,
            "VERSION": VERSION,
            "HOMEPAGE": self.homepage,
            "DOWNLOADS": self.downloads,
            "SUMMARY": SUMMARY,
            "OPERATORS": written_list(OPERATORS),
            **more,
        }
        text = (HERE / template).read_text(encoding="utf-8")
        return re.sub(r"@([A-Z0-9]+)@", lambda name: str(values[name[1]]), text)

    def tar(self, name, top, folder):
        """Writes dist/<name> with the folder's files below top/."""

        def fixed(info):
            info.mode = 0o777 if info.issym() else 0o755 if info.mode & 0o100 else 0o644
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            info.mtime = self.epoch
            return info

        with (
            open(self.dist / name, "wb") as out,
            gzip.GzipFile("", "wb", fileobj=out, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar,
        ):
            for path, file in files(folder):
                tar.add(file, f"{top}/{path}", filter=fixed)
        return self.dist / name

    def zip(self, name, entries):
        """Writes dist/<name> with the entries {name inside: text, bytes or path}, in their
        order."""
        when = time.gmtime(self.epoch)[:6]
        with zipfile.ZipFile(self.dist / name, "w", zipfile.ZIP_DEFLATED) as packed:
            for path, data in entries.items():
                info = zipfile.ZipInfo(path, when)
                info.create_system, info.external_attr = 3, 0o100644 << 16  # a regular file on Unix
                info.compress_type = zipfile.ZIP_DEFLATED
                packed.writestr(info, data.read_bytes() if isinstance(data, pathlib.Path) else data)
        return self.dist / name

    def write(self, name, text):
        (self.dist / name).write_text(text, encoding="utf-8", newline="\n")
        return self.dist / name
