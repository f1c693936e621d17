#!/usr/bin/env python3
"""Tests of `hewn dynamic` and `hewn dynamic-quantize`, which write several outputs."""

import itertools
import os
import re
import subprocess
import unittest

import cli
import numpy as np
from cli import F32, HANG, CliTest, from_bf16, quantize, to_bf16


class DynamicTest(CliTest):
    def dynamic(self, x, dtype):
        """The outputs, computed by the formula."""
        limits, values = np.iinfo(dtype), x.astype(F32)
        low, high = min(F32(0), np.nanmin(values)), max(F32(0), np.nanmax(values))
        scale = (high - low) / F32(limits.max - limits.min) if high != low else F32(1)
        zero = np.rint(np.clip(F32(limits.min) - low / scale, limits.min, limits.max))
        return quantize(x, F32(scale), int(zero), dtype), F32(scale), dtype(zero)

    def test_types(self):
        for kind, (name, out) in itertools.product(["f4", "f2"], [("u8", np.uint8),
                                                                  ("i8", np.int8)]):
            x = (self.rng.standard_normal((6, 35)) * 3 + 1).astype(kind)
            result = self.succeed("dynamic", self.save("x.npy", x), "--type", name, "-o",
                                  self.path("y.npy"), "--scale", self.path("s.npy"),
                                  "--zero-point", self.path("z.npy"))
            y, scale, zero = self.dynamic(x, out)
            self.assert_same(np.load(self.path("y.npy")), y, name)
            self.assert_same(np.load(self.path("s.npy")), np.asarray(scale), name)
            self.assert_same(np.load(self.path("z.npy")), np.asarray(zero), name)
            line = re.fullmatch(r".*; OutputScaleTensor (\S+); OutputZeroPointTensor (\S+)\n",
                                result.stdout)
            self.assertEqual((F32(line[1]), int(line[2])), (scale, zero))

    def test_bf16(self):
        x = to_bf16(self.rng.standard_normal((6, 35)) * 3 + 1)
        result = self.compute("dynamic", self.save("x.npy", x), "--scale", self.path("s.npy"),
                              "--zero-point", self.path("z.npy"))
        y, scale, zero = self.dynamic(from_bf16(x), np.uint8)
        self.assert_same(result, y)
        self.assert_same(np.load(self.path("s.npy")), np.asarray(scale))
        self.assert_same(np.load(self.path("z.npy")), np.asarray(zero))
        self.refuse("dynamic", self.path("x.npy"), "--feature-level", "6.4",
                    says="BFLOAT16 needs feature level hewn", code=1)

    def test_default_type(self):
        x = self.save("x.npy", np.linspace(-1, 2, 7, dtype=F32))
        self.assert_same(self.compute("dynamic", x), self.compute("dynamic", x, "--type", "u8"))

    def test_refused(self):
        x = self.save("x.npy", np.zeros((2, 3), F32))
        self.refuse("dynamic", x, "--type", "u8", "--feature-level", "3.1",
                    says="needs feature level 4.0, compiled at 3.1", code=1)
        self.refuse("dynamic", x, "--type", "u8", "--scale", self.path("none/s.npy"),
                    says="none/s.npy")


    def test_outputs_are_different_files(self):
        x = self.save("x.npy", np.linspace(0, 1, 5, dtype=F32))
        os.mkdir(self.path("folder"))
        out, here = self.path("out.npy"), self.folder.name
        spellings = [f"{here}/./out.npy", f"{here}/folder/../out.npy", out]
        if os.name != "nt":
            os.symlink("out.npy", self.path("link.npy"))
            os.symlink(".", self.path("here"))
            spellings += [self.path("link.npy"), f"{here}/here/out.npy", f"{here}/here/link.npy"]
        for there in [False, True]:
            if there:
                self.save("out.npy", np.arange(3))
                os.link(out, self.path("hard.npy"))
                spellings.append(self.path("hard.npy"))
            for spelling in spellings:
                for option in ["--output-scale", "--zero-point"]:
                    self.refuse("dynamic", x, option, spelling,
                                says=[f" {spelling}: is the same file as -o {out}"])
                self.refuse("dynamic", x, "--scale", self.path("s.npy"), "--zero-point",
                            f"{here}/./s.npy", says="is the same file as --scale ")
        self.assert_same(np.load(out), np.arange(3))

    def test_all_outputs_or_none(self):
        """If one output cannot be written, none is, not even the first. Here the scale cannot be a
        picture."""
        x = self.save("x.npy", np.linspace(0, 1, 5, dtype=F32))
        self.refuse("dynamic", x, "--scale", self.path("s.png"), says="s.png")

    @unittest.skipIf(os.name == "nt", "limits of POSIX")
    def test_a_full_disk(self):
        """If there is no room for the second output, the first does not appear either."""
        import resource
        x = self.save("x.npy", np.ones(1, F32))
        limit = (130, 130)  # bytes of a file: the output has 129, the scale 132
        result = subprocess.run([cli.HEWN, "dynamic", x, "--scale", self.path("s.npy"), "-o",
                                 self.path("out.npy")], capture_output=True, text=True,
                                timeout=HANG, preexec_fn=lambda: resource.setrlimit(
                                    resource.RLIMIT_FSIZE, limit))
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(os.listdir(self.folder.name), ["x.npy"])


