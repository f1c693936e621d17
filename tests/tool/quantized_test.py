#!/usr/bin/env python3
"""Tests of `hewn qadd`, `hewn qmul` and `hewn requantize`."""

import itertools

import cli
import numpy as np
from cli import F32, CliTest, quantized_add, quantized_mul, sample


class QaddTest(CliTest):
    def test_types(self):
        for a_kind, b_kind, (name, out) in itertools.product(["i1", "u1"], ["i1", "u1"],
                                                             [("i8", np.int8), ("u8", np.uint8)]):
            a, b = sample(self.rng, (6, 35), a_kind), sample(self.rng, (6, 35), b_kind)
            az, bz, oz = (int(sample(self.rng, (), kind)) for kind in [a_kind, b_kind, out])
            got = self.compute("qadd", self.save("a.npy", a), self.save("b.npy", b), "--a-scale",
                               0.03, f"--a-zero-point={az}",
                               "--b-scale", 0.11, f"--b-zero-point={bz}", "--scale", 0.07,
                               f"--zero-point={oz}", "--type", name)
            self.assert_same(got, quantized_add(a, 0.03, az, b, 0.11, bz, 0.07, oz, out),
                             f"{a_kind} {b_kind} {name}")

    def test_defaults_files_and_broadcasting(self):
        for a_shape, b_shape in [((4, 1, 3), (5, 1)), ((), ()), ((2,) * 8, (2,)), ((3,), (1,))]:
            a, b = sample(self.rng, a_shape, "u1"), sample(self.rng, b_shape, "u1")
            got = self.compute("qadd", self.save("a.npy", a), self.save("b.npy", b), "--a-scale",
                               self.save("as.npy", np.full((1, 1), 0.5, F32)),
                               "--b-scale", self.save("bs.npy", np.array([0.25], F32)),
                               "--output-scale", self.save("os.npy", F32(0.7)),
                               "--output-zero-point", self.save("oz.npy", np.uint8(9)))
            self.assert_same(got, np.asarray(quantized_add(a, 0.5, 0, b, 0.25, 0, 0.7, 9,
                                                           np.uint8)), f"{a_shape} {b_shape}")
        scales = ["--a-scale", 1, "--b-scale", 1, "--scale", 1]
        ones = [self.save("a.npy", np.ones(3, "u1")), self.save("b.npy", np.ones(3, "i1"))]
        self.assert_same(self.compute("qadd", *ones, *scales), np.full(3, 2, "u1"))
        self.assert_same(self.compute("qadd", *ones[::-1], *scales), np.full(3, 2, "i1"))

    def test_activations(self):
        a = self.save("a.npy", np.array([0, 90, 110, 255], "u1"))
        b = self.save("b.npy", np.zeros(4, "u1"))
        words = ["--a-scale", 1, "--b-scale", 1, "--scale", 0.5, "--a-zero-point", 100,
                 "--zero-point", 8]
        for activation, due in (("none", [0, 0, 28, 255]), ("relu", [8, 8, 28, 255]),
                                ("relu6", [8, 8, 20, 20]), ("relu_n1_to_1", [6, 6, 10, 10])):
            self.assert_same(self.compute("qadd", a, b, *words, "--activation", activation),
                             np.array(due, "u1"), activation)
        self.refuse("qadd", a, b, *words, "--activation", "relu7", says="relu7")

    def test_refused(self):
        a = self.save("a.npy", np.zeros((2, 3), "u1"))
        scales = ["--a-scale", 1, "--b-scale", 1, "--scale", 1]
        two = self.save("two.npy", np.ones(2, F32))
        self.refuse("qadd", a, a, "--a-scale", two, *scales[2:],
                    says=["AScaleTensor", "two.npy", "2 elements", "expected 1"])
        self.refuse("qadd", a, a, *scales[:4], "--scale", two,
                    says=["OutputScaleTensor", "2 elements"])
        self.refuse("qadd", a, self.save("c.npy", np.zeros((2, 4), "u1")), *scales,
                    says=["ATensor", "BTensor", "[2, 3]", "[2, 4]"])
        self.refuse("qadd", a, self.save("f.npy", np.zeros((2, 3), "f4")), *scales,
                    says=["BTensor", "f.npy"], code=1)
        self.refuse("qadd", a, a, *scales, "--a-zero-point", 256,
                    says=["--a-zero-point", "256", "0..255"])
        self.refuse("qadd", a, a, *scales, "--feature-level", "3.0", says="4.0", code=1)
        self.refuse("qadd", a, a, *scales[2:], says="--a-scale")


