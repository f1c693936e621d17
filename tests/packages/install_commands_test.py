#!/usr/bin/env python3
"""Checks the commands that install packages, in documents, scripts and templates, and the
requirements of our own packages. None may reach for a package that a stranger may have published
under a name like ours. So a command must name our packages as files of a release, or name the
folder to take them from. It may name other packages only if the project pins their versions."""

import pathlib
import re
import shlex
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
import common  # noqa: E402
import onnxruntime_wheel  # noqa: E402
import sdist  # noqa: E402

OURS = {common.DISTRIBUTION, onnxruntime_wheel.DISTRIBUTION, sdist.TUNER}
# A command ends at the next operator of the shell, or at what ends it in the surrounding text.
COMMAND = re.compile(
    r"\b(pip3?|uv|npm|yarn|pnpm|nuget|conan|vcpkg|pod)\b[ \t]+(?:pip |global )?(?:-\S+[ \t]+)*"
    r"(install|download|add|wheel|create|i)\b([^`;|&<>()#\n]*)"
)
# These options have a value, which is not a package's name.
WITH_VALUE = {
    "-C", "-d", "-f", "-i", "-o", "-r", "-s", "-t", "-w", "--abi", "--cache", "--dest",
    "--find-links", "--implementation", "--no-binary", "--only-binary",
    "--output-folder", "--platform", "--prefix", "--python", "--python-version", "--target",
    "-OutputDirectory", "-Source",
}
# A command with one of these options takes our packages from the place that it names.
LOCAL = {
    "pip": ("--no-index",),
    "npm": (),
    "nuget": ("-Source",),
    "conan": ("--no-remote",),
    "vcpkg": ("--overlay-ports",),
}
FILES = (".whl", ".tgz", ".deb", ".gz", ".nupkg", ".zip")
# Packages that the user brings, in any version.
OF_THE_USER = {"torch"}
NAME = re.compile(r"@?[A-Za-z0-9][\w.-]*(?:/[\w.-]+)?(?:\[[\w,-]+\])?(?:[=<>!~@].*)?")


