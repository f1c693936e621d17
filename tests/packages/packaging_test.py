#!/usr/bin/env python3
"""Tests of the packers in packaging/, on installations that are made up of small files."""

import base64
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
sys.path.insert(0, str(PACKAGING))
import aar  # noqa: E402
import archives  # noqa: E402
import common  # noqa: E402
import notes  # noqa: E402
import npm  # noqa: E402
import nuget  # noqa: E402
import onnxruntime_wheel  # noqa: E402
import pack  # noqa: E402
import recipes  # noqa: E402
import sbom  # noqa: E402
import sdist  # noqa: E402
import sums  # noqa: E402
import universal  # noqa: E402
import wheels  # noqa: E402
import xcframework  # noqa: E402

CPUS = {"arm64": (0x0100000C, 0), "x86_64": (0x01000007, 3)}
PLATFORMS = {"macos": 1, "ios": 2, "iossimulator": 7}
APPLE = {
    "macos-arm64": ("arm64", "macos"),
    "macos-x86_64": ("x86_64", "macos"),
    "ios-arm64": ("arm64", "ios"),
    "ios-simulator-arm64": ("arm64", "iossimulator"),
}
SYSTEMS = [*nuget.RIDS, *aar.ABIS, "linux-gnu-x86_64-cpu", *APPLE]
try:
    import cyclonedx.validation.json  # noqa: F401

    UNBILLED = ""
except ImportError:
    UNBILLED = "no cyclonedx-python-lib: packaging/python.sh installs it"
try:
    import pyproject_metadata  # noqa: F401

    UNWHEELED = ""
except ImportError:
    UNWHEELED = "no pyproject-metadata: packaging/python.sh installs it"
try:
    UNLIPOED = "" if universal.lipo() and shutil.which("llvm-objdump") else "no llvm-objdump"
except SystemExit as reason:
    UNLIPOED = str(reason)


def macho(arch, platform, minos=(13, 0)):
    """An object file with no load command but LC_BUILD_VERSION."""
    header = struct.pack("<8I", 0xFEEDFACF, *CPUS[arch], 1, 1, 24, 0, 0)
    version = minos[0] << 16 | minos[1] << 8
    return header + struct.pack("<6I", 0x32, 24, PLATFORMS[platform], version, 0, 0)


def archive(path, *objects):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{number}.o" for number in range(len(objects))]
        for name, data in zip(names, objects):
            pathlib.Path(folder, name).write_bytes(data)
        subprocess.run(["ar", "rcD", path, *names], check=True, cwd=folder, stderr=subprocess.PIPE)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def stage(folder, system):
    """Makes an installation with the files that `cmake --install` makes for a system."""
    top = folder / system
    for name in ("hewn.h", "hewn.hpp", "operators.hpp"):
        write(top / "include/hewn" / name, name)
    for name in common.NOTICES:
        write(top / "share/doc/hewn" / name, name)
    if system in APPLE:
        arch, platform = APPLE[system]
        archive(top / "lib/libhewn.a", macho(arch, platform), macho(arch, platform))
    elif not system.startswith("windows-"):
        write(top / "lib/libhewn.a", f"static {system}")
    if system.startswith("windows-"):
        write(top / "bin/hewn.dll", f"dll {system}")
        write(top / "lib/hewn.lib", f"lib {system}")
    elif system.startswith("macos-"):
        write(top / "lib/libhewn.dylib", "dylib")
    elif not system.startswith("ios-"):
        write(top / "lib/libhewn.so.0.1.0", f"shared {system}")
        (top / "lib/libhewn.so.0.1.0").chmod(0o755)
        (top / "lib/libhewn.so").symlink_to("libhewn.so.0.1.0")


class PackagingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.made.cleanup)
        for system in SYSTEMS:
            stage(pathlib.Path(cls.made.name), system)

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.stage, self.dist = self.folder / "stage", self.folder / "dist"
        self.dist.mkdir()
        shutil.copytree(self.made.name, self.stage, symlinks=True)
        self.release = common.Release(self.stage, self.dist, epoch=1_700_000_000)

    def enterContext(self, manager):  # unittest has it from Python 3.11 on
        value = manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        return value

    def pack(self, form):
        return list(form.pack(self.release))

    def refuses(self, form, words):
        with self.assertRaises(SystemExit) as refusal:
            self.pack(form)
        self.assertIn(words, str(refusal.exception))

    def command(self, *options, forms=("archives",)):
        """Runs pack.py as a program."""
        folders = ["--stage", self.stage, "--dist", self.dist]
        command = [sys.executable, PACKAGING / "pack.py", *folders, *options, "--", *forms]
        return subprocess.run(command, text=True, capture_output=True)

    # ---- npm ----

    def test_the_npm_package_is_what_is_installed(self):
        self.assertEqual(self.pack(npm), [])  # no build for WebAssembly
        web = self.stage / "wasm32/share/hewn/web"
        write(web / "package.json", "{}")
        self.refuses(npm, "there is no share/hewn/web/hewn.wasm")
        write(web / "hewn.wasm", "module")
        (packed,) = self.pack(npm)
        self.assertEqual(packed.name, f"hewn-kernels-{common.VERSION}.tgz")
        with tarfile.open(packed) as tar:
            self.assertEqual(tar.getnames(), ["package/hewn.wasm", "package/package.json"])
        if not UNBILLED:
            self.assertIn("wasi-libc and musl", sbom.parts_of(packed))

    # ---- All forms ----

    def test_the_same_bytes_in_two_folders(self):
        # The forms whose tools are installed here, without the notes, which only a release has.
        self.stage_providers()
        lacking = {"sbom"} if UNBILLED else set()
        lacking |= {"notes"} | ({"universal", "xcframework"} if UNLIPOED else set())
        lacking |= {"sdist"} if UNWHEELED else set()
        outputs = []
        for name in ("one", "another folder"):
            copy, dist = self.folder / name / "stage", self.folder / name / "dist"
            shutil.copytree(self.stage, copy, symlinks=True)
            for path in copy.rglob("*"):  # as if built at another time
                os.utime(path, (len(name), len(name)), follow_symlinks=False)
            run = self.command(
                *("--stage", copy, "--dist", dist),
                forms=[form for form in pack.FORMS if form not in lacking],
            )
            self.assertEqual(run.returncode, 0, run.stderr)
            outputs.append({path.name: path.read_bytes() for path in dist.iterdir()})
        self.assertGreater(len(outputs[0]), 12)
        self.assertEqual(outputs[0].keys(), outputs[1].keys())
        self.assertEqual([n for n in outputs[0] if outputs[0][n] != outputs[1][n]], [])

    def test_the_build_folder_s_name_is_refused(self):
        forbid = ("--forbid", "/home/builder/hewn", "/other")
        self.assertEqual(self.command(*forbid).returncode, 0)
        write(self.stage / "android-arm64/lib/libhewn.a", "x\0/home/builder/hewn/runtime\0")
        run = self.command(*forbid)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("android-arm64/lib/libhewn.a names a folder of the build", run.stderr)

    def test_a_link_to_the_build_folder_is_refused(self):
        (self.stage / "android-arm64/lib/x").symlink_to("/home/builder/hewn/x")
        run = self.command("--forbid", "/home/builder/hewn")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("names a folder of the build", run.stderr)

    def test_unknown_forms_are_refused(self):
        run = self.command(forms=["rpm"])
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("there is no form rpm", run.stderr)

    def test_the_operators_are_the_headers(self):
        self.assertIn("QUANTIZED_LINEAR_MUL", common.OPERATORS)
        self.assertIn(common.written_list(common.OPERATORS), self.release.fill("aar/pom.xml"))

    def test_no_template_keeps_a_placeholder(self):
        self.pack_all_archives()
        for path in [*self.pack(aar), *self.pack(nuget), *self.pack(recipes)]:
            self.assertIsNone(common.re.search(rb"@[A-Z0-9_]+@", self.contents(path)), path)

    def contents(self, path):
        if path.suffix == ".pom":
            return path.read_bytes()
        if path.name.endswith(".tar.gz"):
            with tarfile.open(path) as packed:
                return b"".join(packed.extractfile(member).read() for member in packed)
        with zipfile.ZipFile(path) as packed:
            return b"".join(packed.read(name) for name in packed.namelist())

    # ---- Wheels of ONNX Runtime's provider ----

    def stage_providers(self):
        for name, library in (
            ("linux-gnu-x86_64-cpu", "lib/libonnxruntime_providers_hewn.so"),
            ("linux-gnu-arm64", "lib/libonnxruntime_providers_hewn.so"),
            ("windows-x86_64", "bin/onnxruntime_providers_hewn.dll"),
        ):
            write(self.stage / name / library, f"provider {name}")

    def test_a_wheel_of_the_provider_for_each_system(self):
        self.assertEqual(self.pack(onnxruntime_wheel), [], "where nothing is built")
        self.stage_providers()
        packed = {path.name.partition("-py3-none-")[2]: path for path in
                  self.pack(onnxruntime_wheel)}
        linux = "manylinux2014_{0}.manylinux_2_17_{0}.whl"
        self.assertEqual(list(packed), [linux.format("x86_64"), linux.format("aarch64"),
                                        "win_amd64.whl"])
        info = f"hewn_kernels_onnxruntime-{common.VERSION}.dist-info/"
        with zipfile.ZipFile(packed[linux.format("x86_64")]) as wheel:
            text = {name: wheel.read(name).decode() for name in wheel.namelist()}
        self.assertEqual(text["onnxruntime_ep_hewn/libonnxruntime_providers_hewn.so"],
                         "provider linux-gnu-x86_64-cpu")
        self.assertIn("Tag: py3-none-manylinux2014_x86_64\n", text[info + "WHEEL"])
        self.assertIn("\nName: hewn-kernels-onnxruntime\n", text[info + "METADATA"])
        self.assertIn(f"\nVersion: {common.VERSION}\n", text[info + "METADATA"])
        self.assertNotIn("Requires-Dist", text[info + "METADATA"])
        self.assertIn(info + "licenses/THIRD_PARTY.md", text)
        listed = [line.split(",")[0] for line in text[info + "RECORD"].splitlines()]
        self.assertEqual(sorted(listed), sorted(text))

    def test_the_provider_has_its_c_plus_plus_library(self):
        self.stage_providers()
        parts = {path.name.partition("-py3-none-")[2].partition("_")[0]: sbom.parts_of(path)
                 for path in self.pack(onnxruntime_wheel)}
        self.assertIn("LLVM's libc++, libc++abi and libunwind", parts["manylinux2014"])
        self.assertIn("libgcc, libstdc++", parts["win"])
        for names in parts.values():
            self.assertIn("Halide 21.0.0, its runtime and generated code", names)

    # ---- Archives, notes, sums ----

    def pack_all_archives(self, debug=None):
        release = common.Release(self.stage, self.dist, debug, epoch=self.release.epoch)
        return {path.name: path for path in archives.pack(release)}

    def test_an_archive_is_the_installation(self):
        path = self.pack_all_archives()[f"hewn-{common.VERSION}-linux-gnu-arm64.tar.gz"]
        with tarfile.open(path) as packed:
            members = {member.name.partition("/")[2]: member for member in packed}
            self.assertEqual(packed.getnames()[0].split("/")[0], path.name.removesuffix(".tar.gz"))
        self.assertIn("include/hewn/hewn.h", members)
        self.assertEqual(members["lib/libhewn.so"].linkname, "libhewn.so.0.1.0")
        self.assertEqual(members["lib/libhewn.so.0.1.0"].mode, 0o755)
        self.assertEqual(members["lib/libhewn.a"].mode, 0o644)
        owners = {(m.uid, m.gid, m.uname, m.gname, m.mtime) for m in members.values()}
        self.assertEqual(owners, {(0, 0, "", "", self.release.epoch)})

    def test_debug_symbols_have_archives_of_their_own(self):
        write(self.folder / "debug/android-arm64/libhewn.so.debug", "symbols")
        packed = self.pack_all_archives(self.folder / "debug")
        self.assertIn(f"hewn-{common.VERSION}-android-arm64-debug.tar.gz", packed)
        self.assertNotIn("android-arm64-debug", self.release.archives())
        self.assertIn("android-arm64", self.release.archives())

    def test_the_section_of_the_changelog(self):
        text = (
            "# Changelog\n\n## Unreleased\n\n- x\n\n## [1.2.0] - 2027-01-01\n\n### Added\n\n- y\n"
        )
        self.assertEqual(notes.section(text, "1.2.0"), "### Added\n\n- y\n")
        for version, words in (("1.2", text), ("3.0.0", text), ("4.0.0", text + "\n## 4.0.0\n\n")):
            with self.assertRaisesRegex(SystemExit, f"says nothing of {version}"):
                notes.section(words, version)

    def test_sums_are_sha256sum_s(self):
        packed = self.pack_all_archives()
        self.pack(sums)
        check = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
        self.assertEqual(subprocess.run(check, cwd=self.dist).returncode, 0)
        self.assertEqual(len((self.dist / "SHA256SUMS").read_text().splitlines()), len(packed))
        next(iter(packed.values())).write_bytes(b"other")
        run = subprocess.run(check, cwd=self.dist, capture_output=True)
        self.assertNotEqual(run.returncode, 0)

    # ---- AAR ----

    def prefab(self, change=lambda entries: None):
        """Runs the checker on the AAR, after `change` has changed its files."""
        path = self.pack(aar)[0]
        with zipfile.ZipFile(path) as packed:
            entries = {name: packed.read(name) for name in packed.namelist()}
        change(entries)
        self.release.zip(path.name, entries)
        command = [sys.executable, PACKAGING / "check/prefab.py", path, self.folder / "out"]
        return subprocess.run([*command, "arm64-v8a"], text=True, capture_output=True)

    def test_prefab_takes_the_aar(self):
        run = self.prefab()
        self.assertEqual(run.returncode, 0, run.stderr)
        config = (
            self.folder / "out/lib/aarch64-linux-android/cmake/hewn/hewnConfig.cmake"
        ).read_text()
        self.assertIn("add_library(hewn::hewn SHARED IMPORTED)", config)
        self.assertIn("add_library(hewn::hewn_static STATIC IMPORTED)", config)
        self.assertIn("-Wl,--exclude-libs,libhewn.a", config)

    def test_prefab_s_rules(self):
        abi = "prefab/modules/hewn/libs/android.arm64-v8a/abi.json"

        def set_abi(**values):
            def change(entries):
                entries[abi] = json.dumps(json.loads(entries[abi]) | values).encode()

            return change

        library = abi.replace("abi.json", "libhewn.so")
        for change, words in (
            (set_abi(min_sdk=21), "unknown keys ['min_sdk']"),
            (set_abi(api=22), "is for API 22"),
            (set_abi(stl="c++_static"), "is shared, with a static STL"),
            (set_abi(stl="c++"), "unknown abi or stl"),
            (lambda entries: entries.pop(library), "there is no"),
            (lambda entries: entries.pop("AndroidManifest.xml"), "no AndroidManifest.xml"),
            (lambda entries: entries.update({"jni/arm64-v8a/libhewn.so": b""}), "packed twice"),
        ):
            with self.subTest(words):
                run = self.prefab(change)
                self.assertNotEqual(run.returncode, 0)
                self.assertIn(words, run.stderr)

    def test_an_aar_without_a_library_is_refused(self):
        (self.stage / "android-x86_64/lib/libhewn.a").unlink()
        self.refuses(aar, "android-x86_64: there is no lib/libhewn.a")

    # ---- NuGet ----

    def test_every_rid_has_its_library(self):
        with zipfile.ZipFile(self.pack(nuget)[0]) as packed:
            names = packed.namelist()
            targets = packed.read("buildTransitive/native/hewn-kernels.targets").decode()
        for rid in nuget.RIDS.values():
            self.assertEqual(sum(name.startswith(f"runtimes/{rid}/native/") for name in names), 1)
        for platform in nuget.PLATFORMS.values():
            self.assertIn(f"build/native/lib/{platform}/hewn.lib", names)
        self.assertIn("platforms x64 and ARM64, not", targets)
        self.assertEqual(names[0], "[Content_Types].xml")

    def test_a_rid_without_its_library_is_refused(self):
        for file in ("windows-arm64/bin/hewn.dll", "windows-x86_64/lib/hewn.lib"):
            with self.subTest(file):
                kept = (self.stage / file).read_text()
                (self.stage / file).unlink()
                self.refuses(nuget, f"there is no {file.partition('/')[2]}")
                write(self.stage / file, kept)

    def test_one_platform_is_enough(self):
        for system in nuget.RIDS:
            if system != "windows-x86_64":
                shutil.rmtree(self.stage / system)
        with zipfile.ZipFile(self.pack(nuget)[0]) as packed:
            targets = packed.read("build/native/hewn-kernels.targets").decode()
        self.assertIn("for the platforms x64, not for", targets)

    # ---- Apple ----

    @unittest.skipIf(UNLIPOED, UNLIPOED)
    def test_slices(self):
        self.pack(universal)
        files = self.pack(xcframework)
        with zipfile.ZipFile(files[0]) as packed:
            names = packed.namelist()
        for identifier in xcframework.SLICES:
            self.assertIn(f"hewn.xcframework/{identifier}/libhewn.a", names)
            self.assertIn(f"hewn.xcframework/{identifier}/Headers/hewn/module.modulemap", names)
        swift = files[1].read_text()
        self.assertIn('.iOS("13.0")', swift)
        self.assertIn(common.digest(files[0]), swift)

    @unittest.skipIf(UNLIPOED, UNLIPOED)
    def test_objects_for_other_systems_are_refused(self):
        self.pack(universal)
        library = self.stage / "ios-arm64/lib/libhewn.a"
        archive(library, macho("arm64", "ios"), macho("arm64", "ios", (17, 0)))
        self.refuses(xcframework, "are for ios 13.0, ios 17.0, not for one ios")
        archive(library, macho("arm64", "macos"))
        self.refuses(xcframework, "are for macos 13.0, not for one ios")

    @unittest.skipIf(UNLIPOED, UNLIPOED)
    def test_macos_parts_must_be_alike(self):
        write(self.stage / "macos-arm64/lib/other", "x")
        self.refuses(universal, "do not have the same files")

    # ---- Recipes ----

    def test_recipes_have_the_archives_hashes(self):
        packed = self.pack_all_archives()
        self.pack(recipes)
        with tarfile.open(self.dist / f"hewn-{common.VERSION}-conan.tar.gz") as recipe:
            data = json.load(recipe.extractfile("hewn-conan/conandata.yml"))
        sources = data["sources"][common.VERSION]
        self.assertEqual(set(sources), set(nuget.RIDS) | set(aar.ABIS))
        for system, source in sources.items():
            path = packed[source["url"].rpartition("/")[2]]
            self.assertEqual(source["sha256"], common.digest(path), system)
        with tarfile.open(self.dist / f"hewn-{common.VERSION}-vcpkg.tar.gz") as port:
            text = port.extractfile("hewn-vcpkg/hewn-kernels/archives.cmake").read().decode()
        for system, source in sources.items():
            path = packed[source["url"].rpartition("/")[2]]
            self.assertIn(f"set(sha512_{system} {common.digest(path, 'sha512')})", text)

    # ---- Python ----

    def pack_wheel(self, system, extension, tag="cp312-abi3"):
        python = self.folder / "python"
        write(python / system / tag / "hewn/__init__.py", "import")
        write(python / system / tag / "hewn" / extension, "extension")
        release = dataclasses.replace(self.release, python=python)
        return wheels.wheel(release, system, tag)

    @unittest.skipIf(UNWHEELED, UNWHEELED)
    def test_a_wheel(self):
        path = self.pack_wheel("linux-gnu-arm64", "_hewn.abi3.so")
        name = f"hewn_kernels-{common.VERSION}"
        self.assertEqual(path.name, f"{name}-cp312-abi3-manylinux_2_17_aarch64.whl")
        with zipfile.ZipFile(path) as packed:
            files = {file: packed.read(file) for file in packed.namelist()}
        record = files[f"{name}.dist-info/RECORD"].decode().splitlines()
        self.assertEqual([line.split(",")[0] for line in record], list(files))
        for line in record[:-1]:
            file, digest, size = line.split(",")
            self.assertEqual(int(size), len(files[file]))
            wanted = base64.urlsafe_b64encode(hashlib.sha256(files[file]).digest()).decode()
            self.assertEqual(digest, "sha256=" + wanted.rstrip("="))
        about = files[f"{name}.dist-info/METADATA"].decode()
        for line in ("Name: hewn-kernels", f"Version: {common.VERSION}", "Requires-Python: >=3.10"):
            self.assertIn(f"\n{line}\n", about)
        self.assertIn("\n# Python\n", about)
        for extra in ("onnxruntime", "tune"):
            self.assertIn(f"\nProvides-Extra: {extra}\n", about)
            self.assertRegex(about, f"Requires-Dist: hewn-kernels-{extra} *; extra == [\"']{extra}")
        tags = files[f"{name}.dist-info/WHEEL"].decode()
        self.assertIn("\nTag: cp312-abi3-manylinux_2_17_aarch64\n", tags)
        self.assertIn(f"{name}.dist-info/licenses/THIRD_PARTY.md", files)
        self.assertLessEqual({"nanobind", "robin-map", "libc++", "Halide"}, self.parts(path))
        windows = self.parts(self.pack_wheel("windows-x86_64", "_hewn.pyd"))
        self.assertLessEqual({"nanobind", "winpthreads", "Halide"}, windows)
        self.assertNotIn("libc++", windows)

    @unittest.skipIf(UNWHEELED, UNWHEELED)
    def test_a_wheel_for_each_python(self):
        made = [self.pack_wheel("linux-gnu-x86_64", "_hewn.so", tag)
                for tag in ("cp310-cp310", "cp311-cp311", "cp313-cp313t", "cp312-abi3")]
        release = dataclasses.replace(self.release, python=self.folder / "python")
        self.assertEqual(set(wheels.pack(release)), set(made))
        name = f"hewn_kernels-{common.VERSION}"
        for python, wanted in (("3.10", "cp310-cp310"), ("3.11", "cp311-cp311"),
                               ("3.12", "cp312-abi3"), ("3.13", "cp312-abi3")):
            target = self.folder / python
            self.pip("--target", target, "--no-deps", "--find-links", self.dist,
                     "--only-binary", ":all:", "--python-version", python,
                     "--platform", "manylinux_2_17_x86_64", "hewn-kernels")
            text = (target / f"{name}.dist-info/WHEEL").read_text()
            self.assertIn(f"\nTag: {wanted}-manylinux_2_17_x86_64\n", text)

    def pip(self, *arguments, status=0):
        """Runs `pip install` without an index, whatever the environment's settings are."""
        command = [sys.executable, "-m", "pip", "--isolated", "--quiet",
                   "--disable-pip-version-check", "install", "--no-index"]
        run = subprocess.run([*command, *arguments], text=True, capture_output=True)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        return run.stderr

    def foreign_wheel(self, name, version="99.0"):
        """Puts a package of somebody else in dist/."""
        about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        info = f"{common.wheel_name(name)}-{version}.dist-info"
        tag = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        entries = {f"{info}/METADATA": about, f"{info}/WHEEL": tag, f"{info}/RECORD": ""}
        self.release.zip(f"{common.wheel_name(name)}-{version}-py3-none-any.whl", entries)

    @unittest.skipIf(UNWHEELED, UNWHEELED)
    def test_the_extras_bring_our_packages_alone(self):
        self.stage_providers()
        self.pack_wheel("linux-gnu-x86_64", "_hewn.abi3.so")
        self.pack(onnxruntime_wheel)
        write(self.folder / "source/tune.sh", "")
        sdist.tuner(self.release, self.release.tar("x.tar.gz", "x", self.folder / "source"))
        # Packages with names like ours, as the index may have them, and stand-ins for other
        # packages.
        for name in ("hewn", "hewn-tune", "onnxruntime-ep-hewn"):
            self.foreign_wheel(name)
        self.foreign_wheel("numpy")
        self.foreign_wheel("onnxruntime")
        target = self.folder / "site"
        self.pip("--target", target, "--find-links", self.dist, "--only-binary", ":all:",
                 "--python-version", "3.12", "--platform", "manylinux_2_17_x86_64",
                 "--platform", "manylinux2014_x86_64", "hewn-kernels[onnxruntime,tune]")
        installed = {path.name for path in target.glob("*.dist-info")}
        ours = {f"hewn_kernels{part}-{common.VERSION}.dist-info"
                for part in ("", "_onnxruntime", "_tune")}
        others = {f"{name}-99.0.dist-info" for name in ("numpy", "onnxruntime")}
        self.assertEqual(installed, ours | others)
        for module in ("hewn", "hewn_tune", "onnxruntime_ep_hewn"):
            self.assertTrue((target / module).is_dir(), module)

    def test_the_tuner_unpacks_its_source_once(self):
        name = f"hewn_kernels-{common.VERSION}"
        write(self.folder / name / "tune.sh", 'echo "$(basename "$(dirname "$0")") $*"\n')
        archive = self.folder / f"{name}.tar.gz"
        with tarfile.open(archive, "w:gz") as packed:
            packed.add(self.folder / name, name)
        shutil.rmtree(self.folder / name)
        path = sdist.tuner(self.release, archive)
        self.assertEqual(path.name, f"hewn_kernels_tune-{common.VERSION}-py3-none-any.whl")
        shutil.unpack_archive(path, self.folder / "site", "zip")
        program = "import importlib.metadata as m; hewn_tune, = m.entry_points("
        program += "group='console_scripts', name='hewn-tune'); hewn_tune.load()()"
        for told in ("unpacked", ""):
            run = subprocess.run([sys.executable, "-c", program, "--op", "add"], check=True,
                                 cwd=self.folder, capture_output=True, text=True,
                                 env=os.environ | {"PYTHONPATH": str(self.folder / "site")})
            self.assertEqual(run.stdout, f"{name} --op add\n")
            self.assertEqual("unpacked" in run.stderr, bool(told), run.stderr)
        # The module for optimisers needs no other package.
        program = "import hewn_tune as t; print(len(t.Space('k', {'x': [1, 2]}, ['x > 1'])))"
        run = subprocess.run([sys.executable, "-c", program], check=True, cwd=self.folder,
                             capture_output=True, text=True,
                             env=os.environ | {"PYTHONPATH": str(self.folder / "site")})
        self.assertEqual(run.stdout, "1\n")

    def test_without_python_s_packages_there_are_no_wheels(self):
        self.assertEqual(self.pack(wheels), [])

    def test_a_tool_has_one_version(self):
        """Lists of the project that name the same tool name the same version of it."""
        lists = [ROOT / "pyproject.toml", *sorted(ROOT.glob("*/requirements.txt"))]
        lists += [ROOT / "bindings/python/requirements.txt"]
        known = {}
        for path in lists:
            for name, version in re.findall(r"([\w.-]+)==([\w.]+)", path.read_text()):
                name = name.lower().replace("_", "-")
                if name in ("nanobind", "scikit-build-core", "halide"):
                    known.setdefault(name, set()).add(version)
        self.assertEqual([len(found) for found in known.values()], [1, 1, 1], known)
        self.assertIn(f"nanobind@{known['nanobind'].pop()}", sbom.PARTS["nanobind"][2])

    # ---- Bill of materials ----

    def test_the_parts_are_third_party_s(self):
        text = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")
        sbom.check_notices(text)
        for other in (
            text.replace("| CLI11 |", "| Other |"),
            text.replace(
                "| libpng | libpng-2.0 | – | linked dynamically |", "| libpng | x | – | yes |"
            ),
        ):
            self.assertNotEqual(other, text)
            with self.assertRaisesRegex(SystemExit, "only one has"):
                sbom.check_notices(other)

    def parts(self, path):
        return {sbom.PARTS[part][0] for part in sbom.parts_of(path)}

    def test_what_is_in_a_package(self):
        write(self.stage / "windows-x86_64/bin/hewn.exe", "tool")
        packed = self.pack_all_archives()
        for system, parts in (
            ("macos-arm64.tar.gz", {"Halide"}),
            ("android-arm64.tar.gz", {"Halide", "compiler_rt"}),
            ("linux-gnu-arm64.tar.gz", {"Halide", "compiler_rt", "glibc"}),
            ("windows-arm64.zip", {"Halide", "compiler_rt", "mingw-w64"}),
        ):
            self.assertEqual(self.parts(packed[f"hewn-{common.VERSION}-{system}"]), parts, system)
        tool = self.parts(packed[f"hewn-{common.VERSION}-windows-x86_64.zip"])
        self.assertLessEqual({"CLI11", "nlohmann_json", "libgcc and libstdc++"}, tool)
        self.assertEqual(self.parts(self.pack(aar)[0]), {"Halide", "compiler_rt"})
        self.assertLessEqual({"compiler_rt", "winpthreads"}, self.parts(self.pack(nuget)[0]))
        recipe = self.pack(recipes)[0]
        self.assertEqual(self.parts(recipe), set())

    @unittest.skipIf(UNBILLED, UNBILLED)
    def test_the_bill_is_valid_and_has_the_hashes(self):
        packed = self.pack_all_archives()
        bill = json.loads(self.pack(sbom)[0].read_text())
        hashes = {
            part["name"]: part["hashes"][0]["content"]
            for part in bill["components"]
            if part["type"] == "file"
        }
        self.assertEqual(hashes, {name: common.digest(path) for name, path in packed.items()})


if __name__ == "__main__":
    unittest.main()