class QmulTest(CliTest):
    def test_types(self):
        for kind, (name, out) in itertools.product(["i1", "u1"],
                                                   [("i8", np.int8), ("u8", np.uint8)]):
            a, b = sample(self.rng, (6, 35), kind), sample(self.rng, (35,), kind)
            az, bz, oz = (int(sample(self.rng, (), each)) for each in [kind, kind, out])
            got = self.compute("qmul", self.save("a.npy", a), self.save("b.npy", b), "--a-scale",
                               0.03, f"--a-zero-point={az}",
                               "--b-scale", 0.11, f"--b-zero-point={bz}", "--scale", 0.37,
                               f"--zero-point={oz}", "--type", name)
            self.assert_same(got, quantized_mul(a, 0.03, az, b, 0.11, bz, 0.37, oz, out),
                             f"{kind} {name}")

    def test_defaults(self):
        threes = self.save("a.npy", np.full(3, 3, "u1"))
        # The product is 4.5, which rounds to even.
        self.assert_same(self.compute("qmul", threes, threes, "--a-scale", 1, "--b-scale", 0.5,
                                      "--scale", 1), np.full(3, 4, "u1"))

    def test_refused(self):
        a, scales = self.save("a.npy", np.zeros((2, 3), "u1")), ["--a-scale", 1, "--b-scale", 1,
                                                                 "--scale", 1]
        self.refuse("qmul", a, self.save("b.npy", np.zeros((2, 3), "i1")), *scales,
                    says=["BTensor", "one data type"])
        for operands in [a, 3], [3, a]:
            self.refuse("qmul", *operands, *scales, says="a number is not taken here")
        self.refuse("qmul", a, a, *scales, "--feature-level", "6.4",
                    says="needs feature level hewn, compiled at 6.4", code=1)
        self.refuse("qmul", a, a, "--a-scale", self.save("two.npy", np.ones(2, F32)), *scales[2:],
                    says=["AScaleTensor", "2 elements"])


class RequantizeTest(CliTest):
    def test_types(self):
        kinds = [("i8", np.int8), ("u8", np.uint8), ("i16", np.int16), ("u16", np.uint16)]
        for (_, kind), (name, out) in itertools.product(kinds, [*kinds, ("i32", np.int32)]):
            x = sample(self.rng, (6, 35), np.dtype(kind).str[1:])
            xz, oz = (int(sample(self.rng, (), np.dtype(each).str[1:])) for each in [kind, out])
            got = self.compute("requantize", self.save("x.npy", x), "--input-scale", 0.03,
                               f"--input-zero-point={xz}", "--scale", 0.07, f"--zero-point={oz}",
                               "--type", name)
            steps = self.compute("quantize", self.dequantized(x, xz), "--scale", 0.07,
                                 f"--zero-point={oz}", "--type", name)
            self.assert_same(got, steps, f"{kind} {name}")

    def dequantized(self, x, zero_point):
        """The name of the file that DEQUANTIZE_LINEAR makes from x."""
        return self.save("d.npy", self.compute("dequantize", self.save("x.npy", x), "--scale", 0.03,
                                               f"--zero-point={zero_point}"))

    def test_defaults(self):
        threes = self.save("x.npy", np.full(3, 3, "u1"))
        # The quotients are 1.5 and 2.5, and both round to 2.
        for scale, due in [(2, 2), (1.2, 2)]:
            self.assert_same(self.compute("requantize", threes, "--input-scale", 1, "--scale", scale),
                             np.full(3, due, "u1"))

    def test_refused(self):
        x = self.save("x.npy", np.zeros((2, 3), "u1"))
        self.refuse("requantize", x, "--scale", 1, says="--input-scale")
        self.refuse("requantize", x, "--input-scale", 1, "--scale", 1, "--feature-level", "6.4",
                    says="needs feature level hewn, compiled at 6.4", code=1)
        self.refuse("requantize", x, "--input-scale", 1, "--scale", 1, "--type", "u32",
                    says=["--type", "u32"])
        self.refuse("requantize", x, "--scale", 1, "--input-scale",
                    self.save("two.npy", np.ones(2, F32)), says=["InputScaleTensor", "2 elements"])


if __name__ == "__main__":
    cli.main()
