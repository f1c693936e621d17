#!/usr/bin/env python3
"""Tests of wrong arguments, files and environments: what is refused, and what is left behind."""

import itertools
import json
import os
import signal
import subprocess
import unittest

import cli
import numpy as np
from cli import (
    F16,
    F32,
    HANG,
    CliTest,
    add_case,
    cpu_targets,
    make_png,
    make_progressive_jpeg,
    quantize,
    quantized_add,
    read,
    sample,
)


class BadUsageTest(CliTest):
    def setUp(self):
        super().setUp()
        self.a = self.save("a.npy", np.ones((2, 3), "f4"))

    def test_wrong_types_and_sizes(self):
        a = self.a
        self.refuse("add", a, self.save("b.npy", np.ones((2, 3), "i4")),
                    says=["ATensor", "BTensor", "f32", "i32"])
        self.refuse("add", a, self.save("b.npy", np.ones((2, 4), "f4")),
                    says=["ATensor", "BTensor", "[2, 3]", "[2, 4]"])
        self.refuse("add", a, self.save("b.npy", np.ones((1,) * 9, "f4")),
                    says=["b.npy", "9 dimensions", "at most 8"])
        two = self.save("two.npy", np.ones(2, F32))
        self.refuse("quantize", a, "--scale", two, "--type", "u8",
                    says=["ScaleTensor", "two.npy", "[2]", "[2, 3]", "--axis"])
        self.refuse("dequantize", self.save("q.npy", np.ones((2, 3), "u1")), "--scale", 1,
                    "--zero-point", self.save("z.npy", np.ones(2, "u1")),
                    says=["ZeroPointTensor", "z.npy", "[2]", "[2, 3]", "--axis"])
        self.refuse("quantize", a, "--scale", two, "--axis", 1, "--type", "u8",
                    says=["ScaleTensor", "two.npy", "2 elements", "axis 1", "has 3"])
        self.refuse("quantize", a, "--scale", 1, "--zero-point",
                    self.save("z.npy", np.zeros(2, "u1")), "--type", "u8",
                    says=["ZeroPointTensor", "z.npy"])
        self.refuse("quantize", self.save("r0.npy", F32(1)), "--scale", two, "--type", "u8",
                    says=["ScaleTensor", "two.npy"])
        for axis in [2, -3, 100]:
            for scale in [two, 1, self.save("one.npy", np.ones(1, F32)),
                          self.save("whole.npy", np.ones((2, 3), F32))]:
                self.refuse("quantize", a, "--scale", scale, f"--axis={axis}", "--type", "u8",
                            says=["--axis", str(axis), "2 dimensions"])
            self.refuse("dequantize", self.save("q.npy", np.ones((2, 3), "u1")), "--scale", 1,
                        f"--axis={axis}", says=["--axis", str(axis), "2 dimensions"])
        self.refuse("quantize", self.path("r0.npy"), "--scale", 1, "--axis", 0, "--type", "u8",
                    says=["--axis 0", "0 dimensions"])
        for kind in ["f32", "i64", "float32", "int64"]:  # known types, but not an output's
            self.refuse("quantize", a, "--scale", 1, "--type", kind,
                        says=["--type", kind, "u8", "i8", "i32"])
        self.refuse("dequantize", a, "--scale", 1, says=["InputTensor", "a.npy"], code=1)
        self.refuse("dequantize", self.save("w.npy", np.zeros(2, "i8")), "--scale", 1,
                    says=["InputTensor", "w.npy"], code=1)

    def test_numbers_that_do_not_fit(self):
        a = self.a
        for zero, kind, says in [("300", "u8", "outside u8's range 0..255"),
                                 ("-1", "u8", "outside u8's range 0..255"),
                                 ("128", "i8", "-128..127"), ("-129", "i8", "-128..127"),
                                 ("1.5", "u8", "not an integer"),
                                 ("nan", "u8", "not an integer"), ("1e1", "u8", "not an integer"),
                                 ("99999999999999999999", "u8", "0..255")]:
            self.refuse("quantize", a, "--scale", 1, f"--zero-point={zero}", "--type", kind,
                        says=["--zero-point", zero, says])
        # An empty word, which an unset variable of a shell makes.
        self.refuse("quantize", a, "--scale", 1, "--zero-point", "", "--type", "u8",
                    says="--zero-point")
        q = self.save("q.npy", np.zeros(2, "u1"))
        for option in ["--a-zero-point", "--b-zero-point", "--zero-point"]:
            self.refuse("qadd", q, q, "--a-scale", 1, "--b-scale", 1, "--scale", 1, option, "",
                        says=option)
        for scale, says in [("1e39", "too large"), ("1e-50", "too small"), ("1e400", "too large"),
                            ("1e-400", "too small"), ("0x1p-200", "too small"),
                            ("0xap-2000", "too small")]:
            self.refuse("quantize", a, "--scale", scale, "--type", "u8",
                        says=["--scale", scale, says, "f32"])
        half = self.save("h.npy", np.ones(2, "f2"))
        for scale, says in [("70000", "too large"), ("65520", "too large"), ("1e-9", "too small")]:
            self.refuse("quantize", half, "--scale", scale, "--type", "u8",
                        says=["--scale", scale, says, "f16"])
        for scale in ["65519", "6e-8", "0", "-0.0", "0e10", "0x0p1", "0x1p-3", "inf"]:
            self.compute("quantize", half, f"--scale={scale}", "--type", "u8")
        word = self.save("w.npy", np.zeros(2, "u4"))
        self.compute("dequantize", word, "--scale", 1, "--zero-point", 4294967295)
        self.refuse("dequantize", word, "--scale", 1, "--zero-point", 4294967296,
                    says=["--zero-point", "0..4294967295"])

    def test_feature_levels(self):
        a = self.a
        self.refuse("quantize", a, "--scale", 1, "--type", "u8", "--feature-level", "6.0",
                    says=["ZeroPointTensor", "6.2"], code=1)
        self.compute("quantize", a, "--scale", 1, "--type", "u8", "--feature-level", "6.0",
                     "--zero-point", 0)
        self.compute("quantize", a, "--scale", 1, "--type", "u8", "--feature-level", "6.2")
        self.refuse("add", a, a, "--feature-level", "2.1", says="ATensor", code=1)
        self.refuse("add", a, a, "--feature-level", "7.0",
                    says=["--feature-level", "7.0", "6.4, hewn"])
        for level in ["1.0", "2.0", "2.1", "3.0", "3.1", "4.0", "4.1", "5.0", "5.1", "5.2", "6.0",
                      "6.1"]:
            self.refuse("quantize", a, "--scale", 1, "--type", "u8", "--feature-level", level,
                        says=f"compiled at {level}", code=1)
        words = self.save("words.npy", np.ones(3, "i8"))
        for level in ["6.2", "6.3", "6.4", "hewn"]:
            self.refuse("dequantize", words, "--scale", 1, "--feature-level", level,
                        says=f"feature level {level} has", code=1)

    def test_files(self):
        a = self.a
        self.refuse("add", a, self.path("missing.npy"), says=["missing.npy", "no such file"])
        self.refuse("add", a, self.folder.name, says="not a regular file")
        os.mkdir(self.path("folder.npy"))
        self.refuse("add", a, self.path("folder.npy"), says=["folder.npy", "not a regular file"])
        self.refuse("add", a, self.write("a.txt", b"1 2 3"), says=["a.txt", ".npy"])
        self.refuse("qadd", a, 3, "--a-scale", 1, "--b-scale", 1, "--scale", 1,
                    says="3: no such file; a number is not taken here")
        self.refuse("quantize", 1.5, "--scale", 1, "--type", "u8",
                    says="1.5: no such file; a number is not taken here")
        self.refuse("add", a, a, out="out.txt", says=["out.txt", ".npy or .png"])
        self.refuse("add", a, a, out="out", says="must end in")
        self.refuse("add", a, a, out="out.jpg", says="out.jpg")
        self.refuse("add", a, a, out="folder.npy", says=["folder.npy", "not a regular file"])
        self.refuse("add", a, a, out="missing/out.npy", says=["missing", "does not exist"])
        q = self.save("q.npy", np.ones((2, 3), "u1"))
        for arguments in [["quantize", a, "--scale", 1, "--type", "u8"],
                          ["dequantize", q, "--scale", 1],
                          ["qadd", q, q, "--a-scale", 1, "--b-scale", 1, "--scale", 1]]:
            self.refuse(*arguments, out="out.txt", says=["out.txt", ".npy or .png"])
        for scale in ["scales.npy", "one", "1,5", ""]:
            self.refuse("quantize", a, "--scale", scale, "--type", "u8",
                        says=f"--scale: '{scale}' is neither a number nor a file")
        if os.geteuid() != 0:  # root may write anywhere
            os.mkdir(self.path("closed"), 0o500)
            self.refuse("add", a, a, out="closed/out.npy", says="closed/out.npy")

    @unittest.skipIf(os.name == "nt", "pipes of POSIX")
    def test_no_streams(self):
        a = self.a
        stream = ("standard input and output, pipes and devices are not supported; "
                  "use a regular file")
        os.mkfifo(self.path("pipe.npy"))
        for file in ["-", self.path("pipe.npy"), "/dev/null"]:
            self.refuse("add", file, a, says=[file, stream])
            self.refuse("add", a, file, says=[file, stream])
            self.refuse("quantize", a, "--scale", file, "--type", "u8", says=[file, stream])
            self.refuse("dequantize", a, "--scale", 1, "--zero-point", file, says=[file, stream])
            self.refuse("add", a, a, "-o", file, out=None, says=[file, stream])
            self.refuse("conformance", file, out=None, says=[file, stream])
        result = subprocess.run([cli.HEWN, "add", "/dev/stdin", a, "-o", self.path("out.npy")],
                                input=read(a), capture_output=True, timeout=HANG)
        self.assertEqual((result.returncode, stream in result.stderr.decode()), (2, True),
                         result.stderr)

    def test_existing_output_survives_an_error(self):
        before = read(self.save("out.npy", np.arange(3)))
        self.refuse("add", self.a, self.path("missing.npy"), says="missing.npy")
        self.assertEqual(read(self.path("out.npy")), before)

    @unittest.skipIf(os.name == "nt", "permissions and links of POSIX")
    def test_existing_output_keeps_its_permissions_and_links(self):
        a = self.save("a.npy", np.arange(3))
        for mode in (0o600, 0o664, 0o444):
            os.chmod(self.save("out.npy", np.arange(3)), mode)
            self.assert_same(self.compute("add", a, a), 2 * np.arange(3))
            self.assertEqual(os.stat(self.path("out.npy")).st_mode & 0o7777, mode)
        os.mkdir(self.path("elsewhere"))
        os.symlink(os.path.join("elsewhere", "real.npy"), self.path("link.npy"))
        self.save("elsewhere/real.npy", np.arange(3))
        self.assert_same(self.compute("add", a, a, out="link.npy"), 2 * np.arange(3))
        self.assertTrue(os.path.islink(self.path("link.npy")))
        self.assert_same(np.load(self.path("elsewhere/real.npy")), 2 * np.arange(3))
        os.symlink("link.npy", self.path("link_to_link.npy"))
        self.assert_same(self.compute("add", a, self.path("link.npy"), out="link_to_link.npy"),
                         3 * np.arange(3))
        self.assertTrue(os.path.islink(self.path("link.npy")))
        self.assert_same(np.load(self.path("elsewhere/real.npy")), 3 * np.arange(3))
        # A link as a content-addressed store has it: the link's name tells the kind of file, and
        # the file that it leads to does not exist yet.
        os.symlink(os.path.join("elsewhere", "0a1b"), self.path("link.png"))
        self.succeed("quantize", self.save("b.npy", np.ones((2, 2), F32)), "--scale", 1, "--type",
                     "u8", "-o", self.path("link.png"))
        self.assertTrue(os.path.islink(self.path("link.png")))
        self.assertTrue(read(self.path("elsewhere/0a1b")).startswith(b"\x89PNG"))
        self.assertEqual(sorted(os.listdir(self.path("elsewhere"))), ["0a1b", "real.npy"])

    @unittest.skipIf(os.name == "nt", "links of POSIX")
    def test_a_loop_of_links_stays(self):
        a = self.save("a.npy", np.arange(3))
        links = {"one.npy": "two.npy", "two.npy": "one.npy", "self.npy": "self.npy"}
        for link, to in links.items():
            os.symlink(to, self.path(link))
        for link in links:
            self.refuse("add", a, 1, out=link,
                        says=f"{link}: cannot be written: Too many levels of symbolic links")
            self.refuse("add", self.path(link), 1,
                        says=f"{link}: cannot be read: Too many levels of symbolic links")
        self.assertEqual({link: os.readlink(self.path(link)) for link in links}, links)

    @unittest.skipIf(os.name == "nt", "limits of POSIX")
    def test_a_full_disk(self):
        """If no file may grow beyond 4096 bytes, the begun output is removed again. This holds even
        if SIGXFSZ, the system's signal for that, would end the program."""
        import resource
        a = self.save("large.npy", sample(self.rng, (100, 100), "u1"))
        for out, action in itertools.product(["out.npy", "out.png"],
                                             [signal.SIG_IGN, signal.SIG_DFL]):
            def limit():
                signal.signal(signal.SIGXFSZ, action)
                resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

            before = set(os.listdir(self.folder.name))
            result = subprocess.run([cli.HEWN, "add", a, a, "-o", self.path(out)], capture_output=True,
                                    text=True, timeout=HANG, restore_signals=False,
                                    preexec_fn=limit, env=self.without_drivers())
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(f"{out}: cannot be written: ", result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertEqual(set(os.listdir(self.folder.name)), before)

    @unittest.skipIf(os.name == "nt", "mounts of Linux")
    def test_a_disk_without_space(self):
        """The disk is a file system of 16 KiB in a name space of its own."""
        folder, script = self.path("disk"), (
            'mount -t tmpfs -o size=16k none "$1" || exit 77; shift; "$@"; code=$?; '
            'ls -A "$(dirname "${@: -1}")"; exit $code')
        os.mkdir(folder)
        a = self.save("large.npy", np.zeros(50000, "i1"))
        command = ["unshare", "-rm", "bash", "-c", script, "bash", folder, cli.HEWN, "add", a, "1"]
        try:
            result = subprocess.run([*command, "-o", folder + "/out.npy"], capture_output=True,
                                    text=True, timeout=HANG)
        except FileNotFoundError:
            self.skipTest("no unshare")
        if result.returncode == 77 or "unshare:" in result.stderr:  # nothing was mounted
            self.skipTest("no name spaces for this user: " + result.stderr)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("out.npy: cannot be written: No space left on device", result.stderr)
        self.assertEqual(result.stdout, "", "something is left")

    @unittest.skipIf(os.name == "nt", "/proc of Linux")
    def test_home_is_read_only(self):
        """hewn writes only its output, wherever it starts. Here HOME is /proc, where nobody can
        write."""
        a = self.save("a.npy", np.arange(9, dtype="f4"))
        environment = {**os.environ, "OCL_ICD_VENDORS": self.folder.name,
                       **dict.fromkeys(["HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"],
                                       "/proc")}
        for command in [["info"], ["add", a, a, "-o", self.path("out.npy")],
                        ["verify", "--device", "cpu", "--operator", "add", "--cases", "1"]]:
            result = subprocess.run([cli.HEWN, *command], capture_output=True, text=True, cwd="/proc",
                                    timeout=HANG, env=environment)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["a.npy", "out.npy"])
        self.refuse("add", a, a, "-o", "/proc/out.npy", out=None,
                    says="/proc/out.npy: cannot be written: ")

    @unittest.skipIf(os.name == "nt", "signals of POSIX")
    def test_killed_while_it_writes(self):
        """The final name always has the old file or the new one, complete; and the next run
        works."""
        a = self.save("a.npy", np.zeros(32 << 20, "i1"))
        for before in [None, np.arange(5)]:
            name = self.path("out.npy")
            for _ in range(50):  # until hewn is caught while it writes
                if before is not None:
                    self.save("out.npy", before)
                left = self.kill_while_it_writes("add", a, "1", "-o", name)
                if os.path.exists(name):
                    got = np.load(name)
                    if before is None or got.size != before.size:
                        self.assert_same(got, np.ones(32 << 20, "i1"))
                        os.remove(name)
                        continue
                    self.assert_same(got, before)
                if left:
                    break
            self.assertEqual([part.startswith(".hewn.") for part in left], [True])
            self.assertEqual(os.path.exists(name), before is not None)
            self.assert_same(self.compute("add", a, 1), np.ones(32 << 20, "i1"))
            os.remove(name)
            os.remove(self.path(left[0]))

    def without_drivers(self):
        """An environment without OpenCL's drivers. PoCL's LLVM has its own handlers of signals,
        which swallow some."""
        return {**os.environ, "OCL_ICD_VENDORS": self.folder.name}

    def kill_while_it_writes(self, *arguments, by=9):
        """Sends the signal as soon as a new file appears. Returns the temporary files that hewn
        leaves; None if hewn was done before the signal came."""
        there = set(os.listdir(self.folder.name))
        # The background jobs of a shell ignore some signals, and this child would as well.
        heed = None if by == 9 else lambda: signal.signal(by, signal.SIG_DFL)
        with subprocess.Popen([cli.HEWN, *arguments], stdout=subprocess.DEVNULL, preexec_fn=heed,
                              env=self.without_drivers()) as process:
            while process.poll() is None and set(os.listdir(self.folder.name)) <= there:
                pass
            process.send_signal(by)
        left = [name for name in os.listdir(self.folder.name) if name.startswith(".hewn.")]
        return left if by == 9 or process.returncode == -by else None

    @unittest.skipIf(os.name == "nt", "signals of POSIX")
    def test_ended_by_a_signal_while_it_writes(self):
        """A signal that a program can catch leaves no file behind."""
        a = self.save("a.npy", np.zeros(32 << 20, "i1"))
        for by in [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGTERM,
                   signal.SIGXCPU]:
            for _ in range(50):  # until hewn is caught while it writes
                left = self.kill_while_it_writes("add", a, "1", "-o", self.path("out.npy"), by=by)
                if left is not None and not os.path.exists(self.path("out.npy")):
                    break
                os.remove(self.path("out.npy"))
            self.assertEqual(left, [], by)
            self.assertEqual(os.listdir(self.folder.name), ["a.npy"], by)

    @unittest.skipIf(os.name == "nt", "limits of POSIX")
    def test_out_of_memory(self):
        """Wherever memory ends, the exit code is 3, one line says so, and nothing is written."""
        import resource

        def run(limit, *arguments):
            return subprocess.run([cli.HEWN, *map(str, arguments)], capture_output=True, text=True,
                                  timeout=HANG,
                                  # Drivers may abort, so there are none.
                                  env={**os.environ, "OCL_ICD_VENDORS": self.folder.name},
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS,
                                                                        (limit, limit)))

        if run(128 << 20, "--version").returncode != 0:
            self.skipTest("the program alone needs more memory, as with a sanitizer")
        least, enough = 0, 128 << 20  # bytes for --version
        while enough - least > 4096:
            middle = (least + enough) // 2
            works = run(middle, "--version").returncode == 0
            least, enough = (least, middle) if works else (middle, enough)

        def sweep(*arguments, out="out.npy"):
            before, codes = set(os.listdir(self.folder.name)), []
            for limit in [enough, *sorted(self.rng.integers(enough, enough + (64 << 20),
                                                            14).tolist()), enough + (80 << 20)]:
                # Other threads would need stacks.
                result = run(limit, *arguments, "--threads", 1,
                             *(["-o", self.path(out)] if out else []))
                text = f"{limit} {arguments} {result.returncode}\n{result.stdout}{result.stderr}"
                codes.append(result.returncode)
                self.assertIn(result.returncode, (0, 3), text)
                if result.returncode == 3:
                    self.assertRegex(result.stderr, r"^hewn: error: .*(out of|no) memory.*\n$",
                                     text)
                    self.assertEqual(set(os.listdir(self.folder.name)), before, text)
                elif out:
                    os.remove(self.path(out))
            self.assertEqual((codes[0], codes[-1]), (3, 0), codes)

        pixels = np.zeros((2048, 2048), "u1")
        x, q = self.save("x.npy", pixels.astype(F32)), self.save("q.npy", pixels)
        png = self.write("a.png", make_png(pixels, 8, 0))
        jpeg = self.write("a.jpg", make_progressive_jpeg(1, *pixels.shape))
        for arguments in [["add", x, x], ["quantize", x, "--scale", x, "--type", "u8"],
                          ["dequantize", q, "--scale", 1], ["add", png, png],
                          ["quantize", png, "--scale", 1, "--type", "u8"], ["add", jpeg, 1],
                          ["quantize", jpeg, "--scale", 1, "--type", "u8"],
                          ["qadd", q, q, "--a-scale", 1, "--b-scale", 1, "--scale", 1]]:
            sweep(*arguments)
        sweep("add", x, 1, out="out.png")
        sweep("conformance",
              self.write("cases.jsonl", json.dumps(add_case("u8", *[[0] * (1 << 18)] * 3))),
              out=None)

    @unittest.skipIf(not os.path.exists("/dev/full"), "no /dev/full")
    def test_a_full_standard_output(self):
        for command in ["info"], ["--help"], ["--version"], ["add", "--help"]:
            with open("/dev/full", "w") as full:
                result = subprocess.run([cli.HEWN, *command], stdout=full, stderr=subprocess.PIPE,
                                        text=True, timeout=HANG)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("standard output", result.stderr)

    def test_variants(self):
        self.refuse("add", self.a, self.a, "--variant", "x86_64_mmx", says="x86_64_mmx", code=1)
        self.refuse("add", self.a, self.a, says="nonsense", code=1, HEWN_VARIANT="nonsense")
        name = next(v["name"]
                    for v in json.loads(self.succeed("info", "--json").stdout)["variants"]
                    if v["operator"] == "add" and v["signature"] == "i8")
        self.refuse("add", self.a, self.a, "--variant", name, says=[name, "fit"], code=1)

    def test_wrong_names(self):
        """The nearest name is suggested. A list is given only if it is short."""
        a = self.a

        def suggests(meant, *arguments, code=2, out=None, **environment):
            self.refuse(*arguments, says=f"did you mean {meant}?", code=code, out=out,
                        **environment)

        suggests("quantize", "quantise", a)
        suggests("conformance", "conform")
        suggests("--zero-point", "quantize", a, "--zeropoint", 1)
        suggests("--scale", "quantize", a, "--scal=1", "--type", "u8", out="out.npy")
        suggests("--progress", "--progres", "info")
        suggests("u8", "quantize", a, "--scale", 1, "--type", "v8")
        suggests("u8", "quantize", a, "--scale", 1, "--type", "U8")
        suggests("uint8", "quantize", a, "--scale", 1, "--type", "unit8")
        suggests("bfloat16", "quantize", a, "--scale", 1, "--precision", "bfloat61")
        suggests("quantize_linear", "verify", "--operator", "quantise_linear")
        self.refuse("add", a, "--", -2, out=None, says="--output is required")
        self.refuse("add", "--", a, -2, "-o", "out.npy", out=None,
                    says="-o stands after --: write options before it")
        result = self.refuse("dequantize", a, "--scale", 1, "--bits", 8, says=["8", "2, 4"])
        self.assertNotIn("did you mean", result.stderr)
        result = self.refuse("multiply", a, a, out=None, says=["multiply", "quantize", "info"])
        self.assertNotIn("did you mean", result.stderr)
        target = cpu_targets(json.loads(self.succeed("info", "--json").stdout), "add_f32")[0]
        name = target["name"]
        wrong = name[:-2] + name[-1] + name[-2]  # its last two characters exchanged
        cases = self.write("cases.jsonl", "")
        suggests(name, "add", a, a, "--variant", wrong, code=1, out="out.npy")
        suggests(name, "add", a, a, code=1, out="out.npy", HEWN_VARIANT=wrong)
        suggests("add_f32__" + name, "add", a, a, "--variant", "add_float32__" + name, code=1,
                 out="out.npy")
        suggests(name, "conformance", cases, "--variant", wrong, code=1)
        suggests(name, "replay", self.path("replay"), "--variant", wrong, code=1)

    def test_names_of_numpy(self):
        x = self.save("x.npy", sample(self.rng, (4, 5), "f4"))
        for name, numpy_name in [("u8", "uint8"), ("i8", "int8"), ("i16", "int16"),
                                 ("u4", "uint4")]:
            quantized = [self.compute("quantize", x, "--scale", 0.5, "--type", each)
                         for each in [name, numpy_name]]
            self.assert_same(*quantized, name)
        q = self.save("q.npy", sample(self.rng, (4, 5), "u1"))
        self.assertEqual(self.compute("dequantize", q, "--scale", 0.5, "--type", "float16").dtype,
                         F16)
        halves = self.save("x.npy", sample(self.rng, (4, 5), "f4"))
        self.assert_same(
            *[self.compute("quantize", halves, "--scale", 0.1, "--precision", word)
              for word in ["f16", "float16"]])

    def test_default_type(self):
        """The same default as in Python: the type of a zero point in a file, else u8 or the first
        operand's type."""
        x, q = self.save("x.npy", sample(self.rng, (4, 5), "f4")), sample(self.rng, (4, 5), "u1")
        self.assertEqual(self.compute("quantize", x, "--scale", 0.5).dtype, np.uint8)
        self.assertEqual(self.compute("quantize", x, "--scale", 0.5, "--zero-point", 3).dtype,
                         np.uint8)
        for kind in ["i1", "u1", "i2"]:
            zero = self.save("z.npy", np.array(3, kind))
            self.assert_same(self.compute("quantize", x, "--scale", 0.5, "--zero-point", zero),
                             quantize(np.load(x), F32(0.5), 3, np.dtype(kind)), kind)
        # --type wins over the zero point's type. NumPy's i64 is not a type of outputs.
        self.refuse("quantize", x, "--scale", 0.5, "--zero-point", self.save("z.npy", np.int8(3)),
                    "--type", "u8", says=["z.npy", ".astype('|u1')"], code=1)
        self.refuse("quantize", x, "--scale", 0.5, "--zero-point", self.save("z.npy", np.int64(3)),
                    says=["z.npy", ".astype('|u1')"], code=1)
        file = self.save("q.npy", q)
        scales = ["--a-scale", 0.1, "--b-scale", 0.2, "--scale", 0.3]
        self.assert_same(self.compute("qadd", file, file, *scales),
                         quantized_add(q, 0.1, 0, q, 0.2, 0, 0.3, 0, np.uint8))
        self.assert_same(self.compute("qadd", file, file, *scales, "--zero-point",
                                      self.save("z.npy", np.int8(3))),
                         quantized_add(q, 0.1, 0, q, 0.2, 0, 0.3, 3, np.int8))

    def test_an_empty_argument(self):
        for words in [["", "info"], ["add", self.a, self.a, ""]]:
            self.refuse(*words, out=None if words[0] == "" else "out.npy",
                        says="'' is not expected: an empty argument")
        for words in [["add", self.a, "", "-o", "out.npy"], ["add", self.a, self.a, "-o", ""]]:
            self.refuse(*words, out=None, says="'': the name of a file is empty")

    def test_usage(self):
        a = self.a
        self.refuse(out=None, says="subcommand")
        self.refuse("multiply", a, a, says="multiply")
        self.refuse("add", a, says="B")
        self.refuse("add", a, a, a, says="a.npy")
        self.refuse("add", a, a, out=None, says="--output")
        self.refuse("add", a, a, "--threads", "-1", says="--threads")
        self.refuse("add", a, a, "--threads", "many", says="--threads")
        self.refuse("add", a, a, "--nonsense", says="--nonsense")
        self.refuse("quantize", a, "--type", "u8", says="--scale")
        self.refuse("quantize", a, "--scale", 1, "--type", "u8", "--axis", "x", says="--axis")
        self.refuse("info", "--json", "--licenses", out=None, says="--json")
        self.refuse("conformance", out=None, says="FILES")
        self.refuse("replay", out=None, says="DIR")


if __name__ == "__main__":
    cli.main()