class DynamicQuantizeTest(CliTest):
    def run_on(self, x, *options):
        """The three outputs; the last one is None without --zero-point."""
        outputs = {"-o": "y.npy", "--scale": "s.npy"}
        if "symmetric" not in options and "full" not in options:
            outputs["--zero-point"] = "z.npy"
        named = [word for option, file in outputs.items() for word in (option, self.path(file))]
        self.succeed("dynamic-quantize", self.save("x.npy", x), *options, *named)
        return [np.load(self.path(file)) for file in outputs.values()]

    def test_rows_columns_and_blocks(self):
        x = (self.rng.standard_normal((6, 70)) * 3 + 1).astype(F32)
        for options, shape, blocks in [
                (["--axis", "1"], (6, 1), 70), (["--axis", "-1", "--block-size", "32"], (6, 3), 32)]:
            y, scale, zero = self.run_on(x, *options)
            self.assertEqual((y.dtype, y.shape, scale.shape, zero.shape), (np.uint8, x.shape, shape, shape))
            for row in range(6):
                for b in range(shape[1]):
                    part = x[row, b * blocks:(b + 1) * blocks]
                    low, high = min(F32(0), part.min()), max(F32(0), part.max())
                    due = (high - low) / F32(255)
                    self.assert_same(scale[row, b], due)
                    z = int(np.rint(np.clip(-(low / due), 0, 255)))
                    self.assertEqual(zero[row, b], z)
                    self.assert_same(y[row, b * blocks:(b + 1) * blocks],
                                     quantize(part, due, z, np.uint8))
        y, scale, zero = self.run_on(x, "--axis", "0")
        self.assertEqual((scale.shape, zero.shape), ((1, 70), (1, 70)))

    def test_modes_and_types(self):
        x = self.rng.standard_normal((4, 32)).astype(F32)
        y, scale = self.run_on(x, "--axis", "1", "--mode", "symmetric", "--type", "i8")
        due = np.abs(x).max(axis=1, keepdims=True) / F32(127)
        self.assert_same(scale, due)
        self.assert_same(y, np.rint(x / due).astype(np.int8))
        y, scale = self.run_on(x, "--mode", "full", "--type", "i4")
        self.assertEqual((y.dtype, y.min(), scale.shape), (np.int8, -8, (1, 1)))
        y, scale = self.run_on(x, "--axis", "1", "--mode", "symmetric", "--type", "f8e4m3fn", "--scale-type", "f16")
        self.assert_same(scale, (np.abs(x).max(axis=1, keepdims=True) / F32(448)).astype(np.float16))
        y, scale = self.run_on(np.zeros((2, 3), F32), "--mode", "symmetric", "--min_scale", "0.25")
        self.assert_same(scale, np.full((1, 1), 0.25, F32))

    def test_refused(self):
        x = self.save("x.npy", np.zeros((2, 3), F32))
        self.refuse("dynamic-quantize", x, "--type", "f8e4m3fn",
                    says="floats take the mode SYMMETRIC only", code=1)
        self.refuse("dynamic-quantize", x, "--mode", "full", "--zero-point", self.path("z.npy"),
                    says="OutputZeroPointTensor is written with --mode asymmetric only")
        self.refuse("dynamic-quantize", x, "--mode", "full", "--min_scale", "1",
                    says="min_scale is not 0, but mode FULL does not have it", code=1)
        self.refuse("dynamic-quantize", x, "--block-size", "2", says="--block-size requires --axis")
        self.refuse("dynamic-quantize", x, "--axis", "2", says="axis")


if __name__ == "__main__":
    cli.main()
