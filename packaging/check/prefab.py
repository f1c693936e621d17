#!/usr/bin/env python3
"""Does what prefab does with the AAR when an application is built: checks it by prefab's rules and
writes the CMake package that the application finds. Prefab itself is a Java program that neither
Debian nor PyPI has; the rules are those of its source, api/ and cmake-plugin/, as read in November
2026.

    prefab.py AAR OUT ABI [--stl STL] [--api LEVEL]
"""

import argparse
import json
import pathlib
import re
import shutil
import zipfile

TRIPLES = {"arm64-v8a": "aarch64-linux-android", "x86_64": "x86_64-linux-android"}
STLS = ("c++_static", "c++_shared", "none", "system")
TARGET = """\
if(NOT TARGET {target})
add_library({target} {kind} IMPORTED)
set_target_properties({target} PROPERTIES
    IMPORTED_LOCATION "{library}"
    INTERFACE_INCLUDE_DIRECTORIES "{include}"
    INTERFACE_LINK_LIBRARIES "{links}"
)
endif()

"""
VERSION = """\
set(PACKAGE_VERSION {version})
if("${{PACKAGE_VERSION}}" VERSION_LESS "${{PACKAGE_FIND_VERSION}}")
    set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
"""


def read(path, required, optional=()):
    """Reads a JSON file. As in prefab, unknown keys are an error."""
    value = json.loads(path.read_text(encoding="utf-8"))
    unknown, missing = set(value) - {*required, *optional}, set(required) - set(value)
    if unknown or missing:
        raise SystemExit(f"{path}: unknown keys {sorted(unknown)}, missing {sorted(missing)}")
    return value


def unusable(abi, library, wanted):
    """Why an application cannot use the library. Empty if it can."""
    if abi["abi"] != wanted.abi:
        return f"is for {abi['abi']}"
    if wanted.api < max(abi["api"], 21):
        return f"is for API {abi['api']}"
    if abi["stl"] in ("none", "system"):
        return ""
    if abi["stl"].split("_")[0] != wanted.stl.split("_")[0]:
        return f"needs {abi['stl']}"
    shared = library.suffix == ".so" and "static" in abi["stl"] + wanted.stl
    return "is shared, with a static STL on one side" if shared else ""


def libraries(module, info):
    """Yields (library, abi.json) for each library of a module."""
    for folder in sorted((module / "libs").iterdir()):
        abi = read(folder / "abi.json", ("abi", "api", "ndk", "stl"), ("static",))
        if abi["abi"] not in TRIPLES or abi["stl"] not in STLS:
            raise SystemExit(f"{folder}: unknown abi or stl: {abi}")
        name = info.get("library_name") or f"lib{module.name}"
        library = folder / f"{name}.{'a' if abi.get('static') else 'so'}"
        if not library.is_file():
            raise SystemExit(f"there is no {library}")
        yield library, abi


def cmake_target(package, module, wanted):
    """The CMake code of a module's target."""
    info = read(module / "module.json", (), ("export_libraries", "library_name", "android"))
    found = [(library, unusable(abi, library, wanted)) for library, abi in libraries(module, info)]
    usable = [library for library, reason in found if not reason]
    if len(usable) != 1:
        raise SystemExit(f"{module.name}: {len(usable)} libraries fit: {found}")
    links = (
        f"{package}::{name[1:]}" if name.startswith(":") else name
        for name in info.get("export_libraries", [])
    )
    return TARGET.format(
        target=f"{package}::{module.name}",
        library=usable[0],
        kind="STATIC" if usable[0].suffix == ".a" else "SHARED",
        include=module / "include",
        links=";".join(links),
    )


def unpacked(aar, to):
    """Unpacks an AAR, and returns its folder prefab/. Refuses an AAR that the Android Gradle plugin
    would refuse."""
    shutil.rmtree(to, ignore_errors=True)
    with zipfile.ZipFile(aar) as packed:
        names = packed.namelist()
        packed.extractall(to)
    if "AndroidManifest.xml" not in names:
        raise SystemExit(f"{aar}: there is no AndroidManifest.xml")
    if any(name.startswith("jni/") for name in names):
        raise SystemExit(f"{aar}: a shared library would be packed twice, of jni/ and prefab/")
    return to / "prefab"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("aar", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path, help="where CMake is to find the package")
    parser.add_argument("abi", choices=TRIPLES)
    parser.add_argument("--stl", choices=STLS, default="c++_static")
    parser.add_argument("--api", type=int, default=21)
    wanted = parser.parse_args()
    prefab = unpacked(wanted.aar, wanted.out.resolve() / "aar")
    package = read(prefab / "prefab.json", ("name", "schema_version", "dependencies"), ("version",))
    if package["schema_version"] != 2 or not re.fullmatch(r"\d+(\.\d+){0,3}", package["version"]):
        raise SystemExit(f"prefab.json: {package}")
    modules = sorted(path for path in (prefab / "modules").iterdir() if path.is_dir())
    name = package["name"]
    config = wanted.out / f"lib/{TRIPLES[wanted.abi]}/cmake/{name}"
    config.mkdir(parents=True, exist_ok=True)
    targets = "".join(cmake_target(name, module, wanted) for module in modules)
    (config / f"{name}Config.cmake").write_text(targets)
    (config / f"{name}ConfigVersion.cmake").write_text(VERSION.format(version=package["version"]))
    print(f"prefab: {', '.join(f'{name}::{module.name}' for module in modules)} for {wanted.abi}")


if __name__ == "__main__":
    main()