def files():
    """Yields (name, text) of the project's text files, except this one, whose commands are
    wrong."""
    command = ["git", "-c", "safe.directory=*", "-C", str(ROOT), "ls-files", "-z"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path.is_file() and path != pathlib.Path(__file__).resolve():
            try:
                yield name, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                pass  # a picture


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned():
    """The names of other packages that a list of the project pins."""
    names = set()
    for name, text in files():
        if name.endswith(("requirements.txt", ".toml", ".sh", ".cmake")):
            names |= {normal(found) for found in re.findall(r"([A-Za-z][\w.-]*)==[\d$]", text)}
    return (names | OF_THE_USER) - {normal(name) for name in OURS}


def words_of(text):
    try:
        return shlex.split(text)
    except ValueError:  # a quotation mark of the surrounding text
        return text.replace('"', " ").replace("'", " ").split()


def packages(words):
    """The words of a command that are packages' names: not options, their values, files or
    variables."""
    names, skipped = [], False
    for word in words:
        if skipped:
            skipped = False
        elif word.startswith("--requires"):  # Conan's
            names += [word.partition("=")[2]] if "=" in word else []
        elif word.startswith("-"):
            skipped = word in WITH_VALUE
        elif "$" in word or word.startswith((".", "/", "~", "dist/")) or word.endswith(FILES):
            pass
        elif NAME.fullmatch(word):
            names.append(word)
    return names


def refusals(name, text, known):
    """Yields (command, reason) for each command of a text that is wrong."""
    for command in COMMAND.finditer(re.sub(r"\\\n\s*", " ", text)):
        tool, verb, rest = command.groups()
        tool = "pip" if tool in ("pip3", "uv") else tool
        if (tool, verb) == ("conan", "create"):  # takes the folder of a recipe
            continue
        words = words_of(re.split(r"[,.:] ", rest)[0])
        for package in packages(words):
            plain = normal(re.split(r"[\[=<>!~@/ ]", package.lstrip("@"))[0])
            if plain in {normal(our) for our in OURS}:
                # An index shows a METADATA file on the page of the package itself, so its commands
                # may name it.
                local = any(word.split("=")[0] in LOCAL.get(tool, ()) for word in words)
                if not local and not name.endswith("/METADATA"):
                    yield command[0], f"{package} is taken from a registry that we are not in"
            elif tool != "pip" or plain not in known and "==" not in package:
                yield command[0], f"{package} is neither ours nor pinned"


class InstallCommandsTest(unittest.TestCase):
    def setUp(self):
        self.known = pinned()

    def test_every_command_names_our_packages_or_pinned_ones(self):
        found, commands = [], 0
        for name, text in files():
            text = text.replace("@DISTRIBUTION@", common.DISTRIBUTION)
            text = text.replace("@NAME@", onnxruntime_wheel.DISTRIBUTION)
            text = text.replace("$distribution", common.DISTRIBUTION)
            commands += len(COMMAND.findall(text))
            found += [f"{name}: {command}: {why}" for command, why in
                      refusals(name, text, self.known)]
        self.assertGreater(commands, 10)  # it does find commands
        self.assertEqual(found, [])

    def test_what_our_packages_require(self):
        quoted = re.search(r"^dependencies = .*?(?=^\[tool)", common.PYPROJECT, re.M | re.S)[0]
        needs = [normal(re.split(r"[=<>]", word)[0])
                 for line in quoted.splitlines() if "classifiers" not in line
                 for word in re.findall(r'"([^"]+)"', line)]
        self.assertLessEqual({"numpy", "onnxruntime", "hewn-kernels-onnxruntime"}, set(needs))
        self.assertEqual(set(needs) - self.known - {normal(name) for name in OURS}, set())

    def test_commands_that_reach_for_a_stranger_are_found(self):
        for command in (
            "pip install hewn", "pip install 'hewn[onnxruntime]'", "pip3 install -q hewn-tune",
            "pip install onnxruntime onnxruntime-ep-hewn", "pip download --dest x hewn==0.0.0x y",
            "pip install hewn-kernels", "pip install 'hewn-kernels[tune]'", "uv pip install hewn",
            "npm install hewn", "npm i hewn-kernels", "nuget install hewn",
            "nuget install hewn-kernels", "nuget install hewn -Source there",
            "vcpkg install hewn", "vcpkg install hewn-kernels", "pod install hewn",
            "conan install --requires=hewn/0.2.0", "conan install --requires=hewn-kernels/0.2.0",
            "conan install --requires hewn/0.2.0", "pip install hewn, or do not",
            "pip install \\\n    --quiet hewn", "pip --quiet install hewn", "pip -q install hewn",
            "yarn global add hewn",
        ):
            with self.subTest(command):
                self.assertTrue(list(refusals("page.md", f"Type `{command}`.", self.known)))

    def test_commands_that_take_ours_are_not(self):
        for command in (
            "pip install .", "pip install dist/hewn_kernels-0.2.0-cp312-abi3-x.whl",
            "pip install onnxruntime ./hewn_kernels_onnxruntime-0.2.0-py3-none-x.whl",
            "pip install --no-index --find-links dist hewn-kernels", "pip install -r x.txt",
            "pip install halide==21.0.0 numpy", "npm install ./hewn-kernels-0.2.0.tgz",
            "nuget install hewn-kernels -Source dist", "conan create hewn-conan --no-remote",
            "vcpkg install hewn-kernels --overlay-ports=x", 'pip install "$wheel"',
            "conan install --no-remote --requires=hewn-kernels/0.2.0",
        ):
            with self.subTest(command):
                self.assertEqual(list(refusals("page.md", f"Type `{command}`.", self.known)), [])


if __name__ == "__main__":
    unittest.main()
