"""Writes a CycloneDX bill of materials: all packages in DIST, and which third-party parts are in
each of them."""

import datetime
import re
import tarfile
import uuid
import zipfile

import aar
import common
import nuget
import onnxruntime_wheel

WHEEL = r"^hewn/_hewn[^/]*\.(so|pyd)$"
WINDOWS_WHEEL = r"^hewn/_hewn\.pyd$"
ZIG_WHEEL = r"^hewn/_hewn[^/]*\.so$"
PROVIDER = r"onnxruntime_providers_hewn\.(so|dll)$"
MODULE = r"/hewn\.wasm$"
TOOL = r"/bin/hewn(\.exe)?$|^deb/hewn_"
# The third-party parts: {the first column of THIRD_PARTY.md's table: (name, SPDX licence, package,
# pattern of the files that have the part)}. A file's name is <system>/... The only part in a static
# library is Halide.
PARTS = {
    "Halide 21.0.0, its runtime and generated code": (
        "Halide",
        "MIT",
        "pkg:pypi/halide@21.0.0",
        rf"/libhewn[^/]*\.(so[\d.]*|dylib|a)$|\.dll$|^deb/(lib)?hewn|{WHEEL}|{PROVIDER}|{TOOL}"
        rf"|{MODULE}",
    ),
    "MinGW-w64's C runtime": (
        "mingw-w64",
        "ZPL-2.1",
        None,
        r"^windows.*\.(dll|exe)$|" + WINDOWS_WHEEL,
    ),
    "winpthreads": (
        "winpthreads",
        "MIT AND BSD-3-Clause",
        None,
        r"^windows-x86_64.*\.(dll|exe)$|" + WINDOWS_WHEEL,
    ),
    "Zig's compiler_rt": (
        "compiler_rt",
        "MIT",
        "pkg:pypi/ziglang@0.15.2",
        r"^(linux|android).*\.so[\d.]*$|^windows-arm64.*\.dll$|" + MODULE,
    ),
    "wasi-libc and musl": ("wasi-libc", "MIT", "pkg:pypi/ziglang@0.15.2", MODULE),
    "glibc's pthread_atfork": (
        "glibc",
        "LGPL-2.1-or-later WITH GCC-exception-2.0",
        None,
        r"^linux-gnu-arm64.*\.so[\d.]*$",
    ),
    "libgcc, libstdc++": (
        "libgcc and libstdc++",
        "GPL-3.0-or-later WITH GCC-exception-3.1",
        None,
        r"^windows-x86_64.*\.(dll|exe)$|^deb/(lib)?hewn[\d.]*_|" + WINDOWS_WHEEL,
    ),
    "nanobind": ("nanobind", "BSD-3-Clause", "pkg:pypi/nanobind@3.1.0", WHEEL),
    "robin-map (Tessil)": ("robin-map", "MIT", None, WHEEL),
    "LLVM's libc++, libc++abi and libunwind": (
        "libc++",
        "Apache-2.0 WITH LLVM-exception",
        "pkg:pypi/ziglang@0.15.2",
        ZIG_WHEEL + r"|^(linux-gnu|windows-arm64).*" + PROVIDER,
    ),
    "CLI11": ("CLI11", "BSD-3-Clause", None, TOOL),
    "JSON for Modern C++ (nlohmann)": ("nlohmann_json", "MIT", None, TOOL),
}
PACKAGES = (".aar", ".deb", ".nupkg", ".tgz", ".whl", *common.ARCHIVES)


def check_notices(text):
    """Compares PARTS with THIRD_PARTY.md: its table must have the same parts that are linked into
    the library or the tool."""
    rows = re.findall(r"^\| (.+?) \| .+? \| (.+?) \| (.+?) \| .+? \|$", text, re.M)[1:]
    linked = {
        name
        for name, *places in rows
        if any(place not in ("–", "linked dynamically") for place in places)
    }
    if linked != set(PARTS):
        raise SystemExit(f"sbom: of THIRD_PARTY.md and PARTS only one has {linked ^ set(PARTS)}")


def members(path):
    """The files in a package, each as <system>/... with the same names of systems for all forms."""
    if path.suffix == ".deb":
        return [f"deb/{path.name}"]
    if path.name.endswith((".tar.gz", ".tgz")):
        with tarfile.open(path) as packed:
            names = packed.getnames()
    else:
        with zipfile.ZipFile(path) as packed:
            names = packed.namelist()
    if path.name.startswith(onnxruntime_wheel.NAME):
        return [f"{onnxruntime_wheel.system_of(path)}/{name}" for name in names]
    names = [name.removeprefix(f"hewn-{common.VERSION}-") for name in names]
    called = {f"/android.{abi}/": system for system, abi in aar.ABIS.items()}
    called |= {f"runtimes/{rid}/": system for system, rid in nuget.RIDS.items()}
    return [
        next((f"{system}/{name}" for word, system in called.items() if word in name), name)
        for name in names
    ]


def parts_of(path):
    names = members(path)
    return [
        part
        for part, (*_, pattern) in PARTS.items()
        if any(re.search(pattern, name) for name in names)
    ]


def bill(release, packages):
    from cyclonedx.contrib.license.factories import LicenseFactory
    from cyclonedx.model import HashAlgorithm, HashType
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentType
    from packageurl import PackageURL

    def component(kind, name, licence, package=None, **more):
        return Component(
            type=kind,
            name=name,
            bom_ref=name,
            **more,
            licenses=[LicenseFactory().make_from_string(licence)],
            purl=PackageURL.from_string(package) if package else None,
        )

    bom = Bom()
    bom.metadata.timestamp = datetime.datetime.fromtimestamp(release.epoch, datetime.timezone.utc)
    hewn = bom.metadata.component = component(
        ComponentType.LIBRARY,
        "hewn",
        "Apache-2.0",
        f"pkg:generic/hewn@{common.VERSION}",
        version=common.VERSION,
        description=common.SUMMARY,
    )
    others = {
        part: component(ComponentType.LIBRARY, name, licence, package)
        for part, (name, licence, package, _) in PARTS.items()
    }
    for path in packages:
        file = component(
            ComponentType.FILE,
            path.name,
            "Apache-2.0",
            version=common.VERSION,
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=common.digest(path))],
        )
        inside = [others[part] for part in parts_of(path)]
        bom.components.update([file, *inside])
        bom.register_dependency(file, inside)
    bom.register_dependency(hewn, [part for part in bom.components if part.hashes])
    # The serial number is the same for the same packages.
    names = " ".join(f"{path.name} {common.digest(path)}" for path in packages)
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, names)
    return bom


def pack(release):
    from cyclonedx.output import make_outputter
    from cyclonedx.schema import OutputFormat, SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    check_notices((common.ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8"))
    packages = [path for path in sorted(release.dist.iterdir()) if path.name.endswith(PACKAGES)]
    out = make_outputter(bill(release, packages), OutputFormat.JSON, SchemaVersion.V1_6)
    text = out.output_as_string(indent=1) + "\n"
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if error:
        raise SystemExit(f"sbom: no valid CycloneDX 1.6: {error}")
    yield release.write(f"hewn-{common.VERSION}.cdx.json", text)
