"""Packs the AAR for Android, with prefab's metadata, and the .pom that goes with it in a Maven
repository.

The AAR's modules become the CMake targets hewn::hewn and hewn::hewn_static. It has no folder jni/,
because the Android Gradle plugin takes the shared library from prefab/ and refuses a second one."""

import json
import re

import common

ABIS = {"android-arm64": "arm64-v8a", "android-x86_64": "x86_64"}
ANDROID = (common.ROOT / "cmake/toolchains/android.cmake").read_text()
MIN_SDK = int(re.search(r"ANDROID_PLATFORM android-(\d+)", ANDROID)[1])
# {module: (the extension of its library, other libraries and options for programs that link it)}. A
# program that links the static library does not export its functions.
MODULES = {
    "hewn": ("so", []),
    "hewn_static": ("a", ["-llog", "-ldl", "-lm", "-Wl,--exclude-libs,libhewn.a"]),
}


def json_text(**value):
    return json.dumps(value, indent=2) + "\n"


def module(release, name, systems):
    extension, libraries = MODULES[name]
    top = f"prefab/modules/{name}"
    yield f"{top}/module.json", json_text(library_name="libhewn", export_libraries=libraries)
    for path, file in release.headers(systems[0]):
        yield f"{top}/include/{path}", file
    for system in systems:
        abi = ABIS[system]
        folder = f"{top}/libs/android.{abi}"
        # stl: the interface is C, so any C++ library will do. ndk: if there are several libraries,
        # prefab picks the one with the nearest NDK, but there is only one.
        yield (
            f"{folder}/abi.json",
            json_text(abi=abi, api=MIN_SDK, ndk=21, stl="none", static=extension == "a"),
        )
        yield f"{folder}/libhewn.{extension}", release.file(system, f"lib/libhewn.{extension}")


def contents(release, systems):
    yield "AndroidManifest.xml", release.fill("aar/AndroidManifest.xml", MINSDK=MIN_SDK)
    for name, file in release.notices(systems[0]).items():
        yield f"META-INF/{name}", file
    yield (
        "prefab/prefab.json",
        json_text(schema_version=2, name="hewn", version=common.VERSION, dependencies=[]),
    )
    for name in MODULES:
        yield from module(release, name, systems)


def pack(release):
    systems = release.staged(ABIS)
    if systems:
        name = f"hewn-{common.VERSION}"
        yield release.zip(f"{name}.aar", dict(contents(release, systems)))
        yield release.write(f"{name}.pom", release.fill("aar/pom.xml"))
