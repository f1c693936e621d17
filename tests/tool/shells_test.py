#!/usr/bin/env python3
"""The man page and the completions of the command line `hewn`: the page without a warning of man's
or mandoc's, and each shell that is here asked, with hewn's script, what it completes.

    python3 shells_test.py <path of hewn> [unittest arguments]"""

import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HEWN = None
PATIENCE = 60  # seconds


def hewn(*arguments, **environment):
    return subprocess.run([HEWN, *arguments], capture_output=True, text=True, check=True,
                          timeout=PATIENCE, env={**os.environ, **environment}).stdout


def completions(*words):
    """The words that may stand for the last one, as {word: its description}."""
    return dict(line.partition("\t")[::2]
                for line in hewn("--complete", *words).splitlines())


def commands():
    return list(completions(""))


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


class ManualTest(unittest.TestCase):
    def page(self):
        page = os.path.join(self.enterContext(tempfile.TemporaryDirectory()), "hewn.1")
        pathlib.Path(page).write_text(hewn("--man", SOURCE_DATE_EPOCH="86400"), encoding="utf-8")
        return page

    if sys.version_info < (3, 11):
        def enterContext(self, context):
            self.addCleanup(context.__exit__, None, None, None)
            return context.__enter__()

    def silent(self, *command):
        result = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE,
                                env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout[-2000:])
        return result.stdout

    @needs("man")
    def test_man(self):
        shown = self.silent("man", "-l", "--warnings", self.page())
        if "This system has been minimized" in shown:
            self.skipTest("man is Ubuntu's stand-in of a minimized image, which shows no page")
        text = re.sub(".\b", "", shown)
        for command in commands():
            self.assertIn(f"\n       hewn {command} ", text)
        self.assertIn("1970-01-02", text)

    @needs("mandoc")
    def test_mandoc(self):
        self.assertEqual(self.silent("mandoc", "-T", "lint", self.page()), "")

    def test_every_option_is_there(self):
        page = pathlib.Path(self.page()).read_text(encoding="utf-8").replace("\\-", "-")
        for command in ["", *commands()]:
            for option in completions(*command.split(), "-"):
                self.assertIn(option, page, command)


class CompletionTest(unittest.TestCase):
    def test_commands(self):
        info = completions("")
        self.assertLessEqual({"info", "add", "quantize", "qmul", "verify"}, set(info))
        self.assertEqual(set(completions("qu")), {"quantize"})
        self.assertEqual(completions("nonsense"), {})
        self.assertIn("picked", info["info"])

    def test_options(self):
        every = completions("quantize", "x.npy", "-")
        self.assertLessEqual({"--scale", "--type", "--output", "--variant", "--help", "--progress"},
                             set(every))
        self.assertNotIn("-o", every)  # its long name is offered instead
        self.assertEqual(set(completions("quantize", "-o")), {"-o"})
        # An option that the line already has is not offered again.
        self.assertEqual(set(every) - set(completions("quantize", "x.npy", "--scale", "1", "-")),
                         {"--scale"})
        self.assertEqual(set(completions("quantize", "--zer")), {"--zero-point"})
        self.assertEqual(completions("quantize", "--", "-"), {":files": ""})
        self.assertNotIn("--scale", completions("-"))

    def test_values(self):
        types = set(completions("quantize", "--type", ""))
        self.assertLessEqual({"u8", "i8", "u4"}, types)
        self.assertNotIn("f32", types)
        self.assertEqual(set(completions("quantize", "--type=u1")), {"--type=u16"})
        self.assertEqual(set(completions("quantize", "--type", "=", "u1")), {"u16"})  # of bash
        self.assertEqual(set(completions("dequantize", "--bits", "")), {"2", "4"})
        self.assertEqual(set(completions("--completion", "")), {"bash", "zsh", "fish"})
        self.assertIn("cuda", completions("add", "--device", ""))
        self.assertEqual(set(completions("add", "--feature-level", "6.")),
                         {f"6.{i}" for i in range(5)})
        info = json.loads(hewn("info", "--json"))
        self.assertEqual(set(completions("add", "--variant", "")),
                         {target["name"] for target in info["targets"]}
                         | {variant["name"] for variant in info["variants"]
                            if variant["operator"] == "add"})
        self.assertEqual(set(completions("verify", "--operator", "")),
                         {variant["operator"] for variant in info["variants"]})

    def test_files(self):
        for line in [["add", ""], ["add", "a", ""], ["add", "a", "b", "-o", ""],
                     ["quantize", "--scale", ""], ["quantize", "--scale=x"],
                     ["conformance", "a", "b", "c", ""]]:
            self.assertEqual(completions(*line), {":files": ""}, line)
        self.assertEqual(completions("replay", ""), {":folders": ""})
        # After the last file, options follow.
        self.assertIn("--output", completions("add", "a", "b", ""))
        self.assertEqual(completions("add", "--threads", ""), {})


class Terminal:
    """An interactive shell on a terminal of its own, and what it has printed."""

    def __init__(self, test, command, environment):
        pid, self.file = pty.fork()
        if pid == 0:
            os.execvpe(command[0], command, environment)
        test.addCleanup(os.waitpid, pid, 0)
        test.addCleanup(os.close, self.file)
        self.seen = ""

    def send(self, text):
        os.write(self.file, text.encode())

    def line_after(self, mark):
        """Waits for a line that begins with the mark, and returns the rest of it."""
        pattern = re.compile(rf"[\r\n]{mark}([^\r\n]*)[\r\n]")
        end = time.monotonic() + PATIENCE
        while not (found := pattern.search(self.seen)):
            if time.monotonic() > end or not select.select([self.file], [], [], PATIENCE)[0]:
                raise AssertionError(f"no {mark} in {self.seen!r}")
            self.seen += os.read(self.file, 1 << 16).decode(errors="replace")
        self.seen = self.seen[found.end() - 1:]
        return found[1]


class ShellTest(unittest.TestCase):
    """The completion scripts, run in the shells themselves."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        (self.folder / "bin").mkdir()
        os.symlink(HEWN, self.folder / "bin" / "hewn")
        (self.folder / "photo.npy").write_text("")
        (self.folder / "folder").mkdir()
        self.environment = {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "TERM": "dumb",
                            "HOME": str(self.folder), "LC_ALL": "C.UTF-8", "PS1": "$ "}

    def script(self, shell, name):
        (self.folder / name).write_text(hewn("--completion", shell), encoding="utf-8")
        return self.folder / name

    def check(self, complete):
        """Checks words with `complete`, which returns what the shell makes of the last word of a
        line."""
        self.assertEqual(complete("hewn qu"), ["quantize"])
        self.assertEqual(complete("hewn quantize --zer"), ["--zero-point"])
        self.assertEqual(sorted(complete("hewn quantize --type u1")), ["u16"])
        self.assertEqual(sorted(complete("hewn --completion ")), ["bash", "fish", "zsh"])
        self.assertEqual(sorted(complete("hewn quantize --max-")), ["--max-image-mib",
                                                                    "--max-scans"])
        self.assertEqual(complete("hewn quantize pho"), ["photo.npy"])
        folders = complete("hewn replay fol")
        self.assertEqual([folder.rstrip("/") for folder in folders], ["folder"])
        self.assertEqual(complete("hewn replay pho"), [])
        # A colon does not end a word of hewn's command line.
        self.assertEqual(complete("hewn add --device cuda:1 pho"), ["photo.npy"])
        self.assertEqual(complete("hewn add --device cuda:1 --varia"), ["--variant"])
        self.assertEqual(complete("hewn add --device pho:fol"), [])
        self.assertEqual(complete(f"{self.folder / 'bin' / 'hewn'} dequ"), ["dequantize"])

    def shell(self, command, start):
        """Returns a function that completes the last word of a line in that shell, and returns the
        words that then stand in its place. The function types the line and C-x a, for which the
        shell prints SAID and the completed line. `start` is what prepares the shell for this."""
        terminal = Terminal(self, command, self.environment)
        terminal.send(f"cd {self.folder}; say() {{ printf 'SAID%s\\n' \"$*\"; }}\n"
                      f"{start}say ready\n")
        self.assertEqual(terminal.line_after("SAID"), "ready")

        def complete(line):
            before, begun = line.rsplit(" ", 1)
            terminal.send(f"{line}\x18a")
            said = terminal.line_after("SAID")
            self.assertTrue(said.startswith(before), said)
            return [word for word in said[len(before):].split() if word != begun]

        return complete

    def test_bash(self):
        script = self.script("bash", "hewn.bash")
        # C-x a inserts all completions, puts `say ` at the line's beginning and runs the line.
        complete = self.shell(["bash", "--norc", "--noprofile", "-i"],
                              f"source {script}\n"
                              "bind '\"\\C-xb\": insert-completions'\n"
                              "bind '\"\\C-xa\": \"\\C-xb\\C-asay \\C-m\"'\n")
        self.check(complete)
        # In bash, what follows "=" is a word of its own.
        self.assertEqual(complete("hewn quantize --type=u1"), ["--type=u16"])
        self.assertEqual(complete("hewn quantize --scale=pho"), ["--scale=photo.npy"])

    @needs("zsh")
    def test_zsh(self):
        self.script("zsh", "_hewn")
        # _all_matches inserts the matches if there are several. A single match is completed as
        # usual.
        complete = self.shell(["zsh", "-f", "-i"],
                              "fpath=($HOME $fpath); autoload -Uz compinit && compinit -u -D\n"
                              "zle -C all-matches complete-word _generic\n"
                              "zstyle ':completion:all-matches::::' completer _all_matches "
                              "_complete\n"
                              "zstyle ':completion:all-matches:*' insert true\n"
                              "say-matches() { local begun=$BUFFER; zle all-matches -w\n"
                              "[[ $BUFFER == $begun ]] && zle complete-word\n"
                              "print; say $BUFFER; BUFFER=; zle -I }\n"
                              "zle -N say-matches; bindkey -e; bindkey '^Xa' say-matches\n")
        self.check(complete)
        self.assertEqual(complete("hewn quantize --type=u1"), ["--type=u16"])
        self.assertEqual(complete("hewn quantize --scale=pho"), ["--scale=photo.npy"])

    @needs("zsh")
    def test_zsh_sourced(self):
        script = self.script("zsh", "hewn.zsh")
        said = subprocess.run(["zsh", "-f", "-c", "autoload -Uz compinit && compinit -u -D && "
                               f"source {script} && echo $_comps[hewn]"], capture_output=True,
                              text=True, timeout=PATIENCE, env=self.environment)
        self.assertEqual((said.stdout, said.stderr), ("_hewn\n", ""))

    @needs("fish")
    def test_fish(self):
        script = self.script("fish", "hewn.fish")

        def complete(line):
            result = subprocess.run(["fish", "--no-config", "-c",
                                     f"source {script}; complete -C '{line}'"],
                                    capture_output=True, text=True, timeout=PATIENCE,
                                    cwd=self.folder, env=self.environment)
            self.assertEqual(result.stderr, "")
            return [word.split("\t")[0] for word in result.stdout.splitlines()]

        self.check(complete)
        self.assertEqual(complete("hewn quantize --type=u1"), ["--type=u16"])
        self.assertEqual(complete("hewn quantize --scale=pho"), ["--scale=photo.npy"])


if __name__ == "__main__":
    if len(sys.argv) < 2 or not os.path.isfile(sys.argv[1]):
        sys.exit(__doc__)
    HEWN = os.path.abspath(sys.argv.pop(1))
    unittest.main()
